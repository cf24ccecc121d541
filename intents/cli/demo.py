"""A scripted walk through the life of an intent, on a temporary SQLite file and with a clock that the script moves."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from sqlalchemy import create_engine

from intents.cli import output
from intents.cli.database import make_service
from intents.cli.stage import Clock, Stage
from intents.hook import PromptHook
from intents.invocation import Invocation
from intents.migrate import upgrade
from intents.policy import OwnerPolicy
from intents.schemas import Identity, Turn
from intents.tool import IntentTool

#: Columns of a demo that does not run in a terminal: what fits in a README.
WIDTH: Final = 98
START: Final = datetime(2026, 7, 27, 9, 0, tzinfo=UTC)
#: How long a turn may take, in seconds.
_DEADLINE: Final = 10.0

_PEOPLE: Final = {"Mira": "U-MIRA", "Ben": "U-BEN"}
_CONFIRM: Final = {
    "action": "create",
    "description": "Confirm the rollback owner.",
    "trigger_keywords": '["release candidate", "RC"]',
    "sender_scope": "anyone",
    "max_fires": 2,
    "cooldown": "24h",
}


def demo(
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the coloured walk as a picture, too.")] = None,
) -> None:
    """Walk through the life of an intent: created, missed, fired, cooling down, done, cancelled, expired."""
    console = output.make_console(record=svg is not None)
    if not console.is_terminal or svg is not None:
        console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    play(console)
    if svg is not None:
        console.save_svg(str(svg), title="intents demo")


def play(console: Console) -> None:
    """Run the walk.

    Args:
        console: what it is shown on.
    """
    with tempfile.TemporaryDirectory(prefix="intents-demo-", ignore_cleanup_errors=True) as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'demo.db'}")
        try:
            upgrade(engine)
            clock = Clock(START)
            owners = OwnerPolicy([f"slack:{_PEOPLE['Mira']}"])
            _Play(console, make_service(engine, "main", owners=owners, clock=clock), clock).run()
        finally:
            engine.dispose()


class _Play:
    def __init__(self, console: Console, service: Any, clock: Clock) -> None:
        self._service = service
        self._clock = clock
        self._hook = PromptHook(service)
        self._names: dict[str, str] = {}
        self._stage = Stage(console, self._name_of)
        self._turns = 0

    def run(self) -> None:
        stage = self._stage
        stage.console.print("Mira owns this assistant; Ben does not. Both write in the Slack conversation #release.")

        self._scene("The owner asks for a reminder")
        asked = self._says(
            "Mira", "When someone mentions the release candidate, remind me to confirm the rollback owner."
        )
        first = self._tool(asked, _CONFIRM)
        self._decide(asked)

        self._scene("A clock time is not for this tool", timedelta(minutes=2))
        asked = self._says("Mira", "And remind me Friday at 9.")
        self._tool(asked, {**_CONFIRM, "description": "Call Ben.", "trigger_keywords": ["Friday 9am"]})

        self._scene("Who is no owner is not offered the tool", timedelta(minutes=3))
        asked = self._says("Ben", "When someone mentions lunch, tell them that I pay.")
        assert IntentTool.for_identity(self._service, asked.identity) is None  # noqa: S101 - what this scene shows
        stage.says("system", "Ben's turn runs without the tool: there is nothing that his model could call.")

        self._scene("A near miss", timedelta(minutes=20))
        self._decide(self._says("Ben", "The candidate for the design role was great!"))

        self._scene("A hit, from somebody else, in other words", timedelta(minutes=5))
        up = self._says("Ben", "Release candidate 2 is up, please test.")
        self._decide(up)

        self._scene("The channel delivers the same message again", timedelta(minutes=1))
        self._decide(up)

        self._scene("It cools down; what people say closes nothing", timedelta(hours=5))
        self._decide(self._says("Mira", "Done, the RC has a rollback owner."))

        self._scene("A day after the fire it is armed again, and fires its last", timedelta(hours=19))
        self._decide(self._says("Ben", "Any objections to the release candidates?"))
        stage.says("system", f"The audit log of {self._name_of(first)}:")
        stage.console.print(output.history_table(self._service.history(first), detailed=False))

        self._scene("Cancelled when the owner says so", timedelta(hours=1))
        asked = self._says("Mira", "When the launch comes up, ask for the press kit.")
        second = self._tool(
            asked,
            {"action": "create", "description": "Ask for the press kit.", "triggerKeywords": "launch"},
        )
        asked = self._says("Mira", "Forget about the press kit.")
        self._tool(asked, {"action": "cancel", "intent_id": second, "reason": "the owner said so"})
        self._decide(self._says("Mira", "The launch is on Monday."), about=second)

        self._scene("Expired when nobody came to speak of it", timedelta(hours=1))
        asked = self._says("Mira", "If the audit comes up in the next two weeks, mention the open findings.")
        third = self._tool(
            asked,
            {
                "action": "create",
                "description": "Mention the open findings.",
                "trigger_keywords": ["audit"],
                "expires_at": "2 weeks",
            },
        )
        self._clock.advance(timedelta(days=15))
        self._scene("15 days later")
        self._decide(self._says("Mira", "How did the audit go?"), about=third)
        swept = self._service.sweep()
        stage.says("system", f"A sweep writes down what time has decided: {swept.expired} expired.")

        self._scene("Where they all stand")
        stage.ledger(self._service.list())

    def _scene(self, title: str, later: timedelta = timedelta(0)) -> None:
        self._clock.advance(later)
        self._stage.scene(title, self._clock())

    def _says(self, who: str, text: str) -> Turn:
        self._stage.says(who, text)
        self._turns += 1
        identity = Identity(provider="slack", sender_id=_PEOPLE[who], conversation_id="#release")
        return Turn(text=text, identity=identity, id=f"m{self._turns}")

    def _tool(self, turn: Turn, arguments: dict[str, Any]) -> str:
        tool = IntentTool.for_identity(self._service, turn.identity, turn_id=turn.id)
        assert tool is not None  # noqa: S101 - the owner's
        self._stage.calls(arguments)
        result = tool.call(arguments)
        self._stage.answers(result)
        return str(result["intent"]["id"]) if result["ok"] else ""

    def _decide(self, turn: Turn, *, about: str | None = None) -> None:
        explanations = self._service.explain(turn, intent_id=about)
        self._stage.outcome(self._hook.matches(turn, Invocation.after(_DEADLINE)), explanations)

    def _name_of(self, intent_id: str) -> str:
        return self._names.setdefault(intent_id, f"#{len(self._names) + 1}")
