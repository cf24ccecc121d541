"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        "-d",
        envvar="INTENTS_DATABASE_URL",
        metavar="FILE|URL",
        help="A SQLite file, or a database URL.",
    ),
]
Agent = Annotated[str, typer.Option("--agent", "-a", metavar="ID", help="Whose intents.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
IntentId = Annotated[str, typer.Argument(metavar="ID", help="The intent's id, or its first 8 or more characters.")]
Provider = Annotated[str, typer.Option("--provider", help="The channel's kind, such as slack.")]
Account = Annotated[str, typer.Option("--account", help="The workspace or bot account at the provider.")]
Sender = Annotated[str | None, typer.Option("--sender", help="Who says it.")]
Conversation = Annotated[str | None, typer.Option("--conversation", help="The room, thread or chat.")]
