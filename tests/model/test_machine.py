"""The library and the reference model are driven side by side and must give the same answers.

Each test runs the same machine on another footing: the service on SQLite and on PostgreSQL, and the repository inside
a host's transaction that may be rolled back at any step. First the machine walks at random, always the same way, then
Hypothesis explores. ``INTENTS_MACHINE_EXAMPLES=2000`` makes that many scenarios of each, and shrinks what fails.
"""

from __future__ import annotations

import copy
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import Session, sessionmaker

from intents import (
    Analyzer,
    Identity,
    IntentCreate,
    IntentRead,
    IntentsError,
    IntentService,
    Matches,
    OwnerPolicy,
    Status,
    Turn,
)
from intents.lifecycle import LIVE, TERMINAL, TRANSITIONS, effective_status
from tests.model.reference import Answer, Intent, Line, Model, Refused, Who, turn_key
from tests.model.soundness import Life, assert_indexed, assert_sound, lives

START = datetime(2026, 7, 27, 12, tzinfo=UTC)
WORDS = ("blik", "vorn", "quap", "drumm")
OWNERS = ("ada", "bob")
SHORT = ("water the plants", "ask who owns it", "call the bank")
LONG = ("ja " * 166, "so " * 150, "tea " * 120)
WANTED = os.environ.get("INTENTS_MACHINE_EXAMPLES")
_numbers = itertools.count()


def test_the_words_are_untouched_by_stemming() -> None:
    assert all(Analyzer().forms(word, "en") == (word,) for word in WORDS)


class Sent(NamedTuple):
    """A turn that was sent to an agent."""

    agent: int
    who: Who
    turn_id: str | None


# What may be done next: methods of the machine, with arguments thrown with dice. The dice are Hypothesis's or ordinary
# ones. What makes much happen is thrown more often than what makes little happen.


def minutes(dice: Random, *numbers: float) -> timedelta:
    return timedelta(minutes=dice.choice(numbers))


def an_owner(dice: Random) -> Who:
    return Who(dice.choice(["lobby", "lobby", "lobby", "kitchen"]), dice.choice(OWNERS))


def somebody(dice: Random) -> Who:
    if dice.randrange(3):
        return an_owner(dice)
    return Who(dice.choice(["lobby", "kitchen", None]), dice.choice([*OWNERS, "eve", None]))


def some_words(dice: Random, least: int, most: int) -> str:
    return " ".join(dice.sample(WORDS, dice.randint(least, most)))


def a_turn(dice: Random) -> dict[str, Any]:
    sent = Sent(dice.choice([0, 0, 0, 1]), somebody(dice), dice.choice(["m1", "m2", "m3", None]))
    return {"sent": sent, "said": some_words(dice, 2, 4)}


def a_move_of_the_clock(dice: Random) -> timedelta | tuple[str, timedelta]:
    """Some time forwards or backwards; or to where the next thing happens, or just before."""
    if dice.randrange(2):
        return minutes(dice, 0, 1, 5, 10, 30, 60, -1, -30)
    return dice.choice(["cooled down", "expired"]), timedelta(microseconds=dice.choice([-1, 0]))


def a_wish(dice: Random) -> dict[str, Any]:
    return {
        "agent": dice.choice([0, 0, 0, 1]),
        "by": somebody(dice),
        "description": dice.choice([*SHORT, *SHORT, *LONG]),
        "keywords": [some_words(dice, 1, 2) for _ in range(dice.randint(1, 2))],
        "exclude": dice.choice([[], [], [], ["drumm"]]),
        "channel": dice.choice(["channel", "anywhere", "conversation"]),
        "anyone": dice.choice([True, True, False]),
        "names": dice.choice([None, "bob", "eve"]),
        "lifetime": minutes(dice, 8, 120, 3000, 3000, 3000, 0),
        "max_fires": dice.choice([1, 1, 2, 3]),
        "cooldown": minutes(dice, 0, 0, 30, 1440),
        "armed": dice.choice([True, True, True, False]),
        "turn_id": dice.choice(["m1", "m2", "m3", None]),
    }


