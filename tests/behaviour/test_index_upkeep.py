"""The full-text index stays in few segments: FTS5 looks every word of a turn up in each of them."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Engine

from intents import IntentService
from tests.behaviour.support import DAY, ON_FILE, OWNER, START, Clock, draft, said, tell_index

HOUR = timedelta(hours=1)


def segments(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(
            connection.exec_driver_sql("SELECT count(DISTINCT segid) FROM standing_intents_fts_idx").scalar_one()
        )


def size(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT sum(length(block)) FROM standing_intents_fts_data").scalar_one())


@ON_FILE
def test_a_sweep_leaves_no_trace_of_retired_rows_in_the_index(
    service: IntentService, engine: Engine, clock: Clock
) -> None:
    """FTS5 only notes that a row is gone; a query passes over row and note until segments are merged."""
    drafts = [draft(f"deployment topic{n}", expires_at=START + (DAY if n % 2 else 2 * DAY)) for n in range(2_000)]
    service.create_many(drafts, by=OWNER)
    clock.advance(DAY)
    swept = 0
    while (result := service.sweep(limit=100)).expired:
        swept += result.expired
    assert swept == 1_000
    left = size(engine)
    tell_index(engine, "optimize")
    assert left <= 2 * size(engine)
    assert len(service.match(said("deployment topic4", id="m1"))) == 1
    assert not service.match(said("deployment topic5", id="m2"))


@ON_FILE
def test_many_small_sweeps_leave_few_segments(service: IntentService, engine: Engine, clock: Clock) -> None:
    """A merge that begins anew before it ended leaves its part behind as a segment: they became hundreds."""
    tell_index(engine, "pgsz", 64)  # small pages, so that a merge takes many sweeps
    service.create_many(
        [draft(f"deployment t{n}", expires_at=START + (1 + n // 5) * HOUR) for n in range(800)], by=OWNER
    )
    most = 0
    for _ in range(150):
        clock.advance(HOUR)
        assert service.sweep().expired == 5
        most = max(most, segments(engine))
    assert most <= 16
    assert not service.match(said("deployment t749"))
    assert len(service.match(said("deployment t750"))) == 1


@ON_FILE
def test_sweeps_end_what_they_began_to_merge(service: IntentService, engine: Engine, clock: Clock) -> None:
    tell_index(engine, "pgsz", 64)
    service.create_many([draft(f"deployment t{n}", expires_at=START + DAY) for n in range(300)], by=OWNER)
    service.create_many([draft(f"review t{n}", expires_at=START + (2 + n) * DAY) for n in range(300)], by=OWNER)
    for _ in range(40):
        clock.advance(DAY)
        service.sweep()
    assert segments(engine) <= 8


@ON_FILE
def test_creating_many_merges(service: IntentService, engine: Engine) -> None:
    service.create_many([draft(f"deployment t{n}") for n in range(2_000)], by=OWNER)
    assert segments(engine) == 1


@ON_FILE
def test_reindexing_merges(service: IntentService, engine: Engine) -> None:
    service.create_many([draft(f"deployment t{n}") for n in range(1_000)], by=OWNER)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE standing_intents SET analyzer_version = '0/0.0/en', anchors = 'a0ff'")
    after = None
    while (result := service.reindex(after=after, limit=250)).more:
        after = result.after
    assert segments(engine) <= 4
    assert len(service.match(said("deployment t7"))) == 1
