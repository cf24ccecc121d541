"""Whoever locks a turn has locked its intents before, in key order: no two calls wait for each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.orm import sessionmaker

from intents import ConcurrentUpdate, IntentService, Limits, StandingIntent
from intents.repository import creation
from tests.behaviour.support import (
    DAY,
    HOUR,
    ON_POSTGRESQL,
    OWNER,
    SHARED,
    Clock,
    at_statement,
    count_of,
    draft,
    ids,
    said,
)

HOLD = timedelta(minutes=10)


def deadlocks(engine: Engine) -> int:
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_clear_snapshot()"))
        return connection.execute(
            text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        ).scalar_one()


def at_the_same_moment(engine: Engine, first: Callable[[], Any], second: Callable[[], Any], nth: int) -> list[Any]:
    """Run the first call, stop it before its nth statement until the second one has begun, and let both go."""
    begun, results = threading.Event(), []
    me = threading.get_ident()
    count = 0

    def pause(*_: object) -> None:
        nonlocal count
        if threading.get_ident() != me:
            begun.set()
            return
        count += 1
        if count == nth:
            other.start()
            begun.wait(5)
            time.sleep(0.15)

    other = threading.Thread(target=lambda: results.append(second()))
    event.listen(engine, "before_cursor_execute", pause)
    try:
        results.append(first())
    finally:
        event.remove(engine, "before_cursor_execute", pause)
        if other.ident is not None:
            other.join(30)
    return results


@ON_POSTGRESQL
@pytest.mark.parametrize("rival", ["sweep", "release", "the same turn", "another turn"])
@pytest.mark.parametrize("nth", range(3, 14))
def test_a_lapsed_hold_is_fired_again_beside_anything_without_a_deadlock(
    service: IntentService, engine: Engine, clock: Clock, rival: str, nth: int
) -> None:
    for number in range(3):
        service.create(draft(description=f"Reminder {number}", cooldown=timedelta(0), max_fires=100), by=OWNER)
    service.match(said(id="held"), hold=True)
    clock.advance(HOLD)
    before = deadlocks(engine)
    calls: dict[str, Callable[[], Any]] = {
        "sweep": service.sweep,
        "release": lambda: service.release(said(id="held")),
        "the same turn": lambda: service.match(said(id="held"), hold=True),
        "another turn": lambda: service.match(said(id="other"), hold=True),
    }
    began = time.monotonic()
    at_the_same_moment(engine, lambda: service.match(said(id="held"), hold=True), calls[rival], nth)
    assert deadlocks(engine) == before
    assert time.monotonic() - began < 30


def rivals_create(monkeypatch: pytest.MonkeyPatch, mine: IntentService, rival: IntentService, times: int) -> None:
    """Let a rival create another of the drafts each time between the look for twins and the insert."""
    choose, numbers = creation.choose_anchors_of, iter(range(1, times + 1))

    def between(work: Any, triggers: Any) -> None:
        if work.settings is mine.settings and (number := next(numbers, None)) is not None:
            rival.create(draft(f"word{number}"), by=OWNER)
        choose(work, triggers)

    monkeypatch.setattr(creation, "choose_anchors_of", between)


@ON_POSTGRESQL
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_rivals_that_create_the_same_are_found_however_many_they_are(
    make_service: Callable[..., IntentService],
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    isolation: str,
    times: int,
) -> None:
    strict = create_engine(engine.url, isolation_level=isolation)
    service, rival = make_service(sessions=sessionmaker(strict)), make_service()
    rivals_create(monkeypatch, service, rival, times)
    made = service.create_many([draft(f"word{number}") for number in range(1, 5)], by=OWNER)
    assert sorted(ids(made)) == sorted(ids(rival.list()))
    assert count_of(engine, StandingIntent) == 4
    strict.dispose()


@ON_POSTGRESQL
def test_in_a_hosts_transaction_the_race_is_named(
    make_service: Callable[..., IntentService], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make_service()
    rivals_create(monkeypatch, service, make_service(), 2)
    with sessionmaker(engine)() as session, pytest.raises(ConcurrentUpdate):
        service.using(session).create_many([draft("word1"), draft("word2")], by=OWNER)


@SHARED
@pytest.mark.parametrize("call", ["activity", "confirm", "release", "sweep", "statistics", "match again"])
def test_a_prune_at_any_statement_takes_nothing_from_a_call(
    make_service: Callable[..., IntentService], engine: Engine, clock: Clock, call: str
) -> None:
    calls: dict[str, Callable[[IntentService], Any]] = {
        "activity": lambda service: service.activity(),
        "statistics": lambda service: service.statistics(),
        "confirm": lambda service: service.confirm(said(id="held")),
        "release": lambda service: service.release(said(id="held")),
        "sweep": lambda service: service.sweep(),
        "match again": lambda service: service.match(said(id="held"), hold=True),
    }
    for number in range(40):
        short = Limits(lock_wait=timedelta(milliseconds=30))
        service, rival = make_service(agent_id=f"a{number}"), make_service(agent_id=f"a{number}", limits=short)
        done = service.create(draft("done", max_fires=1), by=OWNER)
        held = service.create(draft(), by=OWNER)
        service.match(said("done", id="m1"))
        service.match(said(id="held"), hold=True)
        if call in ("sweep", "match again"):
            clock.advance(HOLD)

        def meanwhile(rival: IntentService = rival, held: str = held.id) -> None:
            for act in (
                lambda: rival.cancel(held, by=OWNER),
                lambda: rival.prune(before=clock.now + DAY),
            ):
                try:
                    act()
                except ConcurrentUpdate:
                    return  # the call holds the lock already

        with at_statement(engine, lambda n, _, number=number: n == number, meanwhile) as met:
            calls[call](service)
        clock.advance(HOUR)
        if not met:
            break
    assert number >= 2
    with engine.connect() as connection:
        orphans = connection.execute(
            text(
                "SELECT count(*) FROM standing_intent_turns t WHERE NOT EXISTS "
                "(SELECT 1 FROM standing_intent_firings f WHERE f.turn_key = t.key)"
            )
        ).scalar_one()
    assert orphans == 0, "a turn goes with the last intent that it fired"
    assert done.id
