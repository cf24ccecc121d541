"""The library and the reference model are driven side by side and must give the same answers.

Each test runs the same machine on another footing: the service on SQLite and on PostgreSQL, and the repository inside a
host's transaction that may be rolled back at any step. ``INTENTS_MACHINE_EXAMPLES=2000`` runs that many random scenarios
instead of the fixed ones, and shrinks what fails.
"""

from __future__ import annotations

import copy
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

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
from sqlalchemy import Engine, create_engine, event, select, text
from sqlalchemy.orm import Session, sessionmaker

from intents import (
    Analyzer,
    Identity,
    IntentCreate,
    IntentEvent,
    IntentFiring,
    IntentRead,
    IntentsError,
    IntentService,
    OwnerPolicy,
    StandingIntent,
    Status,
    Turn,
)
from intents.lifecycle import LIVE, TERMINAL, TRANSITIONS, effective_status
from tests.model.reference import Answer, Intent, Model, Refused, Who

START = datetime(2026, 7, 27, 12, tzinfo=UTC)
WORDS = ("blik", "vorn", "quap", "drumm", "snork")
OWNERS = ("ada", "bob")
ARROWS = {(move.event, source, move.target) for move in TRANSITIONS for source in move.sources}
_numbers = itertools.count()

words = st.sampled_from(WORDS)
entries = st.lists(words, min_size=1, max_size=2, unique=True).map(" ".join)
people = st.builds(Who, st.sampled_from(["lobby", "kitchen", None]), st.sampled_from([*OWNERS, "eve", None]))
owners = st.builds(Who, st.sampled_from(["lobby", "kitchen"]), st.sampled_from(OWNERS))
turn_ids = st.none() | st.sampled_from(["m1", "m2", "m3"])
descriptions = st.sampled_from(["water the plants", "ask who owns it", "call the bank", "tea " * 80 + "now", "ja " * 166])
sentences = st.lists(words, max_size=5).map(" ".join)
agents = st.sampled_from([0, 1])


def test_the_words_are_untouched_by_stemming() -> None:
    assert all(Analyzer().forms(word, "en") == (word,) for word in WORDS)


class SideBySide(RuleBasedStateMachine):
    """Drives model and service through the same calls."""

    open_engine: ClassVar[Callable[[], Engine]]
    intents = Bundle("intents")

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

    @initialize(target=intents, keywords=entries, agent=agents)
    def begin_with_one_for_everybody(self, keywords: str, agent: int) -> str:
        return self.create(
            agent, Who("lobby", "ada"), "ask who owns it", [keywords], [], "anywhere", True, None, timedelta(hours=30),
            2, timedelta(hours=1), True, None,
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
            self.agents[agent], by, description.strip(), tuple(keywords), tuple(exclude), conversation, sender,
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

    @rule(agent=agents, who=people, said=sentences, turn_id=turn_ids, hold=st.booleans())
    def match(self, agent: int, who: Who, said: str, turn_id: str | None, hold: bool) -> None:
        self.turn(agent, who, said, turn_id=turn_id, hold=hold)

    @rule(agent=agents, who=owners, turn_id=turn_ids)
    def say_everything(self, agent: int, who: Who, turn_id: str | None) -> None:
        self.turn(agent, who, " ".join(WORDS), turn_id=turn_id, hold=False)

    @rule(agent=agents, who=owners, said=words, turn_id=turn_ids, kind=st.sampled_from(["system", "cron", "heartbeat"]))
    def speak_as_a_machine(self, agent: int, who: Who, said: str, turn_id: str | None, kind: Any) -> None:
        self.turn(agent, who, said, turn_id=turn_id, hold=False, kind=kind)

    def turn(
        self, agent: int, who: Who, said: str, *, turn_id: str | None, hold: bool, kind: Any = "user"
    ) -> None:
        expected, actual = self.same(
            lambda: self.model.match(self.agents[agent], who, said, turn_id=turn_id, kind=kind, hold=hold),
            lambda: self.library(agent).match(
                Turn(text=said, identity=identity(who), id=turn_id, kind=kind), hold=hold
            ),
        )
        if expected is None:
            return
        assert isinstance(expected, Answer)
        assert [(match.intent.id, match.keyword) for match in actual] == [(i.id, keyword) for i, keyword in expected.fired]
        assert actual.context == expected.context
        assert (actual.duplicate, actual.skipped, actual.truncated) == (expected.duplicate, expected.skipped, False)
        assert len(actual) <= 3
        assert actual.context is None or len(actual.context) <= 1200
        for (intent, _), match in zip(expected.fired, actual, strict=True):
            self.same_intent(intent, match.intent)

    @rule(agent=agents, who=people, turn_id=turn_ids.filter(bool))
    def confirm(self, agent: int, who: Who, turn_id: str) -> None:
        turn = Turn(text="", identity=identity(who), id=turn_id)
        expected, actual = self.same(
            lambda: self.model.confirm(self.agents[agent], who, turn_id), lambda: self.library(agent).confirm(turn)
        )
        assert actual == expected

    @rule(agent=agents, who=people, turn_id=turn_ids.filter(bool), reason=st.sampled_from([None, "suppressed"]))
    def release(self, agent: int, who: Who, turn_id: str, reason: str | None) -> None:
        turn = Turn(text="", identity=identity(who), id=turn_id)
        expected, actual = self.same(
            lambda: self.model.release(self.agents[agent], who, turn_id, reason),
            lambda: self.library(agent).release(turn, reason=reason),
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
            [timedelta(microseconds=1), timedelta(minutes=5), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=24)]
        )
    )
    def time_passes(self, delta: timedelta) -> None:
        self.model.now += delta

    @rule(to=st.sampled_from(["cooled down", "expired"]), step=st.sampled_from([-1, 0]))
    def time_comes_to_the_moment(self, to: str, step: int) -> None:
        """The very moment at which the next thing happens, or a microsecond before."""
        moments = [(i.rearm_at if to == "cooled down" else i.expires_at) for i in self.model.intents if i.status in LIVE]
        ahead = [moment for moment in moments if moment is not None and moment > self.model.now]
        if ahead:
            self.model.now = min(ahead) + timedelta(microseconds=step)

    @rule(delta=st.sampled_from([timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=1)]))
    def clock_is_set_back(self, delta: timedelta) -> None:
        self.model.now -= delta

    # What holds after each step

    @invariant()
    def the_rows_are_sound(self) -> None:
        with self.reading() as session:
            rows = session.scalars(
                select(StandingIntent).where(StandingIntent.agent_id.in_(self.agents)).order_by(StandingIntent.key),
                execution_options={"populate_existing": True},
            ).all()
            events: dict[int, list[IntentEvent]] = {row.key: [] for row in rows}
            for line in session.scalars(
                select(IntentEvent).where(IntentEvent.agent_id.in_(self.agents)).order_by(IntentEvent.key)
            ):
                events[line.intent_key].append(line)
            firings: dict[int, list[IntentFiring]] = {row.key: [] for row in rows}
            for firing in session.scalars(
                select(IntentFiring)
                .where(IntentFiring.intent_key.in_(list(firings)), IntentFiring.released_at.is_(None))
                .order_by(IntentFiring.key)
            ):
                firings[firing.intent_key].append(firing)
            assert [row.id for row in rows] == [intent.id for intent in self.model.intents]
            for row in rows:
                self.is_sound(row, events[row.key], firings[row.key])
            self.retired = {row.id: row.status for row in rows if row.status in TERMINAL}
            check_index(session, self.agents, rows)

    def is_sound(self, row: StandingIntent, log: list[IntentEvent], firings: list[IntentFiring]) -> None:
        assert self.retired.get(row.id, row.status) == row.status, "a terminal intent stays as it is"
        assert row.fire_count <= row.max_fires
        expected = self.intent(row.id)
        assert (row.status, row.fire_count, row.last_fired_at, row.rearm_at) == (
            expected.status, expected.fire_count, expected.last_fired_at, expected.rearm_at,
        )  # fmt: skip
        assert effective_status(row, self.model.now) == expected.status_at(self.model.now)
        # The log tells the row's whole life, in moves that the table allows.
        assert [(e.event, e.from_status, e.to_status, e.at, e.turn_id, e.detail) for e in log] == expected.log
        assert (log[0].event, log[0].from_status, log[0].to_status) == ("create", None, Status.PENDING)
        for before, line in itertools.pairwise(log):
            assert line.from_status == before.to_status
            assert (line.event, line.from_status, line.to_status) in ARROWS
        assert log[-1].to_status == row.status
        # The count is what was fired and not given back.
        happened = [line.event for line in log]
        assert row.fire_count == happened.count("fire") - happened.count("release")
        if row.status not in (Status.CANCELLED, Status.EXPIRED):
            assert row.fire_count == len(firings)
        for before, after in itertools.pairwise(firings):
            assert after.fired_at >= before.fired_at + row.cooldown, "no fire within the cooldown"
        assert all(firing.fired_at < row.expires_at for firing in firings), "no fire after the expiry"


