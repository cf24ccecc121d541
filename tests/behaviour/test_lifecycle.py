"""The lifecycle table: one meaning for the machine, for SQL and for the database itself."""

from __future__ import annotations

import gc
import itertools
import sys
import uuid
import weakref
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Engine, case, delete, event, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from intents import IntentEvent, IntentService, IntentTurn, StandingIntent, Status, TransitionNotAllowed, lifecycle
from intents.lifecycle import LIVE, TERMINAL, TRANSITIONS
from tests.behaviour.support import (
    DAY,
    HOUR,
    IN_MEMORY,
    MOMENT,
    ON_SQLITE,
    OWNER,
    START,
    Clock,
    draft,
    ids,
    load,
    said,
    stored,
)

TABLE = {
    "arm": ({"pending"}, "armed"),
    "fire": ({"armed"}, "fired"),
    "complete": ({"fired"}, "done"),
    "rearm": ({"fired"}, "armed"),
    "release": ({"fired"}, "armed"),
    "cancel": ({"pending", "armed", "fired"}, "cancelled"),
    "expire": ({"pending", "armed", "fired"}, "expired"),
}
MOVES = {(source, target) for sources, target in TABLE.values() for source in sources}


def row_of(**values: Any) -> StandingIntent:
    """A sound row, not yet in any database: armed, with budget, not expired, cooled down."""
    return StandingIntent(
        **{
            "id": str(uuid.uuid4()),
            "agent_id": "main",
            "description": "Confirm the rollback owner",
            "trigger_keywords": ["release candidate"],
            "exclude_keywords": [],
            "language": "en",
            "clauses": {"language": "en", "within": None, "entries": [], "exclusions": []},
            "anchors": "x",
            "scope": "x",
            "analyzer_version": "x",
            "channel_scope": "anywhere",
            "sender_scope": "anyone",
            "creator_provider": "slack",
            "creator_account": "default",
            "creator_sender": "U-owner",
            "fingerprint": uuid.uuid4().hex,
            "status": Status.ARMED,
            "expires_at": START + DAY,
            "max_fires": 2,
            "fire_count": 0,
            "cooldown_seconds": 3600.0,
            "created_at": START,
            "updated_at": START,
            "version": 1,
            **values,
        }
    )


def facts(row: StandingIntent) -> dict[str, Any]:
    return {column.name: getattr(row, column.name) for column in StandingIntent.__table__.columns}


# The table itself


def test_the_table_is_the_specified_one() -> None:
    assert {t.event: ({source.value for source in t.sources}, t.target.value) for t in TRANSITIONS} == TABLE
    assert {(a.value, b.value) for a, b in lifecycle.allowed_moves()} == MOVES
    assert set(LIVE) | set(TERMINAL) == set(Status)
    assert not any(source in TERMINAL for t in TRANSITIONS for source in t.sources), "nothing leaves a terminal status"
    assert [status.value for status in Status] == ["pending", "armed", "fired", "done", "cancelled", "expired"]


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("status", Status)
def test_an_event_that_the_table_does_not_have_is_refused_with_its_facts(name: str, status: Status) -> None:
    """Whatever the guards would say: the rows here satisfy all of them for some event."""
    for values in (
        {"fire_count": 1, "last_fired_at": START - DAY, "rearm_at": START - HOUR},
        {"fire_count": 2, "last_fired_at": START - DAY, "rearm_at": START - HOUR},
        {"fire_count": 1, "last_fired_at": START - DAY, "rearm_at": START - HOUR, "held_turn_key": 7},
        {"expires_at": START},
    ):
        row = row_of(status=status, **values)
        before = facts(row)
        if status.value in TABLE[name][0]:
            continue
        with pytest.raises(TransitionNotAllowed) as refusal:
            lifecycle.advance(name, row, now=START)
        error = refusal.value
        assert (error.intent_id, error.event, error.status) == (row.id, name, status.value)
        assert error.failed_guard is None
        assert facts(row) == before


