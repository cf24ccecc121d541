"""Every transaction mode that a host's pysqlite connection may be in: same behaviour, or a refusal with the remedy."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import QueuePool

from intents import (
    ConcurrentUpdate,
    Identity,
    IntentCreate,
    IntentRead,
    IntentService,
    Invocation,
    Limits,
    OwnerPolicy,
    Turn,
    UnsupportedDialect,
    metadata,
)

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
TURN = Turn(text="the release candidate is up", identity=OWNER, id="m1")


def _begin_by_event(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "connect")
    def _no_implicit_begin(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(statement)


def _legacy(url: str, **options: Any) -> Engine:
    return create_engine(url, **options)


def _legacy_immediate(url: str, **options: Any) -> Engine:
    options.setdefault("connect_args", {})["isolation_level"] = "IMMEDIATE"
    return create_engine(url, **options)


def _events_deferred(url: str, **options: Any) -> Engine:
    engine = create_engine(url, **options)
    _begin_by_event(engine, "BEGIN")
    return engine


def _events_immediate(url: str, **options: Any) -> Engine:
    engine = create_engine(url, **options)
    _begin_by_event(engine, "BEGIN IMMEDIATE")
    return engine


def _autocommit_false(url: str, **options: Any) -> Engine:
    options.setdefault("connect_args", {})["autocommit"] = False
    return create_engine(url, **options)


MODES: dict[str, Callable[..., Engine]] = {
    "legacy": _legacy,
    "legacy-immediate": _legacy_immediate,
    "events-begin": _events_deferred,
    "events-begin-immediate": _events_immediate,
}
if sys.version_info >= (3, 12):
    MODES["autocommit-false"] = _autocommit_false


@pytest.fixture(params=["delete", "wal"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "host.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {request.param}")
    connection.close()
    address = f"sqlite:///{path}"
    engine = create_engine(address)
    metadata.create_all(engine)
    engine.dispose()
    return address


@pytest.fixture
def make_engine(url: str) -> Iterator[Callable[..., Engine]]:
    """Makes engines on the host's file and disposes of them."""
    made: list[Engine] = []

    def make(mode: Callable[..., Engine] = _legacy, **options: Any) -> Engine:
        made.append(mode(url, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture(params=sorted(MODES))
def engine(request: pytest.FixtureRequest, make_engine: Callable[..., Engine]) -> Engine:
    return make_engine(MODES[request.param], poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=1)


def service_of(engine: Engine, **limits: Any) -> IntentService:
    return IntentService(
        sessionmaker(engine),
        owners=OwnerPolicy(["slack:U1"]),
        limits=Limits(cooldown=timedelta(0), lock_wait=timedelta(milliseconds=300), **limits),
    )


def rc(service: IntentService, **fields: Any) -> IntentRead:
    return service.create(
        IntentCreate(description="Confirm the rollback owner", trigger_keywords=["release candidate"], **fields),
        by=OWNER,
    )


@pytest.fixture
def rival(url: str) -> Iterator[sqlite3.Connection]:
    """Another program's connection that holds the write lock."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=5)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_an_intent_fires_once_and_is_done(engine: Engine) -> None:
    service = service_of(engine)
    intent = rc(service, max_fires=1)
    assert [match.intent.id for match in service.match(TURN)] == [intent.id]
    assert service.match(TURN).duplicate
    assert service.get(intent.id).status == "done"


def test_a_rollback_of_the_host_spends_nothing(engine: Engine) -> None:
    service = service_of(engine)
    intent = rc(service, max_fires=1)
    with Session(engine) as session:
        assert service.using(session).match(TURN)
        session.rollback()
    assert service.get(intent.id).fire_count == 0
    assert service.match(TURN)
    assert service.get(intent.id).fire_count == 1


def test_an_outer_rollback_of_a_nested_transaction_spends_nothing_or_is_refused_up_front(engine: Engine) -> None:
    service = service_of(engine)
    intent = rc(service, max_fires=1)
    with Session(engine) as session:
        with session.begin_nested():
            try:
                assert service.using(session).match(TURN)
            except UnsupportedDialect as refusal:
                assert "begin_nested" in str(refusal)
        session.rollback()
    assert service.get(intent.id).fire_count == 0
    assert service.history(intent.id)[-1].event == "arm"


def test_the_lock_is_taken_before_our_savepoint_in_a_transaction_that_has_only_read(engine: Engine) -> None:
    service = service_of(engine)
    intent = rc(service, max_fires=1)
    with Session(engine) as session:
        session.execute(text("SELECT count(*) FROM standing_intents")).all()
        assert service.using(session).match(TURN)
        session.rollback()
    assert service.get(intent.id).fire_count == 0


def test_a_lock_held_elsewhere_is_waited_for_no_longer_than_the_limit(
    engine: Engine, rival: sqlite3.Connection, url: str
) -> None:
    rival.execute("ROLLBACK")
    service = service_of(engine)
    rc(service)
    rival.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    matches = service.match(TURN)
    assert (len(matches), matches.skipped) == (0, "busy")
    with pytest.raises(ConcurrentUpdate) as lost:
        rc(service, language="und")
    assert not lost.value.transaction_lost
    assert time.monotonic() - started < 5
    rival.execute("ROLLBACK")
    assert len(service.match(TURN)) == 1, "the pool's only connection is usable and nothing was spent"


def test_the_shorter_deadline_of_the_invocation_bounds_the_wait(engine: Engine, rival: sqlite3.Connection) -> None:
    rival.execute("ROLLBACK")
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]))
    intent = rc(service)
    rival.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    matches = service.match(TURN, invocation=Invocation.after(0.3))
    assert (len(matches), matches.skipped) == (0, "deadline")
    assert time.monotonic() - started < 1.9, "the limit alone would have waited two seconds"
    rival.execute("ROLLBACK")
    assert service.get(intent.id).fire_count == 0


@pytest.mark.parametrize("engine", sorted(MODES.keys() - {"events-begin-immediate"}), indirect=True)
def test_a_miss_takes_no_lock(engine: Engine, rival: sqlite3.Connection) -> None:
    rival.execute("ROLLBACK")
    service = service_of(engine)
    rc(service)
    rival.execute("BEGIN IMMEDIATE")
    matches = service.match(Turn(text="nothing of the kind", identity=OWNER, id="m9"))
    rival.execute("ROLLBACK")
    assert (len(matches), matches.skipped) == (0, None)


@pytest.mark.parametrize("engine", ["events-begin-immediate"], indirect=True)
def test_an_engine_that_locks_even_to_read_is_not_waited_for_beyond_the_limit(
    engine: Engine, rival: sqlite3.Connection
) -> None:
    rival.execute("ROLLBACK")
    service = service_of(engine)
    intent = rc(service)
    rival.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    assert service.match(Turn(text="nothing of the kind", identity=OWNER)).skipped == "busy"
    with pytest.raises(ConcurrentUpdate):
        service.get(intent.id)
    assert time.monotonic() - started < 4
    rival.execute("ROLLBACK")


def test_the_time_out_of_the_host_is_as_before(engine: Engine) -> None:
    def busy_timeout() -> int:
        with engine.connect() as connection:
            return int(connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one())

    before = busy_timeout()
    service = service_of(engine)
    rc(service)
    assert service.match(TURN)
    assert not service.match(Turn(text="nothing", identity=OWNER))
    service.sweep()
    with Session(engine) as session:
        service.using(session).match(Turn(text="release candidate", identity=OWNER, id="m2"))
        session.commit()
    assert busy_timeout() == before


def test_a_snapshot_that_another_writer_made_old_is_a_lost_race(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(_events_deferred)
    service = service_of(engine)
    rc(service)
    with engine.connect() as connection:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
            return  # only WAL readers keep a snapshot; in the rollback journal the rival could not have committed
    with Session(engine) as session:
        session.execute(text("SELECT count(*) FROM standing_intents")).all()
        rc(service_of(make_engine()), language="und")
        with pytest.raises(ConcurrentUpdate) as lost:
            service.using(session).match(TURN)
        assert lost.value.transaction_lost
        session.rollback()
        assert service.using(session).match(TURN)
        session.commit()


def test_threads_that_share_an_engine_fire_within_the_budget(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(connect_args={"timeout": 30})
    service = IntentService(
        sessionmaker(engine),
        owners=OwnerPolicy(["slack:U1"]),
        limits=Limits(cooldown=timedelta(0), lock_wait=timedelta(seconds=30)),
    )
    intent = rc(service, max_fires=5)
    fired: list[int] = []

    def talk(number: int) -> None:
        turns = [Turn(text="release candidate", identity=OWNER, id=f"{number}-{each}") for each in range(10)]
        fired.append(sum(len(service.match(turn)) for turn in turns))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(fired) == 5
    assert service.get(intent.id).status == "done"


def test_an_engine_that_commits_each_statement_is_refused_with_the_remedy(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(isolation_level="AUTOCOMMIT")
    with pytest.raises(UnsupportedDialect, match="AUTOCOMMIT"):
        rc(service_of(engine))
    assert service_of(make_engine()).list() == []
