"""The library and the reference model are driven side by side and must give the same answers.

Each test runs the same machine on another footing: the service on SQLite and on PostgreSQL, and the repository inside
a host's transaction that may be rolled back at any step. ``INTENTS_MACHINE_EXAMPLES=2000`` runs that many random
scenarios instead of the fixed ones, and shrinks what fails.
"""

from __future__ import annotations

import copy
import itertools
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
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
from intents.lifecycle import LIVE, TERMINAL, effective_status
from tests.model.reference import Answer, Intent, Model, Refused, Who
from tests.model.soundness import Life, assert_indexed, assert_sound, lives

START = datetime(2026, 7, 27, 12, tzinfo=UTC)
WORDS = ("blik", "vorn", "quap", "drumm", "snork")
OWNERS = ("ada", "bob")
_numbers = itertools.count()

words = st.sampled_from(WORDS)
entries = st.lists(words, min_size=1, max_size=2, unique=True).map(" ".join)
# Some more often than others: what meets in one place brings about more.
people = st.builds(Who, st.sampled_from(["lobby", "lobby", "kitchen", None]), st.sampled_from([*OWNERS, "eve", None]))
owners = st.builds(Who, st.sampled_from(["lobby", "lobby", "kitchen"]), st.sampled_from(OWNERS))
turn_ids = st.sampled_from(["m1", "m2", None])
descriptions = st.sampled_from(
    ["water the plants", "ask who owns it", "call the bank", "tea " * 80 + "now", "ja " * 166]
)
sentences = st.lists(words, max_size=5).map(" ".join)
agents = st.sampled_from([0, 0, 0, 1])


def test_the_words_are_untouched_by_stemming() -> None:
    assert all(Analyzer().forms(word, "en") == (word,) for word in WORDS)


class Sent(NamedTuple):
    """A turn that was sent to an agent."""

    agent: int
    who: Who
    turn_id: str | None


