"""How the demo and the chat show a conversation: who says what, what fires, and why the rest stays silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from intents import display
from intents.cli import output
from intents.lifecycle import Status
from intents.schemas import Explanation, IntentRead, Matches

_WHO_WIDTH: Final = 9
#: Styles of those who speak; anybody else is a person.
_SPEAKERS: Final = {"model": "yellow", "tool": "cyan", "system": "green", "why": "dim"}


class Clock:
    """A clock that stands still until it is told to move.

    Args:
        now: where it starts; aware.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self) -> datetime:
        """Tell the time."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move the clock ahead."""
        self._now += by


class Stage:
    """Writes a conversation to a console.

    Args:
        console: where to.
        name_of: how an intent's id is shown.
    """

    def __init__(self, console: Console, name_of: Callable[[str], str]) -> None:
        self.console = console
        self._name_of = name_of

    def scene(self, title: str, now: datetime) -> None:
        """Begin a scene."""
        self.console.print()
        self.console.print(Rule(Text.assemble((title, "bold"), "  ", (_when(now), "dim")), align="left", style="dim"))

    def says(self, who: str, text: str | Text) -> None:
        """Show a line of somebody."""
        line = text if isinstance(text, Text) else Text(text)
        if who == "why":
            line.stylize("dim")
        label = Text(who.ljust(_WHO_WIDTH), _SPEAKERS.get(who, "bold")).append(" ")
        for row in line.wrap(self.console, max(self.console.width - _WHO_WIDTH - 1, 20), overflow="fold"):
            row.rstrip()
            self._print(Text.assemble(label, row))
            label = Text(" " * (_WHO_WIDTH + 1))

    def calls(self, arguments: Mapping[str, Any]) -> None:
        """Show a call of the tool, with ids by their names."""
        shown = dict(arguments)
        if "intent_id" in shown:
            shown["intent_id"] = self._name_of(str(shown["intent_id"]))
        self.says("model", Text.assemble(("calls intent ", "yellow"), json.dumps(shown, ensure_ascii=False)))

    def answers(self, result: Mapping[str, Any]) -> None:
        """Show what the tool answered, in short."""
        if not result["ok"]:
            error = result["error"]
            self.says("tool", Text.assemble(("refused", "red"), f" ({error['code']}): {error['message']}"))
            return
        for line in result.get("advice", ()):
            self.says("tool", f"advice: {line}")
        if "intent" in result:
            intent = result["intent"]
            fired = f"fired {intent['fire_count']} of {intent['max_fires']}"
            until = f", listens until {intent['expires_at'].replace('T', ' ')[:16]} UTC"
            ending = "" if intent["status"] == Status.CANCELLED else until
            self.says("tool", f"{self._name_of(intent['id'])} is {intent['status']}, {fired}{ending}")

    def outcome(self, matches: Matches, explanations: Sequence[Explanation]) -> None:
        """Show what a turn did: the hidden block, or why nothing fired.

        Args:
            matches: what `match` answered.
            explanations: what `explain` said of the same turn just before.
        """
        for match in matches:
            note = " again, nothing is spent" if matches.duplicate else f" {display.fires(match.intent)}"
            self.says(
                "system",
                Text.assemble(
                    (f"{self._name_of(match.intent.id)} fires", "bold green"),
                    f"{note}, by {match.keyword!r}; now {match.intent.status.value}. The prompt gets:",
                ),
            )
        for line in (matches.context or "").splitlines():
            self.says("", Text(line, "green"))
        if matches.skipped:
            self.says("system", f"skipped: {matches.skipped}")
        if not matches.matches and not matches.skipped:
            self.says("system", Text("silent", "yellow"))
        if not matches.duplicate:
            for explanation in explanations:
                if not explanation.fires:
                    self.why(explanation)

    def why(self, explanation: Explanation) -> None:
        """Show the rule that keeps an intent silent."""
        name = self._name_of(explanation.intent.id)
        self.says("why", Text.assemble(f"{name} {explanation.rule}: ", output.clean(explanation.detail)))

    def ledger(self, intents: Sequence[IntentRead]) -> None:
        """Show where the intents stand."""
        names = [self._name_of(intent.id) for intent in intents]
        widest = max(map(len, names), default=0)
        for name, intent in zip(names, intents, strict=True):
            status = output.status_text(intent.status)
            status.pad_right(max(0, 9 - len(status)))
            self._print(
                Text.assemble(
                    f"{name:<{widest}}  ", status, f"  {display.fires(intent)}  ", output.clean(intent.description)
                )
            )

    def _print(self, line: Text) -> None:
        # Wrapped already: a table would pad it, and differently with each version of Rich.
        self.console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _when(now: datetime) -> str:
    return f"{now.astimezone(UTC):%a %d %b %Y %H:%M} UTC"
