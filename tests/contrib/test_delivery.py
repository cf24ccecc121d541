"""Cancellations that come at the worst moments, between match and reply."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import IntentService, Status, Turn
from intents.contrib._delivery import Delivery, adelivering, delivering, to_the_end
from tests.contrib.conversation import LATER, OWNER, arm, turn


def lock(engine: Engine) -> sqlite3.Connection:
    connection = sqlite3.connect(str(engine.url.database), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def test_a_run_that_is_cancelled_while_it_waits_for_the_lock_spends_nothing(
    service: Any, store: IntentService, sqlite_engine: Engine
) -> None:
    intent = arm(store)
    reached = False

    async def run() -> None:
        nonlocal reached
        async with adelivering(Delivery(service, turn(LATER, "m2"))):
            reached = True

    async def body() -> None:
        rival = lock(sqlite_engine)
        task = asyncio.create_task(run())
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0)
        rival.rollback()
        rival.close()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
    assert not reached
    assert store.get(intent).fire_count == 0
    assert store.explain(turn(LATER, "m9"))[0].fires


def test_a_run_that_is_cancelled_after_the_commit_gives_back(
    service: Any, store: IntentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent = arm(store)
    committed = threading.Event()
    slow_down(service, committed, monkeypatch)

    async def run() -> None:
        async with adelivering(Delivery(service, turn(LATER, "m2"))):
            raise AssertionError("the model was called")

    async def body() -> None:
        task = asyncio.create_task(run())
        while not committed.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()  # once more, while the first one is being dealt with
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
    assert store.get(intent).status is Status.ARMED
    assert [(event.event, event.detail) for event in store.history(intent)[-2:]] == [
        ("fire", "release candidate"),
        ("release", "The run was cancelled."),
    ]


def slow_down(service: Any, committed: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a while pass between the commit of a match and its return."""
    match: Callable[..., Any] = service.match
    if isinstance(service, IntentService):

        def slowly(said: Turn, **options: Any) -> Any:
            matches = match(said, **options)
            committed.set()
            time.sleep(0.1)
            return matches

        monkeypatch.setattr(service, "match", slowly)
    else:

        async def awaited(said: Turn, **options: Any) -> Any:
            matches = await match(said, **options)
            committed.set()
            await asyncio.sleep(0.1)
            return matches

        monkeypatch.setattr(service, "match", awaited)


def test_a_reply_that_is_cancelled_while_it_is_confirmed_is_confirmed(service: Any, store: IntentService) -> None:
    intent = arm(store)
    delivered = asyncio.Event()

    async def run() -> None:
        async with adelivering(Delivery(service, turn(LATER, "m2"))):
            delivered.set()

    async def body() -> None:
        task = asyncio.create_task(run())
        await delivered.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"


def test_a_heartbeat_sweeps_and_owes_nothing(service: Any, store: IntentService) -> None:
    intent = arm(store)

    async def body() -> None:
        delivery = Delivery(service, Turn(text=LATER, identity=OWNER, kind="heartbeat"))
        async with adelivering(delivery):
            assert delivery.block is None

    asyncio.run(body())
    assert store.get(intent).fire_count == 0


def test_the_synchronous_way_is_the_same(store: IntentService) -> None:
    intent = arm(store)
    delivery = Delivery(store, turn(LATER, "m2"))
    with pytest.raises(ZeroDivisionError), delivering(delivery):
        _ = 1 / 0
    assert store.history(intent)[-1].detail == "The run failed with ZeroDivisionError."
    with delivering(delivery):
        delivery.outcome = "paused"
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "held"
    with delivering(Delivery(store, turn(LATER, "m2"))):
        pass
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"


def test_work_that_fails_after_a_cancellation_is_not_reported_as_forgotten() -> None:
    async def fail() -> None:
        await asyncio.sleep(0.05)
        raise OSError("gone")

    async def body() -> None:
        cancelled: list[bool] = []
        task = asyncio.create_task(to_the_end(fail(), on_cancel=lambda: cancelled.append(True)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cancelled == [True]

    asyncio.run(body())