@pytest.mark.parametrize(
    ("name", "status", "values", "guard"),
    [
        ("arm", Status.PENDING, {"expires_at": START}, "has_expired"),
        ("fire", Status.ARMED, {"expires_at": START}, "has_expired"),
        ("fire", Status.ARMED, {"fire_count": 2, "last_fired_at": START}, "has_budget"),
        (
            "fire",
            Status.ARMED,
            {"fire_count": 1, "last_fired_at": START, "rearm_at": START + MOMENT},
            "has_cooled_down",
        ),
        ("complete", Status.FIRED, {"fire_count": 1, "last_fired_at": START}, "has_budget"),
        ("complete", Status.FIRED, {"fire_count": 2, "last_fired_at": START, "held_turn_key": 1}, "is_held"),
        (
            "rearm",
            Status.FIRED,
            {"fire_count": 1, "last_fired_at": START, "rearm_at": START + MOMENT},
            "has_cooled_down",
        ),
        ("rearm", Status.FIRED, {"fire_count": 2, "last_fired_at": START, "rearm_at": START}, "has_budget"),
        ("rearm", Status.FIRED, {"fire_count": 1, "rearm_at": START, "expires_at": START}, "has_expired"),
        ("rearm", Status.FIRED, {"fire_count": 1, "rearm_at": START, "held_turn_key": 1}, "is_held"),
        ("release", Status.FIRED, {"fire_count": 1, "last_fired_at": START, "rearm_at": START}, "is_held"),
        ("expire", Status.ARMED, {"expires_at": START + MOMENT}, "has_expired"),
    ],
)
def test_a_guard_that_says_no_is_named_and_nothing_changes(
    name: str, status: Status, values: dict[str, Any], guard: str
) -> None:
    row = row_of(status=status, **values)
    before = facts(row)
    with pytest.raises(TransitionNotAllowed) as refusal:
        lifecycle.advance(name, row, now=START, changes={"fire_count": 9, "last_fired_at": START + DAY})
    assert refusal.value.failed_guard == guard
    assert guard in str(refusal.value)
    assert facts(row) == before


def test_a_move_writes_what_it_says() -> None:
    row = row_of()
    later = START + MOMENT
    moved = lifecycle.advance(
        "fire", row, now=later, changes={"fire_count": 1, "last_fired_at": later, "rearm_at": later + HOUR}
    )
    assert (moved.event, moved.source, moved.target) == ("fire", Status.ARMED, Status.FIRED)
    assert (row.status, row.fire_count, row.last_fired_at, row.rearm_at, row.updated_at) == (
        Status.FIRED, 1, later, later + HOUR, later,
    )  # fmt: skip
    assert isinstance(row.status, Status)
    lifecycle.advance("cancel", row, now=later)
    assert (row.status, row.rearm_at, row.held_turn_key) == (Status.CANCELLED, None, None)


@pytest.mark.parametrize("column", ["status", "fire_count", "last_fired_at", "rearm_at", "updated_at"])
def test_an_exception_while_moving_leaves_the_row_as_it_was(column: str) -> None:
    """A host may listen to our attributes, and its listener may fail."""
    row = row_of()
    before = facts(row)
    attribute = getattr(StandingIntent, column)
    fails = iter([True])

    def fail_once(_row: StandingIntent, _value: Any, _before: Any, _event: Any) -> None:
        if next(fails, False):
            raise RuntimeError("a listener of the host says no")

    event.listen(attribute, "set", fail_once)
    try:
        with pytest.raises(RuntimeError, match="says no"):
            lifecycle.advance(
                "fire",
                row,
                now=START + MOMENT,
                changes={"fire_count": 1, "last_fired_at": START, "rearm_at": START + HOUR},
            )
    finally:
        event.remove(attribute, "set", fail_once)
    assert facts(row) == before


def test_an_exception_in_a_guard_leaves_the_row_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_row: StandingIntent, now: datetime) -> bool:
        raise RuntimeError("a guard fails")

    row = row_of()
    before = facts(row)
    monkeypatch.setattr(StandingIntent, "has_budget", fail)
    with pytest.raises(RuntimeError, match="a guard fails"):
        lifecycle.advance("fire", row, now=START, changes={"fire_count": 1})
    assert facts(row) == before


# No back doors


