"""A place to try things: type messages as the owner or as somebody else, and watch what fires.

On a temporary database, or as the agent ``chat`` of a given one, the messages are real: they create, fire and cancel
the chat's own intents. As any other agent of a given database the chat only watches: it shows what a message would do.
"""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from sqlalchemy import create_engine

from intents import display
from intents.cli import options, output
from intents.cli.database import admin, engine_for, make_service, makes_a_file, service_for
from intents.cli.errors import CommandError, describe
from intents.cli.stage import Stage
from intents.hook import PromptHook
from intents.invocation import Invocation
from intents.migrate import upgrade
from intents.policy import OwnerPolicy
from intents.schemas import Admin, Identity, Matches, Turn
from intents.service import IntentService
from intents.times import parse_duration
from intents.tool import IntentTool

#: The agent and the channel of those who chat here.
CHAT: Final = "chat"
OWNER: Final = "owner"
_DEADLINE: Final = 10.0
#: How many silent intents are explained after a message.
_REASONS: Final = 5

_HELP: Final = """\
Type a message to say it. What starts with / is for the chat:
  /as WHO                speak as somebody else; /as owner is the owner again
  /in ROOM               go to another conversation
  /create WHAT = A | B   store a reminder that A or B triggers, whoever says it (owner only)
  /list                  where the reminders stand; also /history #1 and /cancel #1
  /why MESSAGE           what would this fire, and why not? Nothing is written
  /again                 the last message once more, with its id
  /time +24h             move the clock ahead
  /help, /quit"""


def chat(
    database: options.Database = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="ID", help="Watch this agent of --database; default: chat.")
    ] = None,
) -> None:
    """Type messages as the owner or as somebody else, and watch what fires.

    Runs on a temporary database unless --database is given.
    """
    clock = _ShiftedClock()
    new = database is not None and agent in (None, CHAT) and makes_a_file(database)
    with _opened(database, agent, clock) as (service, watching):
        if new:
            output.make_console().print(output.clean(f"Made {database}, a new database.", "dim"))
        _Chat(service, clock, watching=watching).run()


@contextmanager
def _opened(database: str | None, agent: str | None, clock: _ShiftedClock) -> Iterator[tuple[IntentService, bool]]:
    if database is not None and agent not in (None, CHAT):
        with service_for(database, str(agent), every_language=True, clock=clock) as service:
            yield service, True
        return
    owners = OwnerPolicy([f"{CHAT}:{OWNER}"])
    if database is not None:
        with engine_for(database, create=True) as engine:
            upgrade(engine)
            yield make_service(engine, CHAT, owners=owners, clock=clock), False
        return
    with tempfile.TemporaryDirectory(prefix="intents-chat-", ignore_cleanup_errors=True) as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'chat.db'}")
        try:
            upgrade(engine)
            yield make_service(engine, agent or CHAT, owners=owners, clock=clock), False
        finally:
            engine.dispose()


class _ShiftedClock:
    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def advance(self, by: timedelta) -> None:
        self._ahead += by


