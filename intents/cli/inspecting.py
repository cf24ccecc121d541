"""Commands that look: list, show, history, explain, stats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from intents import display
from intents.cli import options, output
from intents.cli.database import service_for, whole_id
from intents.cli.errors import USAGE, CommandError
from intents.cli.plot import plot
from intents.lifecycle import Status
from intents.schemas import Identity, Turn


def list_intents(
    *,
    database: options.Database = None,
    agent: options.Agent = "main",
    status: Annotated[Status | None, typer.Option(help="Only those in this status.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Only those that something can still happen to.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Longest page.")] = 100,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Begin after this intent.")] = None,
    as_json: options.Json = False,
) -> None:
    """List the agent's intents, oldest first."""
    with service_for(database, agent) as service:
        intents = service.list(status=status, live=live, after=after, limit=limit)
    if as_json:
        output.print_json(intents)
        return
    console = output.make_console()
    console.print(output.intent_list(intents, console))
    if len(intents) == limit:
        console.print(f"There may be more: --after {intents[-1].id}", style="dim")


def show(
    *,
    intent_id: options.IntentId,
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Show one intent."""
    with service_for(database, agent) as service:
        intent = service.get(whole_id(service, intent_id))
    if as_json:
        output.print_json(intent)
    else:
        output.make_console().print(output.intent_detail(intent))


def history(
    *,
    intent_id: options.IntentId,
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Show the audit log of one intent, oldest line first."""
    with service_for(database, agent) as service:
        events = service.history(whole_id(service, intent_id))
    if as_json:
        output.print_json(events)
    else:
        output.make_console().print(output.history_table(events))


def explain(
    *,
    text: Annotated[str, typer.Argument(help="The message; - reads it from standard input.")],
    provider: options.Provider,
    account: options.Account = "default",
    sender: options.Sender = None,
    conversation: options.Conversation = None,
    turn_id: Annotated[str | None, typer.Option(metavar="ID", help="The message's id at its channel.")] = None,
    intent_id: Annotated[str | None, typer.Option("--intent", metavar="ID", help="Only this intent.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Longest page.")] = 100,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Begin after this intent.")] = None,
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Tell what a message would fire, and what keeps the other intents silent. Nothing is written."""
    message = sys.stdin.read() if text == "-" else text
    identity = Identity(provider=provider, account_id=account, sender_id=sender, conversation_id=conversation)
    turn = Turn(text=message, identity=identity, id=turn_id)
    if intent_id is not None and after is not None:
        raise CommandError("--intent and --after exclude each other.", USAGE)
    with service_for(database, agent, every_language=True) as service:
        one = None if intent_id is None else whole_id(service, intent_id)
        explanations = service.explain(turn, intent_id=one, after=after, limit=limit)
    if as_json:
        output.print_json(explanations)
        return
    console = output.make_console()
    console.print(output.explanation_lines(explanations))
    if len(explanations) == limit and intent_id is None:
        console.print(f"There may be more: --after {explanations[-1].intent.id}", style="dim")


def stats(
    *,
    database: options.Database = None,
    agent: options.Agent = "main",
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the fires, too: .svg, .png or .pdf.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3660, help="How many days the picture shows.")] = 30,
    as_json: options.Json = False,
) -> None:
    """Count the agent's intents and their fires."""
    with service_for(database, agent) as service:
        counted = service.statistics()
        if picture is not None:
            plot(service.activity(days=days), picture, agent=agent)
    if as_json:
        output.print_json(counted)
        return
    console = output.make_console()
    if picture is not None:
        console.print(output.clean(f"Wrote {picture}.", "dim"))
    for status, count in counted.by_status.items():
        console.print(output.status_text(status).append(f"{'':{10 - len(status.value)}}{count:>8}"))
    console.print(f"{'total':<10}{counted.total:>8}", style="bold")
    console.print(
        f"fires: {counted.firings}, turns that fired: {counted.turns}, given back: {counted.released}\n"
        f"last fire: {display.moment(counted.last_fired_at)}, next expiry: {display.moment(counted.next_expiry)}"
    )
