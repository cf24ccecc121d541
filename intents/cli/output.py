"""Intents, explanations and logs for people; and as JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from intents.display import creator, fires, length, listening, moment, span
from intents.lifecycle import Status
from intents.sanitize import clean_line
from intents.schemas import Explanation, IntentEventRead, IntentRead

STYLES: Final = {
    Status.PENDING: "yellow",
    Status.ARMED: "green",
    Status.FIRED: "bold magenta",
    Status.DONE: "blue",
    Status.CANCELLED: "red",
    Status.EXPIRED: "dim",
}
#: Columns of a pipe or a file, which has no width of its own.
_PIPE_WIDTH: Final = 120
#: Narrower than this, a table of full ids is no longer readable.
_TABLE_WIDTH: Final = 96


def make_console(**options: Any) -> Console:
    """Return the console for standard output; a pipe gets plain text of a fixed width unless COLUMNS says another."""
    console = Console(highlight=False, **options)
    if not console.is_terminal and "width" not in options and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_PIPE_WIDTH, **options)
    return console


def print_json(value: BaseModel | Sequence[BaseModel] | Mapping[str, Any]) -> None:
    """Print a result as JSON in ASCII, so that no pipe can break it."""
    if isinstance(value, BaseModel):
        plain: Any = value.model_dump(mode="json")
    elif isinstance(value, Mapping):
        plain = dict(value)
    else:
        plain = [each.model_dump(mode="json") for each in value]
    print(json.dumps(plain, indent=2))


def clean(text: str, style: str = "") -> Text:
    """Return text of other people for the terminal: one line, no control sequences, no markup."""
    return Text(clean_line(text), style)


def status_text(status: Status) -> Text:
    """Write a status in its colour."""
    return Text(status.value, STYLES[status])


def keywords(intent: IntentRead) -> Text:
    """Write the trigger keywords, and after "not" the excluded ones."""
    text = Text(" | ").join(clean(keyword) for keyword in intent.trigger_keywords)
    if intent.exclude_keywords:
        text += Text(" not ", "dim") + Text(" | ").join(clean(keyword) for keyword in intent.exclude_keywords)
    return text


def intent_list(intents: Sequence[IntentRead], console: Console) -> RenderableType:
    """Lay out a page of intents: a table where it fits, one below the other where it does not."""
    if not intents:
        return Text("No intents.", "dim")
    if console.width < _TABLE_WIDTH:
        return Group(*map(_stacked, intents))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading, options in (
        ("id", {"no_wrap": True}),
        ("status", {"no_wrap": True}),
        ("fires", {"no_wrap": True}),
        ("reminder", {"ratio": 3}),
        ("keywords", {"ratio": 2}),
    ):
        table.add_column(heading, **options)
    for intent in intents:
        table.add_row(intent.id, status_text(intent.status), fires(intent), clean(intent.description), keywords(intent))
    return table


def _stacked(intent: IntentRead) -> RenderableType:
    head = Text.assemble(status_text(intent.status), f" {fires(intent)}  ", (intent.id, "dim"))
    return Group(head, Text("  ") + clean(intent.description), Text("  ") + keywords(intent))


def intent_detail(intent: IntentRead) -> RenderableType:
    """Lay out everything about one intent."""
    rows: list[tuple[str, RenderableType]] = [
        ("id", intent.id),
        ("status", status_text(intent.status)),
        ("reminder", clean(intent.description)),
        ("keywords", keywords(intent)),
        ("language", intent.language),
        ("within", span(intent.within)),
        ("listens", clean(listening(intent))),
        ("fires", fires(intent)),
        ("cooldown", length(intent.cooldown)),
        ("last fired", moment(intent.last_fired_at)),
        ("may fire from", moment(intent.rearm_at)),
        ("expires", moment(intent.expires_at)),
        ("created", moment(intent.created_at)),
        ("creator", clean(creator(intent))),
        ("agent", clean(intent.agent_id)),
    ]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def history_table(events: Sequence[IntentEventRead], *, detailed: bool = True) -> RenderableType:
    """Lay out an audit log, oldest first; without details it is narrow."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("at", "event", "from", "to", "by"):
        table.add_column(heading, no_wrap=heading not in ("by",))
    if detailed:
        table.add_column("turn", overflow="fold")
        table.add_column("detail", overflow="fold")
    for event in events:
        row: list[RenderableType] = [
            moment(event.at),
            event.event,
            Text("-") if event.from_status is None else status_text(event.from_status),
            status_text(event.to_status),
            clean(event.actor),
        ]
        if detailed:
            row += [clean(event.turn_id or "-"), clean(event.detail or "-")]
        table.add_row(*row)
    return table


def explanation_lines(explanations: Sequence[Explanation]) -> RenderableType:
    """Lay out what would fire and what stops the others."""
    if not explanations:
        return Text("No live intents.", "dim")
    return Group(*map(_explained, explanations))


def _explained(explanation: Explanation) -> RenderableType:
    verdict = Text("fires", "bold green") if explanation.fires else Text(f"silent: {explanation.rule}", "yellow")
    return Group(
        Text.assemble(verdict, "  ", clean(explanation.intent.description), "  ", (explanation.intent.id, "dim")),
        Text("  ") + clean(explanation.detail, "dim"),
    )