CALLS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "create": a_wish,
    "wish_again": lambda dice: {"nth": dice.randrange(10), "lifetime": minutes(dice, 8, 3000)},
    "match": lambda dice: {
        **a_turn(dice),
        "hold": dice.choice([True, False, False]),
        "kind": dice.choice([*["user"] * 8, "system", "cron"]),
    },
    "reply": lambda dice: {
        **a_turn(dice),
        "passes": a_move_of_the_clock(dice),
        "then": dice.choice(["confirm", "confirm", "release", "another turn", "the same turn", "sweep"]),
    },
    "settle": lambda dice: {
        "sent": a_turn(dice)["sent"],
        "how": dice.choice(["confirm", "release", "release with a reason"]),
    },
    "manage": lambda dice: {
        "nth": dice.randrange(10),
        "by": somebody(dice),
        "what": dice.choice(["arm", "history", "cancel", "cancel with a reason"]),
    },
    "look": lambda dice: {
        "agent": dice.choice([0, 0, 0, 1]),
        "what": dice.choice(["sweep", "sweep", "sweep", "live", None, *Status]),
    },
    "clock_moves": lambda dice: {"move": a_move_of_the_clock(dice)},
    "transaction_ends": lambda dice: {"commits": dice.choice([True, False])},
}


class SideBySide(RuleBasedStateMachine):
    """Drives model and service through the same calls."""

    open_engine: ClassVar[Callable[[], Engine]]
    happened: ClassVar[Counter[str]]
    names: ClassVar = (
        "match", "match", "match", "match", "reply", "reply", "reply", "clock_moves", "create", "create",
        "wish_again", "settle",
        "manage", "look",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.engine = type(self).open_engine()
        self.agents = [f"agent-{next(_numbers)}" for _ in range(2)]
        self.model = Model(START, set(OWNERS))
        self.sessions = sessionmaker(self.engine)
        self.services = [
            IntentService(
                self.sessions,
                agent_id=agent,
                owners=OwnerPolicy(f"slack:{owner}" for owner in OWNERS),
                clock=lambda: self.model.now,
            )
            for agent in self.agents
        ]
        self.retired: dict[str, Status] = {}
        self.wishes: list[dict[str, Any]] = []
        self.ids: list[str] = []  # those of transactions that were rolled back included

    def teardown(self) -> None:
        self.engine.dispose()

    # How the library is reached; the host's variant overrides these.

    def reached(self, agent: int) -> Any:
        return self.services[agent]

    def reading(self) -> Any:
        return self.sessions()

    # Helpers

    def same(self, model: Callable[[], Any], library: Callable[[], Any]) -> tuple[Any, Any]:
        """Call both; what one refuses the other refuses for the same reason. Gives both results, or None twice."""
        try:
            expected, refusal = model(), None
        except Refused as refused:
            expected, refusal = None, refused.name
        try:
            actual, error = library(), None
        except IntentsError as raised:
            actual, error = None, type(raised).__name__
        assert error == refusal
        return expected, actual

    def intent(self, intent_id: str) -> Intent:
        """The model's intent of this id; one that was rolled back exists nowhere."""
        for intent in self.model.intents:
            if intent.id == intent_id:
                return intent
        raise Refused("IntentNotFound")

    def service_of(self, intent_id: str) -> Any:
        known = [intent.agent for intent in self.model.intents if intent.id == intent_id]
        return self.reached(self.agents.index(known[0]) if known else 0)

    def same_intent(self, expected: Intent, actual: IntentRead) -> None:
        assert (actual.id, actual.agent_id, actual.description) == (expected.id, expected.agent, expected.description)
        assert actual.status == expected.status_at(self.model.now)
        assert (actual.fire_count, actual.max_fires) == (expected.fire_count, expected.max_fires)
        assert (actual.last_fired_at, actual.rearm_at) == (expected.last_fired_at, expected.rearm_at)

    # Rules

    @initialize(dice=st.randoms(use_true_random=False))
    def begin(self, dice: Random) -> None:
        """With one for everybody, and with one that ends before a hold does."""
        self.trail: list[str] = []
        everybody = {"agent": 0, "by": Who("lobby", "ada"), "anyone": True, "channel": "anywhere", "exclude": []}
        self.create(**a_wish(dice) | everybody | {"lifetime": timedelta(days=9), "max_fires": 9, "armed": True})
        self.create(**a_wish(dice) | everybody | {"lifetime": timedelta(minutes=8), "armed": True})

    @rule(dice=st.randoms(use_true_random=False))
    def step(self, dice: Random) -> None:
        name = dice.choice(self.names)
        arguments = CALLS[name](dice)
        self.trail.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
        before = self.logged()
        try:
            getattr(self, name)(**arguments)
            self.check()
        except Exception as fault:
            fault.add_note("\n".join(self.trail))
            raise
        self.happened.update(self.logged() - before)

    def logged(self) -> Counter[str]:
        return Counter(line.event for intent in self.model.intents for line in intent.log)

    def wish_again(self, nth: int, lifetime: timedelta) -> None:
        self.create(**self.wishes[nth % len(self.wishes)] | {"lifetime": lifetime})

    def create(self, **wish: Any) -> None:
        self.wishes.append(wish)
        self._create(**wish)

    def _create(
        self,
        agent: int,
        by: Who,
        description: str,
        keywords: list[str],
        exclude: list[str],
        channel: Any,
        anyone: bool,
        names: str | None,
        lifetime: timedelta,
        max_fires: int,
        cooldown: timedelta,
        armed: bool,
        turn_id: str | None,
    ) -> None:
        conversation = (by.conversation or "lobby") if channel == "conversation" else None
        sender = None if anyone else names or by.sender
        expires_at = self.model.now + lifetime
        wished = Intent(
            self.agents[agent], by, description.strip(), tuple(keywords), tuple(exclude), channel, conversation, sender,
            self.model.now, expires_at, max_fires, cooldown, None,
        )  # fmt: skip
        wished.created_on = turn_key(wished.agent, by, turn_id)
        draft = IntentCreate(
            description=description,
            trigger_keywords=keywords,
            exclude_keywords=exclude,
            channel_scope=channel,
            conversation_id=conversation,
            sender_scope="anyone" if anyone else "sender",
            sender_id=sender,
            expires_at=expires_at,
            max_fires=max_fires,
            cooldown=cooldown,
            armed=armed,
        )
        expected, actual = self.same(
            lambda: self.model.create(wished, armed=armed),
            lambda: self.reached(agent).create(draft, by=identity(by), turn_id=turn_id),
        )
        if expected is not None:
            expected.id = expected.id or actual.id
            self.ids.append(expected.id)
            self.same_intent(expected, actual)

    def manage(self, nth: int, by: Who, what: str) -> None:
        intent_id = self.ids[nth % len(self.ids)]
        library = self.service_of(intent_id)
        if what == "history":
            log, told = self.same(lambda: self.intent(intent_id).log, lambda: library.history(intent_id))
            assert log is None or as_lines(told) == log
        elif what == "arm":
            self.same(
                lambda: self.model.arm(self.known_to(intent_id, by), by),
                lambda: library.arm(intent_id, by=identity(by)),
            )
        else:
            reason = "not needed" if what == "cancel with a reason" else None
            self.same(
                lambda: self.model.cancel(self.known_to(intent_id, by), by, reason),
                lambda: library.cancel(intent_id, by=identity(by), reason=reason),
            )

    def known_to(self, intent_id: str, by: Who) -> Intent:
        """The model's intent; whether somebody may act is decided before whether the intent exists."""
        if by.sender not in OWNERS:
            raise Refused("NotAuthorized")
        return self.intent(intent_id)

    def match(self, sent: Sent, said: str, hold: bool, kind: Any = "user") -> None:
        agent, who, turn_id = sent
        expected, actual = self.same(
            lambda: self.model.match(self.agents[agent], who, said, turn_id=turn_id, kind=kind, hold=hold),
            lambda: self.reached(agent).match(
                Turn(text=said, identity=identity(who), id=turn_id, kind=kind), hold=hold
            ),
        )
        if expected is not None:
            self.same_answer(expected, actual)

    def same_answer(self, expected: Answer, actual: Matches) -> None:
        fired = [(intent.id, keyword) for intent, keyword in expected.fired]
        assert [(match.intent.id, match.keyword) for match in actual] == fired
        assert actual.context == expected.context
        assert (actual.duplicate, actual.skipped, actual.truncated) == (expected.duplicate, expected.skipped, False)
        assert len(actual) <= 3
        assert actual.context is None or len(actual.context) <= 1200
        for (intent, _), match in zip(expected.fired, actual, strict=True):
            self.same_intent(intent, match.intent)
        self.happened["duplicate"] += expected.duplicate

    def settle(self, sent: Sent, how: str) -> None:
        agent, who, turn_id = sent
        turn = Turn(text="", identity=identity(who), id=turn_id)
        if how == "confirm":
            expected, actual = self.same(
                lambda: self.model.confirm(self.agents[agent], who, turn_id), lambda: self.reached(agent).confirm(turn)
            )
        else:
            reason = "suppressed" if how == "release with a reason" else None
            expected, actual = self.same(
                lambda: self.model.release(self.agents[agent], who, turn_id, reason),
                lambda: self.reached(agent).release(turn, reason=reason),
            )
        assert actual == expected
        self.happened["confirmed" if how == "confirm" else "released"] += bool(expected)

    def reply(self, sent: Sent, said: str, passes: Any, then: str) -> None:
        """A turn is held, time passes, and something comes of it."""
        self.match(sent, said, hold=True)
        self.check()
        self.clock_moves(passes)
        if then in ("confirm", "release"):
            self.settle(sent, then)
        elif then == "sweep":
            self.look(sent.agent, "sweep")
        else:
            self.match(sent._replace(turn_id="m4") if then == "another turn" else sent, said, hold=False)

    def look(self, agent: int, what: str | None) -> None:
        if what == "sweep":
            swept = self.reached(agent).sweep()
            assert (swept.expired, swept.rearmed, swept.released) == self.model.sweep(self.agents[agent])
            assert not swept.more
            return
        status, live = (None, True) if what == "live" else (what, False)
        listed = self.reached(agent).list(status=status, live=live, limit=1000)
        expected = self.model.list(self.agents[agent], status, live=live)
        assert [intent.id for intent in listed] == [intent.id for intent in expected]
        for mine, theirs in zip(expected, listed, strict=True):
            self.same_intent(mine, theirs)

    def clock_moves(self, move: timedelta | tuple[str, timedelta]) -> None:
        """By some time, forwards or backwards, or to the moment at which the next thing happens."""
        if isinstance(move, timedelta):
            self.model.now += move
            return
        what, late = move
        live = [intent for intent in self.model.intents if intent.status in LIVE]
        due = [intent.rearm_at if what == "cooled down" else intent.expires_at for intent in live]
        soon = self.model.now + timedelta(days=2)
        ahead = [moment for moment in due if moment is not None and self.model.now < moment < soon]
        if ahead:
            self.model.now = min(ahead) + late

    # What holds after each step

    def check(self) -> None:
        """The rows are sound, and as the model has them."""
        with self.reading() as session:
            known = lives(session, self.agents)
            assert [life.row.id for life in known] == [intent.id for intent in self.model.intents]
            for life, expected in zip(known, self.model.intents, strict=True):
                assert_sound(life)
                self.same_row(expected, life)
            rows = [life.row for life in known]
            assert_indexed(session, self.agents, rows)
            self.retired = {row.id: row.status for row in rows if row.status in TERMINAL}

    def same_row(self, expected: Intent, life: Life) -> None:
        row = life.row
        assert self.retired.get(row.id, row.status) == row.status, "a terminal intent stays as it is"
        assert (row.status, row.fire_count, row.last_fired_at, row.rearm_at) == (
            expected.status, expected.fire_count, expected.last_fired_at, expected.rearm_at,
        )  # fmt: skip
        assert effective_status(row, self.model.now) == expected.status_at(self.model.now)
        assert as_lines(life.log) == expected.log


def as_lines(log: Any) -> list[Line]:
    return [Line(e.event, e.from_status, e.to_status, e.at, e.turn_id, e.detail) for e in log]


def identity(who: Who) -> Identity:
    return Identity(provider="slack", sender_id=who.sender, conversation_id=who.conversation)


class InAHostsTransaction(SideBySide):
    """Drives the repository inside a host's session; the host commits or rolls back whenever it likes."""

    names = (*SideBySide.names, "transaction_ends", "transaction_ends")

    def __init__(self) -> None:
        super().__init__()
        self.session = self.sessions()
        self.committed = copy.deepcopy(self.model)

    def teardown(self) -> None:
        self.session.close()
        super().teardown()

    @initialize(dice=st.randoms(use_true_random=False))
    def begin(self, dice: Random) -> None:
        super().begin(dice)
        self.transaction_ends(commits=True)

    def reached(self, agent: int) -> Any:
        return self.services[agent].using(self.session)

    def reading(self) -> Any:
        return _Borrowed(self.session)

    def transaction_ends(self, commits: bool) -> None:
        if commits:
            self.session.commit()
            self.committed = copy.deepcopy(self.model)
            return
        self.session.rollback()
        now = self.model.now
        self.model = copy.deepcopy(self.committed)
        self.model.now = now
        self.retired = {i.id: Status(i.status) for i in self.model.intents if i.status in TERMINAL}


class _Borrowed:
    """A host's session for a look that must not end its transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.flush()


def walk(machine: type[SideBySide], open_engine: Callable[[], Engine], *, scenarios: int, steps: int = 60) -> None:
    """Walk a machine at random but always the same way, on databases that `open_engine` gives."""
    happened: Counter[str] = Counter()
    case = type(machine.__name__, (machine,), {"open_engine": staticmethod(open_engine), "happened": happened})
    for number in range(int(WANTED or scenarios)):
        dice = Random(number)
        scenario = case()
        try:
            scenario.begin(dice)
            for _ in range(steps):
                scenario.step(dice)
        finally:
            scenario.teardown()
    # The scenarios are about something.
    for what in (*(move.event for move in TRANSITIONS), "duplicate", "confirmed", "released"):
        assert happened[what] > 0, happened


def explore(machine: type[SideBySide], open_engine: Callable[[], Engine], *, examples: int) -> None:
    """Let Hypothesis find scenarios that a walk does not come upon."""
    case = type(machine.__name__, (machine,), {"open_engine": staticmethod(open_engine), "happened": Counter()})
    run_state_machine_as_test(
        case,
        settings=settings(
            max_examples=int(WANTED or examples),
            stateful_step_count=30,
            derandomize=WANTED is None,
            database=None,
            deadline=None,
            print_blob=True,
            # Making a failure smaller can take minutes; it is done where somebody asked for a long run.
            phases=[Phase.generate, Phase.shrink] if WANTED else [Phase.generate],
        ),
    )


@pytest.fixture
def open_sqlite(sqlite_template: Path, tmp_path: Path) -> Callable[[], Engine]:
    """Opens a fresh SQLite file each time."""

    def open_engine() -> Engine:
        path = tmp_path / f"{next(_numbers)}.db"
        shutil.copyfile(sqlite_template, path)
        engine = create_engine(f"sqlite:///{path}")

        @event.listens_for(engine, "connect")
        def _do_not_wait_for_the_disk(connection: Any, _record: Any) -> None:
            connection.execute("PRAGMA synchronous = OFF")

        return engine

    return open_engine


def test_the_service_answers_as_the_model_does(open_sqlite: Callable[[], Engine]) -> None:
    walk(SideBySide, open_sqlite, scenarios=20)
    explore(SideBySide, open_sqlite, examples=8)


def test_the_service_answers_as_the_model_does_on_postgresql(postgresql_engine: Engine) -> None:
    walk(SideBySide, lambda: postgresql_engine, scenarios=8)
    explore(SideBySide, lambda: postgresql_engine, examples=3)


def test_a_host_may_roll_back_at_any_step(open_sqlite: Callable[[], Engine]) -> None:
    walk(InAHostsTransaction, open_sqlite, scenarios=15)
    explore(InAHostsTransaction, open_sqlite, examples=8)


def test_a_host_may_roll_back_at_any_step_on_postgresql(postgresql_engine: Engine) -> None:
    walk(InAHostsTransaction, lambda: postgresql_engine, scenarios=8)
    explore(InAHostsTransaction, lambda: postgresql_engine, examples=3)
