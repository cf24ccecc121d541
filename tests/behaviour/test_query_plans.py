"""The prefilter reads the full-text index first, whatever SQLite's planner knows or does not know."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import IntentService
from tests.behaviour.support import DAY, ON_FILE, OWNER, START, Clock, draft, load, said, statements


def plans(engine: Engine, service: IntentService, text: str) -> list[tuple[str, list[str]]]:
    """Match a turn and have SQLite explain every read of it: (statement, steps of its plan)."""
    with statements(engine) as seen:
        service.match(said(text, id=uuid.uuid4().hex))
    reads = [(sql, values) for sql, values in seen if sql.startswith("SELECT")]
    with engine.connect() as connection:
        return [
            (sql, [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)])
            for sql, values in reads
        ]


def analyse(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("ANALYZE")


def assert_index_first(engine: Engine, service: IntentService, *, reads: int) -> None:
    explained = plans(engine, service, "the deployment of own1017 begins")
    assert len(explained) == reads
    (plan,) = [steps for sql, steps in explained if "MATCH" in sql]
    assert plan[0].startswith("SCAN standing_intents_fts VIRTUAL TABLE INDEX"), plan
    assert plan[1].startswith("SEARCH standing_intents USING INTEGER PRIMARY KEY"), plan
    assert len(plan) == 2, "nothing is sorted either"
    for sql, steps in explained:
        for step in steps:
            assert not step.startswith("SCAN standing_intent") or "VIRTUAL TABLE" in step, (sql, steps)


@ON_FILE
def test_the_full_text_index_is_the_outer_loop_on_an_empty_table(service: IntentService, engine: Engine) -> None:
    assert_index_first(engine, service, reads=2)
    analyse(engine)
    assert_index_first(engine, service, reads=2)


@ON_FILE
def test_the_full_text_index_is_the_outer_loop_on_a_large_table(service: IntentService, engine: Engine) -> None:
    pattern = service.create(draft("deployment other"), by=OWNER)
    load(engine, service, pattern, [f"deployment own{n}" for n in range(1_000, 5_000)])
    assert_index_first(engine, service, reads=3)
    analyse(engine)
    assert_index_first(engine, service, reads=2)  # the one that fired cools down


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_a_sweep_reads_only_what_is_due(service: IntentService, engine: Engine, clock: Clock, analysed: bool) -> None:
    """Through the partial indexes of live and of fired rows, before and after ANALYZE."""
    pattern = service.create(draft(), by=OWNER)
    load(engine, service, pattern, [f"deployment own{n}" for n in range(1_000)])
    expiring = service.create(draft("expiring", expires_at=START + DAY), by=OWNER)
    service.match(said())
    if analysed:
        analyse(engine)
    clock.now = START + DAY
    with statements(engine) as seen:
        swept = service.sweep()
    assert (swept.expired, swept.rearmed) == (1, 1)
    assert service.get(expiring.id).status == "expired"
    reads: list[tuple[str, Any]] = [(sql, values) for sql, values in seen if sql.startswith("SELECT")]
    # The upkeep of the full-text index asks how large its segments are, in pages.
    reads = [(sql, values) for sql, values in reads if "total_changes" not in sql and "segid" not in sql]
    assert len(reads) >= 4
    with engine.connect() as connection:
        for sql, values in reads:
            plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
            access = [step for step in plan if "standing_intents" in step]
            assert access, plan
            for step in access:
                assert step.startswith("SEARCH"), (sql, plan)
                assert any(name in step for name in ("_live_expiry", "_fired_rearm", "INTEGER PRIMARY KEY")), (
                    sql,
                    plan,
                )
