"""The asynchronous service: the same answers, a loop that stays alive, nothing lost when a task is cancelled."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine

from intents import (
    AsyncIntentService,
    AsyncPromptHook,
    Identity,
    IntentCreate,
    Invocation,
    Limits,
    NotAuthorized,
    OwnerPolicy,
    Turn,
    metadata,
)

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
RC = IntentCreate(description="Confirm the rollback owner", trigger_keywords=["release candidate"], max_fires=2)
DRIVERS = ["sqlite+aiosqlite", "postgresql+psycopg", "postgresql+asyncpg"]


def say(text: str, turn_id: str | None = None, **fields: Any) -> Turn:
    return Turn(text=text, identity=OWNER, id=turn_id, **fields)


@pytest.fixture(params=DRIVERS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite+aiosqlite":
        plain = f"sqlite:///{tmp_path / 'intents.db'}"
    else:
        plain = request.getfixturevalue("postgresql_url")
    engine = create_engine(plain)
    metadata.create_all(engine)
    engine.dispose()
    return request.param + plain[plain.index("://") :]


Body = Callable[[AsyncIntentService, AsyncEngine], Awaitable[None]]


def run(url: str, body: Body, **options: Any) -> None:
    """Run one asynchronous test on a service of its own."""

    async def main() -> None:
        engine = create_async_engine(url)
        try:
            options.setdefault("limits", Limits(cooldown=timedelta(0)))
            await body(
                AsyncIntentService(async_sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), **options), engine
            )
        finally:
            await engine.dispose()

    asyncio.run(main())


def test_a_whole_life(url: str) -> None:
    async def body(service: AsyncIntentService, _engine: AsyncEngine) -> None:
        intent = await service.create(RC, by=OWNER)
        assert not await service.match(say("nothing of the kind"))
        first = await service.match(say("the release candidate is up", "m1"))
        assert [match.intent.id for match in first] == [intent.id]
        assert (await service.match(say("the release candidate is up", "m1"))).duplicate
        assert (await service.explain(say("nothing")))[0].rule == "keywords"
        held = await service.match(say("release candidate", "m2"), hold=True)
        assert len(held) == 1
        assert await service.release(say("", "m2"), reason="suppressed") == 1
        assert await service.match(say("release candidate", "m2"), hold=True)
        assert await service.confirm(say("", "m2")) == 1
        assert (await service.get(intent.id)).status == "done"
        events = [line.event for line in await service.history(intent.id)]
        assert events == ["create", "arm", "fire", "rearm", "fire", "release", "fire", "complete"]
        assert await service.list(live=True) == []
        assert (await service.sweep()).expired == 0

    run(url, body)


def test_a_factory_without_autobegin(url: str) -> None:
    async def body(_service: AsyncIntentService, engine: AsyncEngine) -> None:
        service = AsyncIntentService(async_sessionmaker(engine, autobegin=False), owners=OwnerPolicy(["slack:U1"]))
        intent = await service.create(RC, by=OWNER)
        assert [match.intent.id for match in await service.match(say("release candidate", "m1"))] == [intent.id]
        assert (await service.get(intent.id)).fire_count == 1

    run(url, body)


def test_errors_are_the_same(url: str) -> None:
    async def body(service: AsyncIntentService, _engine: AsyncEngine) -> None:
        with pytest.raises(NotAuthorized):
            await service.create(RC, by=Identity(provider="slack", sender_id="stranger"))

    run(url, body)


def test_results_are_plain_values_after_the_session_is_gone(url: str) -> None:
    async def body(service: AsyncIntentService, engine: AsyncEngine) -> None:
        await service.create(RC, by=OWNER)
        async with async_sessionmaker(engine, expire_on_commit=True)() as session:
            matches = await session.run_sync(lambda sync: service.using(sync).match(say("release candidate", "m1")))
            await session.commit()
        assert matches.context is not None
        assert matches[0].intent.status == "fired"
        assert matches[0].intent.description == "Confirm the rollback owner"

    run(url, body, limits=Limits())


def test_the_hook_sweeps_on_a_heartbeat_and_matches_on_a_turn(url: str) -> None:
    async def body(service: AsyncIntentService, _engine: AsyncEngine) -> None:
        await service.create(RC, by=OWNER)
        hook = AsyncPromptHook(service)
        assert await hook.before_prompt(say("release candidate", kind="heartbeat"), Invocation.after(5)) is None
        assert await hook.before_prompt(say("release candidate"), None) is None
        block = await hook.before_prompt(say("release candidate"), Invocation.after(5))
        assert block is not None
        assert "Confirm the rollback owner" in block

    run(url, body)


@pytest.mark.parametrize("url", ["sqlite+aiosqlite"], indirect=True)
def test_the_loop_stays_alive_while_another_process_holds_the_lock(url: str) -> None:
    async def body(service: AsyncIntentService, _engine: AsyncEngine) -> None:
        await service.create(RC, by=OWNER)
        rival = sqlite3.connect(url.partition(":///")[2], isolation_level=None)
        rival.execute("BEGIN IMMEDIATE")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        started = time.monotonic()
        matches = await service.match(say("release candidate", "m1"), invocation=Invocation.after(0.3))
        elapsed = time.monotonic() - started
        ticking.cancel()
        rival.close()
        assert (len(matches), matches.skipped) == (0, "deadline")
        assert elapsed < 1.9, "the shorter of deadline and limit bounds the wait"
        assert ticks >= 5
        assert len(await service.match(say("release candidate", "m1"))) == 1

    run(url, body)


def test_a_task_cancelled_before_its_commit_spends_nothing_and_one_cancelled_in_it_is_answered_on_retry(
    url: str,
) -> None:
    async def body(service: AsyncIntentService, engine: AsyncEngine) -> None:
        intent = await service.create(RC, by=OWNER)
        running: list[asyncio.Task[Any]] = []

        def cancel_now(*_: Any) -> None:
            for task in running:
                task.get_loop().call_soon_threadsafe(task.cancel)

        for statement, spent in (("SELECT", 0), ("COMMIT", 1)):
            moment = "commit" if statement == "COMMIT" else "before_cursor_execute"
            event.listen(engine.sync_engine, moment, cancel_now)
            running.append(asyncio.create_task(service.match(say("release candidate", "m1"))))
            with pytest.raises(asyncio.CancelledError):
                await running[0]
            event.remove(engine.sync_engine, moment, cancel_now)
            running.clear()
            assert (await service.get(intent.id)).fire_count == spent, statement
        again = await service.match(say("release candidate", "m1"))
        assert (len(again), again.duplicate) == (1, True)
        assert (await service.get(intent.id)).fire_count == 1

    run(url, body)


def test_many_tasks_fire_within_the_budget(url: str) -> None:
    async def body(service: AsyncIntentService, _engine: AsyncEngine) -> None:
        intent = await service.create(RC, by=OWNER)
        answers = await asyncio.gather(*(service.match(say("release candidate", f"m{number}")) for number in range(12)))
        assert sum(len(answer) for answer in answers) == 2
        assert {answer.skipped for answer in answers} == {None}
        assert (await service.get(intent.id)).status == "done"

    run(url, body, limits=Limits(cooldown=timedelta(0), lock_wait=timedelta(seconds=30)))
