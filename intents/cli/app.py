"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from intents._version import __version__
from intents.cli import chat, demo, inspecting, keeping, managing, pictures, serving
from intents.cli.errors import OneLineErrors

app = typer.Typer(
    name="intents",
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def intents(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Standing intents: reminders that wait for words in messages."""
    if version:
        print(f"standing-intents {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


_TRY = "Try it"
_LOOK = "Look"
_CHANGE = "Change"
_KEEP = "Keep"

app.command(rich_help_panel=_TRY)(demo.demo)
app.command(rich_help_panel=_TRY)(chat.chat)
app.command("list", rich_help_panel=_LOOK)(inspecting.list_intents)
app.command(rich_help_panel=_LOOK)(inspecting.show)
app.command(rich_help_panel=_LOOK)(inspecting.history)
app.command(rich_help_panel=_LOOK)(inspecting.explain)
app.command(rich_help_panel=_LOOK)(inspecting.stats)
app.command(rich_help_panel=_LOOK)(pictures.diagram)
app.command(rich_help_panel=_LOOK)(serving.admin)
app.command(rich_help_panel=_CHANGE)(managing.upgrade)
app.command(rich_help_panel=_CHANGE)(managing.cancel)
app.command(rich_help_panel=_CHANGE)(managing.sweep)
app.command(rich_help_panel=_KEEP)(managing.doctor)
app.command(rich_help_panel=_KEEP)(keeping.backup)
app.command(rich_help_panel=_KEEP)(keeping.restore)
app.command(rich_help_panel=_KEEP)(keeping.reindex)
app.command(rich_help_panel=_KEEP)(keeping.prune)