class SideBySide(RuleBasedStateMachine):
    """Drives model and service through the same calls."""

    open_engine: ClassVar[Callable[[], Engine]]
    intents = Bundle("intents")
    turns = Bundle("turns")

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

    def teardown(self) -> None:
        self.engine.dispose()

    # How the library is reached; the host's variant overrides these.

    def library(self, agent: int) -> Any:
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
        return self.library(self.agents.index(known[0]) if known else 0)

    def same_intent(self, expected: Intent, actual: IntentRead) -> None:
        assert (actual.id, actual.agent_id, actual.description) == (expected.id, expected.agent, expected.description)
        assert actual.status == expected.status_at(self.model.now)
        assert (actual.fire_count, actual.max_fires) == (expected.fire_count, expected.max_fires)
        assert (actual.last_fired_at, actual.rearm_at) == (expected.last_fired_at, expected.rearm_at)

    # Rules

    @initialize(target=intents, keywords=entries)
    def begin_with_one_for_everybody(self, keywords: str) -> str:
        return self.create(
            0, Who("lobby", "ada"), "ask who owns it", [keywords], [], "anywhere", True, None, timedelta(hours=30),
            2, timedelta(hours=1), True, None,
        )  # fmt: skip

    @initialize(target=intents, keywords=entries)
    def begin_with_one_that_ends_before_a_hold_does(self, keywords: str) -> str:
        return self.create(
            0, Who("lobby", "bob"), "call the bank", [keywords], [], "channel", True, None, timedelta(minutes=8),
            2, timedelta(0), True, None,
        )  # fmt: skip

    @rule(
        target=intents,
        agent=agents,
        by=owners | people,
        description=descriptions,
        keywords=st.lists(entries, min_size=1, max_size=2),
        exclude=st.lists(words, max_size=1),
        channel=st.sampled_from(["conversation", "channel", "anywhere"]),
        anyone=st.booleans(),
        names=st.none() | st.sampled_from(["bob", "eve"]),
        lifetime=st.sampled_from([timedelta(days=30), timedelta(days=90), timedelta(minutes=8), timedelta(0)]),
        max_fires=st.integers(1, 3),
        cooldown=st.sampled_from([timedelta(0), timedelta(hours=1), timedelta(hours=24)]),
        armed=st.sampled_from([True, True, True, False]),
        turn_id=turn_ids,
    )
    def create(
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
    ) -> str:
        conversation = (by.conversation or "lobby") if channel == "conversation" else None
        sender = None if anyone else names or by.sender
        expires_at = self.model.now + lifetime
        wished = Intent(
            self.agents[agent], by, description.strip(), tuple(keywords), tuple(exclude), channel, conversation, sender,
            self.model.now, expires_at, max_fires, cooldown, None,
        )  # fmt: skip
        if turn_id is not None:
            wished.created_on = (wished.agent, by.conversation, turn_id)
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
            lambda: self.library(agent).create(draft, by=identity(by), turn_id=turn_id),
        )
        if expected is None:
            return "no such intent"
        expected.id = expected.id or actual.id
        self.same_intent(expected, actual)
        return actual.id

    @rule(intent_id=intents, by=owners | people)
    def arm(self, intent_id: str, by: Who) -> None:
        self.same(
            lambda: self.model.arm(self.known_to(intent_id, by), by),
            lambda: self.service_of(intent_id).arm(intent_id, by=identity(by)),
        )

    @rule(intent_id=intents, by=owners | people, reason=st.sampled_from([None, "not needed"]))
    def cancel(self, intent_id: str, by: Who, reason: str | None) -> None:
        self.same(
            lambda: self.model.cancel(self.known_to(intent_id, by), by, reason),
            lambda: self.service_of(intent_id).cancel(intent_id, by=identity(by), reason=reason),
        )

    def known_to(self, intent_id: str, by: Who) -> Intent:
        """The model's intent; whether somebody may act is decided before whether the intent exists."""
        if by.sender not in OWNERS:
            raise Refused("NotAuthorized")
        return self.intent(intent_id)

    @rule(target=turns, agent=agents, who=people, said=sentences, turn_id=turn_ids, hold=st.booleans())
    def match(self, agent: int, who: Who, said: str, turn_id: str | None, hold: bool) -> Sent:
        return self.turn(Sent(agent, who, turn_id), said, hold=hold)

    @rule(target=turns, agent=agents, who=owners, turn_id=turn_ids, hold=st.booleans())
    def say_everything(self, agent: int, who: Who, turn_id: str | None, hold: bool) -> Sent:
        return self.turn(Sent(agent, who, turn_id), " ".join(WORDS), hold=hold and turn_id is not None)

    @rule(sent=turns, said=sentences, hold=st.booleans())
    def repeat(self, sent: Sent, said: str, hold: bool) -> None:
        self.turn(sent, said, hold=hold)

    @rule(agent=agents, who=owners, said=words, turn_id=turn_ids, kind=st.sampled_from(["system", "cron", "heartbeat"]))
    def speak_as_a_machine(self, agent: int, who: Who, said: str, turn_id: str | None, kind: Any) -> None:
        self.turn(Sent(agent, who, turn_id), said, hold=False, kind=kind)

    def turn(self, sent: Sent, said: str, *, hold: bool, kind: Any = "user") -> Sent:
        agent, who, turn_id = sent
        expected, actual = self.same(
            lambda: self.model.match(self.agents[agent], who, said, turn_id=turn_id, kind=kind, hold=hold),
            lambda: self.library(agent).match(
                Turn(text=said, identity=identity(who), id=turn_id, kind=kind), hold=hold
            ),
        )
        if expected is not None:
            self.same_answer(expected, actual)
        return sent

    def same_answer(self, expected: Answer, actual: Matches) -> None:
        fired = [(intent.id, keyword) for intent, keyword in expected.fired]
        assert [(match.intent.id, match.keyword) for match in actual] == fired
        assert actual.context == expected.context
        assert (actual.duplicate, actual.skipped, actual.truncated) == (expected.duplicate, expected.skipped, False)
        assert len(actual) <= 3
        assert actual.context is None or len(actual.context) <= 1200
        for (intent, _), match in zip(expected.fired, actual, strict=True):
            self.same_intent(intent, match.intent)

    @rule(sent=turns)
    def confirm(self, sent: Sent) -> None:
        agent, who, turn_id = sent
        expected, actual = self.same(
            lambda: self.model.confirm(self.agents[agent], who, turn_id),
            lambda: self.library(agent).confirm(Turn(text="", identity=identity(who), id=turn_id)),
        )
        assert actual == expected

    @rule(sent=turns, reason=st.sampled_from([None, "suppressed"]))
    def release(self, sent: Sent, reason: str | None) -> None:
        agent, who, turn_id = sent
        expected, actual = self.same(
            lambda: self.model.release(self.agents[agent], who, turn_id, reason),
            lambda: self.library(agent).release(Turn(text="", identity=identity(who), id=turn_id), reason=reason),
        )
        assert actual == expected

    @rule(agent=agents)
    def sweep(self, agent: int) -> None:
        swept = self.library(agent).sweep()
        assert (swept.expired, swept.rearmed, swept.released) == self.model.sweep(self.agents[agent])
        assert not swept.more

    @rule(agent=agents, status=st.none() | st.sampled_from(Status), live=st.booleans())
    def list(self, agent: int, status: Status | None, live: bool) -> None:
        listed = self.library(agent).list(status=status, live=live, limit=1000)
        expected = self.model.list(self.agents[agent], status, live=live)
        assert [intent.id for intent in listed] == [intent.id for intent in expected]
        for mine, theirs in zip(expected, listed, strict=True):
            self.same_intent(mine, theirs)

    @rule(intent_id=intents)
    def history(self, intent_id: str) -> None:
        expected, actual = self.same(
            lambda: self.intent(intent_id).log, lambda: self.service_of(intent_id).history(intent_id)
        )
        if expected is not None:
            told = [(e.event, e.from_status, e.to_status, e.at, e.turn_id, e.detail) for e in actual]
            assert told == expected

    @rule(
        delta=st.sampled_from(
            [
                timedelta(microseconds=1),
                timedelta(minutes=5),
                timedelta(minutes=10),
                timedelta(hours=1),
                timedelta(hours=24),
            ]
        )
    )
    def time_passes(self, delta: timedelta) -> None:
        self.model.now += delta

    @rule(to=st.sampled_from(["cooled down", "expired"]), step=st.sampled_from([-1, 0]))
    def time_comes_to_the_moment(self, to: str, step: int) -> None:
        """The very moment at which the next thing happens, or a microsecond before."""
        moments = [
            (i.rearm_at if to == "cooled down" else i.expires_at) for i in self.model.intents if i.status in LIVE
        ]
        ahead = [moment for moment in moments if moment is not None and moment > self.model.now]
        if ahead:
            self.model.now = min(ahead) + timedelta(microseconds=step)

    @rule(delta=st.sampled_from([timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=1)]))
    def clock_is_set_back(self, delta: timedelta) -> None:
        self.model.now -= delta

    # What holds after each step

    @invariant()
    def the_rows_are_sound_and_as_the_model_has_them(self) -> None:
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
        assert [(e.event, e.from_status, e.to_status, e.at, e.turn_id, e.detail) for e in life.log] == expected.log


