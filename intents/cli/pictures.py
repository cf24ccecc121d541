"""The command that draws the lifecycle."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from intents import diagram as diagrams
from intents.cli.errors import USAGE, CommandError


class Format(enum.StrEnum):
    """What `diagram` can make."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    PNG = "png"
    MARKDOWN = "markdown"


def diagram(
    *,
    picture_format: Annotated[
        Format, typer.Option("--format", "-f", help="svg and png need Graphviz.")
    ] = Format.MERMAID,
    to: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here.")] = None,
    update: Annotated[
        Path | None, typer.Option("--update", metavar="FILE", help="Renew the generated part of a Markdown file.")
    ] = None,
) -> None:
    """Draw the lifecycle from the table that the code works by, guards shown."""
    if update is not None:
        try:
            update.write_text(diagrams.updated(update.read_text(encoding="utf-8")), encoding="utf-8")
        except ValueError as error:
            raise CommandError(f"{update}: {error}") from None
        return
    if picture_format is Format.SVG or picture_format is Format.PNG:
        if to is None:
            raise CommandError(f"A picture goes to a file: --output lifecycle.{picture_format.value}", USAGE)
        diagrams.render("svg" if picture_format is Format.SVG else "png", to)
        return
    text = {Format.MERMAID: diagrams.mermaid, Format.DOT: diagrams.dot, Format.MARKDOWN: diagrams.markdown}[
        picture_format
    ]()
    if to is None:
        print(text, end="")
    else:
        to.write_text(text, encoding="utf-8")
