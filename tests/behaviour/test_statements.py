"""What a call costs the database, counted in statements: a guard against slow change that needs no clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from intents import IntentService
from tests.behaviour.support import DAY, ON_SQLITE, OWNER, Clock, draft, said, statements, writes_or_locks

#: PostgreSQL reads and sets ``lock_timeout`` in each write transaction; SQLite's lock is a statement of its own.
LOCKING = {"sqlite": 1, "postgresql": 2}


def cost(engine: Engine, call: Callable[[], object]) -> list[str]:
    """The statements of one call; the first one may have met caches that were still cold."""
    with statements(engine) as seen:
        call()
    return [sql for sql, _ in seen]


def locking(engine: Engine) -> int:
    return LOCKING[engine.dialect.name]


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("words", [1, 30, 100])
def test_a_turn_without_a_hit_reads_twice(service: IntentService, engine: Engine, rows: int, words: int) -> None:
    service.create_many(
        [draft(f"deployment topic{number}", description=f"{number}") for number in range(rows)], by=OWNER
    )
    turn = said(" ".join(["deployment", *(f"word{number}" for number in range(words - 1))]), id="m1")
    seen = cost(engine, lambda: service.match(turn))
    assert len(seen) == 2
    assert not any(map(writes_or_locks, seen))


@ON_SQLITE
def test_a_long_turn_asks_once_for_each_250_terms(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    turn = said(" ".join(f"{number}" for number in range(1_000)), id="m1")
    assert len(cost(engine, lambda: service.match(turn))) <= 1 + 2_000 / 250


def test_rows_that_cool_down_cost_a_turn_nothing(service: IntentService, engine: Engine) -> None:
    for number in range(3):
        service.create(draft(description=f"Reminder {number}"), by=OWNER)
    assert len(service.match(said(id="m1"))) == 3
    seen = cost(engine, lambda: service.match(said(id="m2")))
    assert len(seen) == 2
    assert not any(map(writes_or_locks, seen))


@pytest.mark.parametrize("fires", [1, 3])
def test_a_hit_costs_seven_statements_besides_the_lock(service: IntentService, engine: Engine, fires: int) -> None:
    service.create_many([draft(description=f"Reminder {number}") for number in range(fires)], by=OWNER)
    seen = cost(engine, lambda: service.match(said(id="m1")))
    # Look, probe; rows, turn, firings, log, and the rows' new state: one statement, or one each by the driver.
    updates = [sql for sql in seen if sql.startswith("UPDATE standing_intents SET status")]
    assert 1 <= len(updates) <= fires
    assert len(seen) - len(updates) == 6 + locking(engine)


def test_the_last_fire_costs_one_more(service: IntentService, engine: Engine) -> None:
    service.create(draft(max_fires=1), by=OWNER)
    seen = cost(engine, lambda: service.match(said(id="m1")))
    retired = engine.dialect.name == "postgresql"  # the anchors of the retired row
    assert len(seen) == 7 + locking(engine) + 2 + retired


def test_a_repeated_turn_takes_no_lock(service: IntentService, engine: Engine) -> None:
    service.create(draft(cooldown=timedelta(0)), by=OWNER)
    service.match(said(id="m1"))
    seen = cost(engine, lambda: service.match(said(id="m1")))
    assert len(seen) == 4
    assert not any(map(writes_or_locks, seen))


def test_a_sweep_with_nothing_due_takes_no_lock(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    seen = cost(engine, service.sweep)
    assert len(seen) <= 3
    assert not any(map(writes_or_locks, seen))


def test_a_sweep_costs_the_same_however_many_are_due(service: IntentService, engine: Engine, clock: Clock) -> None:
    costs = []
    for due in (1, 200):
        service.create_many([draft(description=f"{due}/{number}") for number in range(due)], by=OWNER)
        clock.advance(91 * DAY)
        costs.append(len(cost(engine, lambda: service.sweep(limit=1_000))))
    assert costs[0] == costs[1]


@pytest.mark.parametrize("keyword", ["release", "the release candidate of the week"])
def test_creating_costs_six_statements_at_most_besides_the_lock(
    service: IntentService, engine: Engine, keyword: str
) -> None:
    seen = cost(engine, lambda: service.create(draft(keyword), by=OWNER))
    savepoint = 2 * (engine.dialect.name == "postgresql")
    assert len(seen) <= 6 + locking(engine) + savepoint


def test_creating_many_costs_hardly_more_statements(service: IntentService, engine: Engine) -> None:
    costs = [
        len(cost(engine, lambda: service.create_many([draft(f"{many} topic{n}") for n in range(many)], by=OWNER)))  # noqa: B023
        for many in (2, 200)
    ]
    assert costs[1] <= costs[0] + 2
