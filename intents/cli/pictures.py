"""The command that draws the lifecycle."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from intents import diagram as diagrams
from intents.cli import options
from intents.cli.database import service_for
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
    with_counts: Annotated[
        bool, typer.Option("--counts", help="Write on states and arrows how many intents are there and went there.")
    ] = False,
    database: options.Database = None,
    agent: options.Agent = "main",
) -> None:
    """Draw the lifecycle from the table that the code works by, guards shown."""
    if with_counts and (update is not None or picture_format is Format.MARKDOWN):
        raise CommandError("--counts goes with the formats mermaid, dot, svg and png: documents show the rules.", USAGE)
    counts = _counts(database, agent) if with_counts else None
    if update is not None:
        try:
            update.write_text(diagrams.updated(update.read_text(encoding="utf-8")), encoding="utf-8")
        except ValueError as error:
            raise CommandError(f"{update}: {error}") from None
        return
    if picture_format is Format.SVG or picture_format is Format.PNG:
        if to is None:
            raise CommandError(f"A picture goes to a file: --output lifecycle.{picture_format.value}", USAGE)
        diagrams.render("svg" if picture_format is Format.SVG else "png", to, counts)
        return
    if picture_format is Format.MARKDOWN:
        text = diagrams.markdown()
    else:
        text = (diagrams.dot if picture_format is Format.DOT else diagrams.mermaid)(counts)
    if to is None:
        print(text, end="")
    else:
        to.write_text(text, encoding="utf-8")


def _counts(database: str | None, agent: str) -> diagrams.Counts:
    with service_for(database, agent) as service:
        return diagrams.Counts.of(service.activity(days=1))
