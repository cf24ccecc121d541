"""What a call costs the database in steps and bytes: a guard against growth that needs no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, update

from intents import IntentCreate, IntentService
from intents.lifecycle import Status
from intents.models import StandingIntent
from tests.behaviour.support import DAY, ON_FILE, ON_POSTGRESQL, OWNER, START, draft, load, said, statements, tell_index

FEW, MANY = 50, 1_500
#: Instructions of SQLite's virtual machine between two counts.
STEPS = 20
WORDS = " ".join(f"word{number}" for number in range(28))

Make = Callable[..., IntentService]


@contextmanager
def counted(engine: Engine) -> Iterator[list[int]]:
    """Count what SQLite does on all connections meanwhile, FTS5's own statements included."""
    counts = [0]

    def count() -> int:
        counts[0] += 1
        return 0

    def watch(raw: Any, _record: Any, _proxy: Any) -> None:
        raw.set_progress_handler(count, STEPS)

    def leave(raw: Any, _record: Any) -> None:
        raw.set_progress_handler(None, STEPS)

    event.listen(engine, "checkout", watch)
    event.listen(engine, "checkin", leave)
    try:
        yield counts
    finally:
        event.remove(engine, "checkout", watch)
        event.remove(engine, "checkin", leave)


def work_of(engine: Engine, call: Callable[[], object]) -> int:
    with counted(engine) as counts:
        call()
    assert counts[0] > 0
    return counts[0]


def settle(engine: Engine, *, analysed: bool) -> None:
    """Leave one segment, whatever was written, and perhaps the planner's statistics."""
    tell_index(engine, "optimize")
    if analysed:
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")


def shared(numbers: range) -> list[IntentCreate]:
    return [draft(f"deployment topic{number}", description=f"{number}", max_fires=9) for number in numbers]


def crowded(numbers: range) -> list[IntentCreate]:
    return [
        draft("deployment review", channel_scope="conversation", conversation_id=f"other{number}") for number in numbers
    ]


def nothing(service: IntentService, _make: Make, numbers: range) -> str:
    service.create_many(shared(numbers), by=OWNER)
    return WORDS


def one_word(service: IntentService, _make: Make, numbers: range) -> str:
    service.create_many(shared(numbers), by=OWNER)
    return f"deployment {WORDS}"


def elsewhere(service: IntentService, _make: Make, numbers: range) -> str:
    service.create_many(crowded(numbers), by=OWNER)
    return f"deployment review {WORDS}"


def other_agent(_service: IntentService, make: Make, numbers: range) -> str:
    make(agent_id="other").create_many(shared(numbers), by=OWNER)
    return f"deployment topic{numbers[-1]} {WORDS}"


def retired(service: IntentService, _make: Make, numbers: range) -> str:
    for intent in service.create_many(shared(numbers), by=OWNER):
        service.cancel(intent.id, by=OWNER)
    return f"deployment topic{numbers[-1]} {WORDS}"


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
@pytest.mark.parametrize("there", [nothing, one_word, elsewhere, other_agent, retired])
def test_a_turn_that_fires_nothing_works_the_same_beside_many(
    service: IntentService, engine: Engine, make_service: Make, there: Callable[..., str], analysed: bool
) -> None:
    work = []
    for numbers in (range(FEW), range(FEW, MANY if there is not retired else FEW * 4)):
        text = there(service, make_service, numbers)
        settle(engine, analysed=analysed)
        assert not service.match(said(text))
        work.append(work_of(engine, lambda: service.match(said(text))))  # noqa: B023
    assert work[1] <= 1.5 * work[0]


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_rows_that_cool_down_are_passed_over(service: IntentService, engine: Engine, analysed: bool) -> None:
    """Only those that the turn completes are read; the others are not even looked at."""
    work = []
    for numbers in (range(FEW), range(FEW, MANY)):
        service.create_many(shared(numbers), by=OWNER)
        with engine.begin() as connection:
            connection.execute(
                update(StandingIntent)
                .where(StandingIntent.status == Status.ARMED)
                .values(status=Status.FIRED, fire_count=1, last_fired_at=START, rearm_at=START + DAY)
            )
        settle(engine, analysed=analysed)
        text = f"deployment topic{numbers[-1]} {WORDS}"
        assert not service.match(said(text))
        work.append(work_of(engine, lambda: service.match(said(text))))  # noqa: B023
    assert work[1] <= 1.5 * work[0]


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_a_turn_that_fires_one_works_the_same_beside_many(
    service: IntentService, engine: Engine, analysed: bool
) -> None:
    work = []
    for numbers in (range(FEW), range(FEW, MANY)):
        service.create_many(shared(numbers), by=OWNER)
        settle(engine, analysed=analysed)
        assert len(service.match(said(f"deployment topic{numbers[0]}"))) == 1
        text = f"deployment topic{numbers[-1]} {WORDS}"
        work.append(work_of(engine, lambda: service.match(said(text))))  # noqa: B023
    assert work[1] <= 2 * work[0]


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_a_sweep_works_for_what_is_due_only(service: IntentService, engine: Engine, clock: Any, analysed: bool) -> None:
    work = []
    for number, numbers in enumerate((range(FEW), range(FEW, MANY)), start=1):
        service.create_many(shared(numbers), by=OWNER)
        due = [draft(f"review due{number}x{n}", expires_at=START + number * DAY) for n in range(20)]
        service.create_many(due, by=OWNER)
        settle(engine, analysed=analysed)
        clock.now = START + number * DAY + timedelta(seconds=1)
        work.append(work_of(engine, service.sweep))
        assert service.sweep().expired == 0
    assert work[1] <= 1.5 * work[0]


@ON_FILE
def test_an_intent_takes_less_than_a_kilobyte_of_index(service: IntentService, engine: Engine) -> None:
    service.create_many(shared(range(MANY)), by=OWNER)

    def size() -> int:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM")
            pages, page = (connection.exec_driver_sql(f"PRAGMA {n}").scalar_one() for n in ("page_count", "page_size"))
        return int(pages * page)

    whole = size()
    with engine.begin() as connection:
        of_ours = connection.exec_driver_sql(
            "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL"
        ).all()
        for kind, name in [*of_ours, ("table", "standing_intents_fts")]:
            connection.exec_driver_sql(f"DROP {kind} {name}")
    taken = (whole - size()) / MANY
    assert 0 < taken <= 1024


@ON_POSTGRESQL
def test_postgresql_finds_candidates_by_the_index_of_anchors(service: IntentService, engine: Engine) -> None:
    pattern = service.create(draft("deployment other"), by=OWNER)
    load(engine, service, pattern, [f"deployment own{number}" for number in range(20_000)])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")  # as autovacuum does within a minute
    with statements(engine) as seen:
        service.match(said(f"deployment {WORDS}"))
    reads = [(sql, values) for sql, values in seen if "standing_intent_anchors" in sql]
    assert len(reads) == 1
    with engine.connect() as connection:
        plan = "\n".join(row[0] for row in connection.exec_driver_sql(f"EXPLAIN {reads[0][0]}", reads[0][1]))
    assert "Seq Scan" not in plan, plan
    assert "pk_standing_intent_anchors" in plan