def identity(who: Who) -> Identity:
    return Identity(provider="slack", sender_id=who.sender, conversation_id=who.conversation)


class InAHostsTransaction(SideBySide):
    """Drives the repository inside a host's session; the host commits or rolls back whenever it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.session = self.sessions()
        self.committed = copy.deepcopy(self.model)

    def teardown(self) -> None:
        self.session.close()
        super().teardown()

    def library(self, agent: int) -> Any:
        return self.services[agent].using(self.session)

    def reading(self) -> Any:
        return _Borrowed(self.session)

    @rule()
    def commit(self) -> None:
        self.session.commit()
        self.committed = copy.deepcopy(self.model)

    @rule()
    def roll_back(self) -> None:
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


def run(machine: type[SideBySide], open_engine: Callable[[], Engine], *, examples: int, steps: int) -> None:
    """Run a machine on databases that `open_engine` gives, one for each scenario."""
    wanted = os.environ.get("INTENTS_MACHINE_EXAMPLES")
    case = type(machine.__name__, (machine,), {"open_engine": staticmethod(open_engine)})
    run_state_machine_as_test(
        case,
        settings=settings(
            max_examples=int(wanted or examples),
            stateful_step_count=steps,
            derandomize=wanted is None,
            database=None,
            deadline=None,
            print_blob=True,
            # Making a failure smaller can take minutes; it is done where somebody asked for a long run.
            phases=[Phase.generate, Phase.shrink] if wanted else [Phase.generate],
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
    run(SideBySide, open_sqlite, examples=40, steps=40)


def test_the_service_answers_as_the_model_does_on_postgresql(postgresql_engine: Engine) -> None:
    run(SideBySide, lambda: postgresql_engine, examples=10, steps=40)


def test_a_host_may_roll_back_at_any_step(open_sqlite: Callable[[], Engine]) -> None:
    run(InAHostsTransaction, open_sqlite, examples=25, steps=40)


def test_a_host_may_roll_back_at_any_step_on_postgresql(postgresql_engine: Engine) -> None:
    run(InAHostsTransaction, lambda: postgresql_engine, examples=8, steps=40)