def check_index(session: Session, agents: list[str], rows: Any) -> None:
    """The full-text index is whole and holds exactly the live rows, under their anchors."""
    live = {row.key: row for row in rows if row.status in LIVE}
    if session.get_bind().dialect.name == "sqlite":
        session.execute(text("INSERT INTO standing_intents_fts(standing_intents_fts) VALUES ('integrity-check')"))
        indexed = session.execute(text("SELECT rowid, anchors, scope FROM standing_intents_fts ORDER BY rowid")).all()
        assert [tuple(line) for line in indexed] == [(key, row.anchors, row.scope) for key, row in live.items()]
    else:
        indexed = session.execute(
            text("SELECT intent_key, term FROM standing_intent_anchors WHERE agent_id = ANY(:agents)"), {"agents": agents}
        ).all()
        expected = {(key, term) for key, row in live.items() for term in row.anchors.split()}
        assert {tuple(line) for line in indexed} == expected


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
def open_sqlite(sqlite_template: Path, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
    """Opens a fresh SQLite file each time."""

    def open_engine() -> Engine:
        path = tmp_path / f"{next(_numbers)}.db"
        shutil.copyfile(sqlite_template, path)
        engine = create_engine(f"sqlite:///{path}")

        @event.listens_for(engine, "connect")
        def _do_not_wait_for_the_disk(connection: Any, _record: Any) -> None:
            connection.execute("PRAGMA synchronous = OFF")

        return engine

    yield open_engine


def test_the_service_answers_as_the_model_does(open_sqlite: Callable[[], Engine]) -> None:
    run(SideBySide, open_sqlite, examples=60, steps=40)


def test_the_service_answers_as_the_model_does_on_postgresql(postgresql_engine: Engine) -> None:
    run(SideBySide, lambda: postgresql_engine, examples=15, steps=40)


def test_a_host_may_roll_back_at_any_step(open_sqlite: Callable[[], Engine]) -> None:
    run(InAHostsTransaction, open_sqlite, examples=40, steps=40)


def test_a_host_may_roll_back_at_any_step_on_postgresql(postgresql_engine: Engine) -> None:
    run(InAHostsTransaction, lambda: postgresql_engine, examples=10, steps=40)