class _Chat:
    def __init__(self, service: IntentService, clock: _ShiftedClock, *, watching: bool) -> None:
        self._service = service
        self._clock = clock
        self._watching = watching
        self._hook = PromptHook(service)
        self._ids: list[str] = []
        self._console = output.make_console()
        self._stage = Stage(self._console, self._name_of)
        self._identity = Identity(provider=CHAT, sender_id=OWNER, conversation_id="room")
        self._last: Turn | None = None
        self._session = uuid.uuid4().hex[:8]
        self._turns = 0
        self._hinted = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/as": self._as,
            "/in": self._in,
            "/create": self._create,
            "/list": self._list,
            "/history": self._history,
            "/cancel": self._cancel,
            "/why": self._why,
            "/again": self._again,
            "/time": self._time,
            "/help": lambda _: self._console.print(_HELP, markup=False),
        }

    def run(self) -> None:
        """Read lines until /quit or the end of the input."""
        if self._watching:
            self._console.print("Watching: nothing that you type is real. Say who speaks: /as slack:U123", style="dim")
        self._console.print("Type a message, or /help.", style="dim")
        for line in self._lines():
            command, _, rest = line.partition(" ")
            if command in ("/quit", "/exit", "/q"):
                break
            try:
                if command in self._commands:
                    self._commands[command](rest.strip())
                elif command.startswith("/"):
                    raise CommandError(f"There is no {command}; /help lists what there is.")
                else:
                    self._say(Turn(text=line, identity=self._identity, id=self._new_turn_id()))
            except Exception as error:
                described = describe(error)
                if described is None:
                    raise
                self._stage.says("system", output.clean(f"refused: {described[0]}", "red"))

    def _lines(self) -> Iterator[str]:
        interactive = sys.stdin.isatty()
        while True:
            prompt = f"{self._identity.sender_id or 'nobody'}> "
            try:
                line = input(prompt) if interactive else sys.stdin.readline()
            except EOFError:
                self._console.print()
                break
            except KeyboardInterrupt:
                self._console.print()
                raise
            if not interactive:
                if not line:
                    break
                self._console.print(f"{prompt}{line.strip()}", markup=False)
            if line.strip():
                yield line.strip()

    def _say(self, turn: Turn) -> None:
        self._last = turn
        explanations = self._service.explain(turn)
        if self._watching:
            fires = [each for each in explanations if each.fires]
            for each in fires:
                self._stage.says("system", f"{self._name_of(each.intent.id)} would fire: {each.detail}")
            if not fires:
                self._stage.outcome(Matches(), explanations[:_REASONS])
            return
        if not self._hinted and not self._service.list(limit=1):
            self._hinted = True
            self._stage.says("system", "Nothing is stored yet, and no model reads along: use /create WHAT = WORDS.")
        matches = self._hook.matches(turn, Invocation.after(_DEADLINE))
        self._stage.outcome(matches, [each for each in explanations if not each.fires][:_REASONS])

    def _as(self, who: str) -> None:
        if not who:
            raise CommandError("Say who: /as ben, or /as slack/work:U123 when watching.")
        provider, colon, sender = who.partition(":")
        if self._watching and not colon:
            raise CommandError("Say it as provider[/account]:sender, such as /as slack:U123.")
        account = "default"
        if self._watching:
            provider, _, account = provider.partition("/")
        else:
            provider, sender = CHAT, who
        self._identity = Identity(
            provider=provider,
            account_id=account or "default",
            sender_id=sender,
            conversation_id=self._identity.conversation_id,
        )

    def _in(self, room: str) -> None:
        self._identity = self._identity.model_copy(update={"conversation_id": room or "room"})
        self._stage.says("system", f"You are in {self._identity.conversation_id}.")

    def _create(self, text: str) -> None:
        if self._watching:
            raise CommandError("Here the command line is an admin: it looks and cancels, it never creates.")
        description, equals, keywords = text.partition("=")
        if not equals:
            raise CommandError("Say it as /create Confirm the rollback owner = release candidate | RC")
        tool = IntentTool.for_identity(self._service, self._identity, turn_id=self._new_turn_id())
        if tool is None:
            raise CommandError(f"Only the owner is offered the tool; you speak as {self._identity.sender_id}.")
        arguments = {
            "action": "create",
            "description": description.strip(),
            "trigger_keywords": [keyword.strip() for keyword in keywords.split("|")],
            "sender_scope": "anyone",
        }
        self._stage.calls(arguments)
        self._stage.answers(tool.call(arguments))

    def _list(self, _: str) -> None:
        self._stage.ledger(self._service.list())

    def _history(self, name: str) -> None:
        self._console.print(output.history_table(self._service.history(self._id_of(name))))

    def _cancel(self, name: str) -> None:
        by: Identity | Admin = admin() if self._watching else self._identity
        intent = self._service.cancel(self._id_of(name), by=by)
        self._stage.ledger([intent])

    def _why(self, text: str) -> None:
        turn = Turn(text=text, identity=self._identity)
        self._console.print(output.explanation_lines(self._service.explain(turn)))

    def _again(self, _: str) -> None:
        if self._last is None:
            raise CommandError("Nothing was said yet.")
        self._say(self._last)

    def _time(self, text: str) -> None:
        try:
            by = parse_duration(text.lstrip("+ "))
        except ValueError as error:
            raise CommandError(f"The time {error}.") from None
        self._clock.advance(by)
        self._stage.says("system", f"It is {display.moment(self._clock())} now.")

    def _new_turn_id(self) -> str:
        self._turns += 1
        return f"{self._session}-{self._turns}"

    def _name_of(self, intent_id: str) -> str:
        if intent_id not in self._ids:
            self._ids.append(intent_id)
        return f"#{self._ids.index(intent_id) + 1}"

    def _id_of(self, name: str) -> str:
        number = name.lstrip("#")
        if number.isdecimal() and 0 < int(number) <= len(self._ids):
            return self._ids[int(number) - 1]
        return name