def test_a_row_has_no_machinery_of_its_own() -> None:
    machine = lifecycle.build_machine()
    assert set(machine.events) == set(TABLE)
    assert not machine.models
    row = row_of(status=Status.CANCELLED)
    for name in ("trigger", "state", "may_arm", "is_armed", *TABLE, *(f"to_{status.value}" for status in Status)):
        assert not hasattr(row, name), name
    for name in ("to_armed", "to_ARMED", "initial", "trigger"):
        with pytest.raises((KeyError, TransitionNotAllowed)):
            lifecycle.advance(name, row, now=START)
    assert row.status is Status.CANCELLED


def test_attributes_of_the_same_name_change_nothing(
    service: IntentService, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host may put methods of its own on the class; an event is no attribute lookup."""
    for name in (*TABLE, "trigger", "to_armed", "may_cancel", "on_enter_fired", "on_exit_armed", "is_armed"):
        monkeypatch.setattr(StandingIntent, name, lambda *_, **__: False, raising=False)
    intent = service.create(draft(cooldown=HOUR), by=OWNER)
    assert service.match(said())[0].intent.status is Status.FIRED
    clock.advance(HOUR)
    assert service.sweep().rearmed == 1
    assert service.cancel(intent.id, by=OWNER).status is Status.CANCELLED
    with pytest.raises(TransitionNotAllowed):
        lifecycle.advance("arm", row_of(status=Status.CANCELLED), now=START)


def test_a_subclass_with_a_cancel_of_its_own_is_cancelled_all_the_same() -> None:
    class Row:
        """Not a mapped one: what the lifecycle needs of a row is its attributes and its guards."""

        def __init__(self) -> None:
            self.__dict__.update(facts(row_of()))

        def cancel(self) -> str:
            return "does nothing"

    row = Row()
    assert lifecycle.advance("cancel", row, now=START).target is Status.CANCELLED
    assert row.status is Status.CANCELLED  # type: ignore[attr-defined]
    assert row.cancel() == "does nothing"


@IN_MEMORY
def test_ten_thousand_rows_through_a_hundred_turns_leave_nothing_behind(service: IntentService, engine: Engine) -> None:
    pattern = service.create(draft(cooldown=timedelta(0), max_fires=1), by=OWNER)
    load(engine, service, pattern, [f"word{n % 100}" for n in range(10_000)])

    def turns(numbers: range) -> int:
        for number in numbers:
            assert len(service.match(said(f"word{number}"))) == 3
            service.sweep()
        gc.collect()
        return sys.getallocatedblocks()

    assert -turns(range(50)) + turns(range(50, 100)) < 3_000, "memory stays flat"
    assert not [each for each in gc.get_objects() if isinstance(each, StandingIntent)]
    assert not lifecycle._MACHINE.models


def test_moving_ten_thousand_rows_keeps_none_of_them() -> None:
    rows = [row_of() for _ in range(10_000)]
    for row in rows:
        lifecycle.advance("cancel", row, now=START)
    last = weakref.ref(rows[-1])
    del rows, row
    gc.collect()
    assert last() is None
    assert not lifecycle._MACHINE.models


# Row and SQL agree


def sound_rows() -> list[dict[str, Any]]:
    """Every combination of the facts that guards look at, on, just before and just after their moments."""
    moments = (START - MOMENT, START, START + MOMENT)
    rows = []
    for status, expires_at, rearm_at, count, held in itertools.product(
        Status, moments, (None, *moments), (0, 1, 2), (False, True)
    ):
        if status is Status.FIRED and (count == 0 or rearm_at is None):
            continue
        if (status is Status.DONE and count < 2) or (held and status is not Status.FIRED):
            continue
        rows.append(
            {
                "status": status,
                "expires_at": expires_at,
                "rearm_at": rearm_at,
                "fire_count": count,
                "last_fired_at": START - DAY if count else None,
                "held_turn_key": 1 if held else None,
            }
        )
    return rows


def test_the_guards_mean_the_same_on_a_row_and_in_sql(engine: Engine) -> None:
    rows = sound_rows()
    assert len(rows) > 150
    with Session(engine) as session:
        session.execute(
            insert(IntentTurn),
            [{"key": 1, "agent_id": "main", "delivery": "delivered", "context": "", "matched_at": START}],
        )
        session.execute(insert(StandingIntent), [without_key(row_of(**values)) for values in rows])
        columns = [
            *(
                case((lifecycle.permits_sql(name, StandingIntent, START), True), else_=False).label(f"{name}?")
                for name in TABLE
            ),
            *(
                case((getattr(StandingIntent, guard)(START), True), else_=False).label(guard)
                for guard in ("has_expired", "has_cooled_down", "has_budget", "is_held", "hold_has_lapsed")
            ),
            lifecycle.effective_status_sql(StandingIntent, START).label("effective"),
            case((lifecycle.could_fire_sql(StandingIntent, START), True), else_=False).label("could_fire"),
            case((lifecycle.is_live_sql(StandingIntent), True), else_=False).label("is_live"),
        ]
        answers = session.execute(select(StandingIntent, *columns).order_by(StandingIntent.key)).all()
        assert len(answers) == len(rows)
        for answer in answers:
            row, sql = answer[0], answer._mapping
            for name in TABLE:
                assert sql[f"{name}?"] == lifecycle.permits(name, row, START), (name, facts(row))
            for guard in ("has_expired", "has_cooled_down", "has_budget", "is_held", "hold_has_lapsed"):
                assert bool(sql[guard]) == getattr(row, guard)(START), (guard, facts(row))
            assert sql["effective"] == lifecycle.effective_status(row, START), facts(row)
            assert sql["is_live"] == row.is_live
            could = (
                lifecycle.permits("fire", row, START)
                or lifecycle.permits("rearm", row, START)
                or (row.status is Status.FIRED and row.hold_has_lapsed(START) and not row.has_expired(START))
            )
            assert sql["could_fire"] == could, facts(row)
        session.rollback()


def without_key(row: StandingIntent) -> dict[str, Any]:
    return {name: value for name, value in facts(row).items() if name != "key"}


# The database refuses too


def in_status(engine: Engine, status: str) -> int:
    """Write a row that satisfies every constraint of every status; give its key."""
    values = without_key(
        row_of(
            status=Status(status), max_fires=1, fire_count=1, last_fired_at=START, rearm_at=START, anchors=f"x{status}"
        )
    )
    with engine.begin() as connection:
        return connection.execute(insert(StandingIntent).values(values).returning(StandingIntent.key)).scalar_one()


@pytest.mark.parametrize("source", [status.value for status in Status])
def test_raw_sql_moves_a_row_along_the_table_and_nowhere_else(engine: Engine, source: str) -> None:
    for target in (status.value for status in Status):
        key = in_status(engine, source)
        move = text("UPDATE standing_intents SET status = :target WHERE key = :key")
        with engine.connect() as connection:
            if source == target or (source, target) in MOVES:
                assert connection.execute(move, {"target": target, "key": key}).rowcount == 1
            else:
                with pytest.raises(DBAPIError, match="lifecycle table"):
                    connection.execute(move, {"target": target, "key": key})
            connection.rollback()


@pytest.mark.parametrize("status", ["revived", "ARMED", "Armed", ""])
def test_raw_sql_cannot_invent_a_status(engine: Engine, status: str) -> None:
    key = in_status(engine, "armed")
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.execute(
            text("UPDATE standing_intents SET status = :status WHERE key = :key"), {"status": status, "key": key}
        )


def test_raw_sql_cannot_change_who_a_row_is(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft(), by=OWNER)
    for change in ("id = 'another'", "key = key + 1000", "id = NULL"):
        with engine.connect() as connection, pytest.raises(DBAPIError):
            connection.execute(text(f"UPDATE standing_intents SET {change}"))
    assert ids(service.match(said())) == [intent.id]


@pytest.mark.parametrize("terminal", ["cancelled", "done", "expired"])
def test_no_insert_replaces_a_row(service: IntentService, engine: Engine, clock: Clock, terminal: str) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    if terminal == "cancelled":
        service.cancel(intent.id, by=OWNER)
    elif terminal == "done":
        service.match(said())
    else:
        clock.advance(366 * DAY)
        service.sweep()
    row = stored(engine, intent.id)
    assert row.status.value == terminal
    revived = {**facts(row), "status": Status.ARMED, "fire_count": 0, "last_fired_at": None, "rearm_at": None}
    for values in (revived, {**revived, "id": str(uuid.uuid4())}, {**revived, "key": row.key + 1000}):
        for verb in ("INSERT", "INSERT OR REPLACE") if engine.dialect.name == "sqlite" else ("INSERT",):
            statement = insert(StandingIntent).prefix_with(verb.removeprefix("INSERT").strip() or "", dialect="sqlite")
            with engine.connect() as connection, pytest.raises(DBAPIError):
                connection.execute(statement.values(values))
    assert facts(stored(engine, intent.id)) == facts(row)
    assert not service.match(said())


@ON_SQLITE
def test_a_replacement_cannot_take_a_live_rows_place_by_its_fingerprint(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft(), by=OWNER)
    row = stored(engine, intent.id)
    twin = {**without_key(row), "id": str(uuid.uuid4())}
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.execute(insert(StandingIntent).prefix_with("OR REPLACE").values(twin))
    assert ids(service.list()) == [intent.id]


def test_raw_sql_cannot_rewrite_the_log(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="append-only"):
        connection.execute(update(IntentEvent).values(event="cancel"))


@ON_SQLITE
def test_the_index_follows_raw_sql_on_a_live_row(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft(), by=OWNER)

    def indexed() -> list[Any]:
        with engine.connect() as connection:
            connection.exec_driver_sql(
                "INSERT INTO standing_intents_fts(standing_intents_fts) VALUES ('integrity-check')"
            )
            return list(connection.exec_driver_sql("SELECT rowid, anchors, scope FROM standing_intents_fts"))

    row = stored(engine, intent.id)
    assert indexed() == [(row.key, row.anchors, row.scope)]
    with engine.begin() as connection:
        connection.execute(update(StandingIntent).values(anchors="moved", scope="elsewhere"))
    assert indexed() == [(row.key, "moved", "elsewhere")]
    with engine.begin() as connection:
        connection.execute(update(StandingIntent).values(status=Status.CANCELLED))
    assert indexed() == []
    other = service.create(draft("rollback"), by=OWNER)
    with engine.begin() as connection:
        connection.execute(delete(IntentEvent))
        connection.execute(delete(StandingIntent).where(StandingIntent.id == other.id))
    assert indexed() == []


def test_keys_are_never_used_again(service: IntentService, engine: Engine) -> None:
    last = stored(engine, service.create(draft(), by=OWNER).id).key
    with engine.begin() as connection:
        connection.execute(delete(IntentEvent))
        if engine.dialect.name == "postgresql":
            connection.execute(text("DELETE FROM standing_intent_anchors"))
        connection.execute(delete(StandingIntent))
    assert stored(engine, service.create(draft(), by=OWNER).id).key > last


@pytest.mark.parametrize(
    "impossible",
    [
        {"fire_count": 3},
        {"fire_count": -1},
        {"max_fires": 0},
        {"max_fires": 1001},
        {"cooldown_seconds": -1.0},
        {"cooldown_seconds": 366 * 86400 + 1.0},
        {"within": 0},
        {"description": ""},
        {"anchors": ""},
        {"status": Status.FIRED},
        {"status": Status.DONE},
        {"last_fired_at": START},
        {"fire_count": 1},
        {"channel_scope": "channel"},
        {"channel_scope": "conversation", "channel_key": "x"},
        {"channel_scope": "everywhere"},
        {"sender_scope": "sender"},
        {"sender_scope": "anyone", "sender_key": "x"},
        {"expires_at": None},
        {"agent_id": None},
    ],
)
def test_a_row_that_cannot_be_is_refused(engine: Engine, impossible: dict[str, Any]) -> None:
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.execute(insert(StandingIntent).values(without_key(row_of()) | impossible))


def test_a_naive_time_is_refused_and_an_aware_one_comes_back_in_utc(engine: Engine) -> None:
    with Session(engine) as session:
        naive = row_of(expires_at=START.replace(tzinfo=None))
        session.add(naive)
        with pytest.raises(Exception, match="naive"):
            session.flush()
        session.rollback()
        local = START.astimezone(timezone(timedelta(hours=5, minutes=45))) + MOMENT
        session.add(row_of(expires_at=local))
        session.flush()
        session.expire_all()
        read = session.scalars(select(StandingIntent.expires_at)).one()
        assert (read, read.utcoffset()) == (local, timedelta(0))
        session.rollback()
