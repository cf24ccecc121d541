"""The prefilter reads the full-text index first, whatever SQLite's planner knows or does not know."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from intents import IntentService
from tests.behaviour.support import DAY, ON_FILE, OWNER, START, Clock, draft, load, said, statements


def plans(engine: Engine, service: IntentService, text: str) -> list[tuple[str, list[str]]]:
    """Match a turn and have SQLite explain every read of it: (statement, steps of its plan)."""
    with statements(engine) as seen:
        service.match(said(text, id="m1"))
    reads = [(sql, values) for sql, values in seen if sql.startswith("SELECT")]
    with engine.connect() as connection:
        return [
            (sql, [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)])
            for sql, values in reads
        ]


@ON_FILE
@pytest.mark.parametrize("size", [0, 5_000])
@pytest.mark.parametrize("analysed", [False, True])
def test_the_full_text_index_is_the_outer_loop(
    service: IntentService, engine: Engine, size: int, analysed: bool
) -> None:
    if size:
        pattern = service.create(draft("deployment own0"), by=OWNER)
        load(engine, service, pattern, [f"deployment own{n}" for n in range(1, size)])
    if analysed:
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    explained = plans(engine, service, "the deployment of own17 begins")
    (plan,) = [steps for sql, steps in explained if "MATCH" in sql]
    assert plan[0].startswith("SCAN standing_intents_fts VIRTUAL TABLE INDEX"), plan
    assert plan[1].startswith("SEARCH standing_intents USING INTEGER PRIMARY KEY"), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
    assert len(plan) == 2, plan


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_no_read_of_a_turn_scans_the_rows(service: IntentService, engine: Engine, analysed: bool) -> None:
    pattern = service.create(draft("deployment own0"), by=OWNER)
    load(engine, service, pattern, [f"deployment own{n}" for n in range(1, 5_000)])
    if analysed:
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    explained = plans(engine, service, "the deployment of own17 begins")
    assert len(explained) >= 3
    for sql, plan in explained:
        for step in plan:
            assert not step.startswith("SCAN standing_intent") or "VIRTUAL TABLE" in step, (sql, plan)


@ON_FILE
@pytest.mark.parametrize("analysed", [False, True])
def test_a_sweep_reads_only_what_is_due(service: IntentService, engine: Engine, clock: Clock, analysed: bool) -> None:
    """Through the partial indexes of live and of fired rows, before and after ANALYZE."""
    pattern = service.create(draft(), by=OWNER)
    load(engine, service, pattern, [f"deployment own{n}" for n in range(2_000)])
    expiring = service.create(draft("expiring", expires_at=START + DAY), by=OWNER)
    service.match(said())
    if analysed:
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    clock.now = START + DAY
    with statements(engine) as seen:
        swept = service.sweep()
    assert (swept.expired, swept.rearmed) == (1, 1)
    assert service.get(expiring.id).status == "expired"
    reads: list[tuple[str, Any]] = [(sql, values) for sql, values in seen if sql.startswith("SELECT")]
    assert len(reads) >= 4
    with engine.connect() as connection:
        for sql, values in reads:
            plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
            access = [step for step in plan if "standing_intents" in step]
            assert access, plan
            for step in access:
                assert step.startswith("SEARCH"), (sql, plan)
                assert any(name in step for name in ("_live_expiry", "_fired_rearm", "INTEGER PRIMARY KEY")), (sql, plan)
