"""A turn whose invocation is over spends nothing, however far it had come, and never waits longer than it may."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from intents import IntentService, Invocation, InvocationExpired, Limits, Matches
from tests.behaviour.support import (
    ON_FILE,
    OWNER,
    SHARED,
    answer_of,
    at_statement,
    between_look_and_lock,
    draft,
    ids,
    said,
    statements,
    written,
)


@contextmanager
def somebody_holds_the_lock(engine: Engine) -> Iterator[None]:
    """Another connection is in the middle of writing the same rows."""
    with engine.connect() as rival:
        if engine.dialect.name == "sqlite":
            rival.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            rival.exec_driver_sql("SELECT 1 FROM standing_intents FOR UPDATE")
        yield
        rival.rollback()


# The invocation


def test_an_invocation_without_a_deadline_lasts() -> None:
    invocation = Invocation()
    assert invocation.remaining() is None
    invocation.assert_active()


def test_an_invocation_ends_at_its_deadline() -> None:
    invocation = Invocation(time.monotonic() - 1)
    assert invocation.remaining() == 0.0
    with pytest.raises(InvocationExpired) as ended:
        invocation.assert_active()
    assert ended.value.cause == "deadline"
    lasting = Invocation.after(60)
    assert 59 < (lasting.remaining() or 0) <= 60
    lasting.assert_active()


def test_an_invocation_ends_when_it_is_cancelled() -> None:
    invocation = Invocation.after(60)
    invocation.cancel()
    assert invocation.remaining() == 0.0
    with pytest.raises(InvocationExpired) as ended:
        invocation.assert_active()
    assert ended.value.cause == "cancelled"


# What comes too late


def over(cause: str) -> Invocation:
    invocation = Invocation(time.monotonic() - 1) if cause == "deadline" else Invocation.after(60)
    if cause == "cancelled":
        invocation.cancel()
    return invocation


@pytest.mark.parametrize("cause", ["deadline", "cancelled"])
def test_a_turn_that_is_too_late_before_it_begins_is_skipped(
    service: IntentService, engine: Engine, caplog: pytest.LogCaptureFixture, cause: str
) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    with caplog.at_level(logging.WARNING, "intents"):
        assert service.match(said(id="m1"), invocation=over(cause)) == Matches(skipped=cause)
    assert len(caplog.records) == 1, "logged once"
    assert written(engine) == before
    assert service.match(said(id="m1"), invocation=Invocation.after(60)), "the turn may come again"


@pytest.mark.parametrize("hold", [False, True])
def test_a_turn_cancelled_at_any_statement_spends_nothing(
    service: IntentService, engine: Engine, caplog: pytest.LogCaptureFixture, hold: bool
) -> None:
    intents = [service.create(draft(description=f"Reminder {n}", max_fires=1), by=OWNER).id for n in range(2)]
    with statements(engine) as seen:
        assert service.match(said(id="m0"), hold=True)
    service.release(said(id="m0"))
    before = written(engine)
    for number in range(len(seen)):
        invocation = Invocation.after(60)
        caplog.clear()
        with (
            at_statement(engine, lambda n, _, number=number: n == number, invocation.cancel) as met,
            caplog.at_level(logging.WARNING, "intents"),
        ):
            answer = service.match(said(id="m1"), invocation=invocation, hold=hold)
        if not met:
            break
        assert answer == Matches(skipped="cancelled"), met
        assert written(engine) == before, met
        assert len(caplog.records) == 1
    else:
        assert len(seen) > 5
    service.match(said(id="m2"))
    assert [service.get(each).fire_count for each in intents] == [1, 1]


def test_in_a_hosts_transaction_a_turn_cancelled_at_any_statement_leaves_nothing_to_commit(
    service: IntentService, engine: Engine
) -> None:
    service.create(draft(max_fires=1), by=OWNER)
    before = written(engine)
    for number in range(100):
        invocation = Invocation.after(60)
        with (
            Session(engine) as session,
            at_statement(engine, lambda n, _, number=number: n == number, invocation.cancel) as met,
        ):
            answer = service.using(session).match(said(id="m1"), invocation=invocation)
            if not answer:
                assert answer.skipped == "cancelled"
                session.commit()
                assert written(engine) == before, met
                continue
            # All is written and checked; what is left is to close the savepoint. The host may check once more itself.
            assert met == [] or met[0].startswith("RELEASE"), met
            session.rollback()
            break
    assert number > 5


@SHARED
def test_a_turn_cancelled_between_look_and_lock_is_skipped(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    invocation = Invocation.after(60)
    with between_look_and_lock(engine, invocation.cancel):
        assert service.match(said(id="m1"), invocation=invocation).skipped == "cancelled"
    assert written(engine) == before


def test_a_miss_needs_no_time(service: IntentService) -> None:
    service.create(draft(), by=OWNER)
    assert answer_of(service.match(said("hello"), invocation=Invocation.after(30))) == Matches()


# A lock that somebody else holds


@SHARED
def test_a_lock_held_beyond_the_deadline_is_not_waited_for_any_longer(
    service: IntentService, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    with somebody_holds_the_lock(engine), caplog.at_level(logging.WARNING, "intents"):
        began = time.monotonic()
        answer = service.match(said(id="m1"), invocation=Invocation.after(0.3))
        waited = time.monotonic() - began
    assert answer == Matches(skipped="deadline")
    assert 0.2 < waited < 1.5, "the deadline is shorter than the limit of two seconds"
    assert len(caplog.records) == 1
    assert written(engine) == before
    assert service.match(said(id="m1"), invocation=Invocation.after(60))


@SHARED
def test_a_lock_held_beyond_the_limit_is_busy(make_service: Callable[..., Any], engine: Engine) -> None:
    service = make_service(limits=Limits(lock_wait=timedelta(milliseconds=200)))
    service.create(draft(), by=OWNER)
    before = written(engine)
    for invocation in (None, Invocation.after(60)):
        with somebody_holds_the_lock(engine):
            began = time.monotonic()
            assert service.match(said(id="m1"), invocation=invocation) == Matches(skipped="busy")
            assert time.monotonic() - began < 1.5
    assert written(engine) == before


@SHARED
def test_a_lock_given_back_in_time_is_taken(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft(), by=OWNER)
    with somebody_holds_the_lock(engine):
        pass
    assert ids(service.match(said(id="m1"), invocation=Invocation.after(60))) == [intent.id]


@ON_FILE
def test_a_lock_held_by_another_process_is_not_waited_for_beyond_the_deadline(
    service: IntentService, engine: Engine
) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    program = """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        print("held", flush=True)
        sys.stdin.read()
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(engine.url.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        began = time.monotonic()
        assert service.match(said(id="m1"), invocation=Invocation.after(0.3)).skipped == "deadline"
        assert time.monotonic() - began < 1.5
        holder.communicate("")
    assert written(engine) == before
    assert service.match(said(id="m1"), invocation=Invocation.after(60))


# What is the host's stays the host's


@ON_FILE
def test_the_busy_timeout_is_as_before_after_every_call(
    make_service: Callable[..., Any], engine: Engine, engine_factory: Callable[..., Engine]
) -> None:
    options = {"module": engine.dialect.dbapi} if "pysqlite3" in str(engine.dialect.dbapi) else {}
    patient = engine_factory(engine.url, connect_args={"timeout": 7.5}, pool_size=1, max_overflow=0, **options)

    def busy_timeout() -> int:
        with patient.connect() as connection:
            return connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()

    service = make_service(sessions=sessionmaker(patient), limits=Limits(lock_wait=timedelta(milliseconds=50)))
    assert busy_timeout() == 7500
    service.create(draft(), by=OWNER)
    service.match(said(id="m1"), invocation=Invocation.after(5), hold=True)
    service.match(said("hello"))
    service.confirm(said(id="m1"))
    service.sweep()
    with engine.connect() as rival:
        rival.exec_driver_sql("BEGIN IMMEDIATE")
        assert answer_of(service.match(said("hello"), invocation=Invocation.after(0.05))) == Matches()
        with pytest.raises(Exception, match="locked"):
            service.create(draft("another"), by=OWNER)
    assert busy_timeout() == 7500
