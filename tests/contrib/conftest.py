"""One store, seen through a synchronous and an asynchronous service."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import NullPool

from intents import AsyncIntentService, IntentService, Limits, OwnerPolicy
from intents.testing import FrozenClock

OWNERS = OwnerPolicy(["slack:U1"])
LIMITS = Limits(cooldown=timedelta(hours=1), lock_wait=timedelta(milliseconds=200))


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def store(sqlite_engine: Engine, clock: FrozenClock) -> IntentService:
    """The synchronous service; tests look through it whatever the framework was given."""
    return IntentService(sessionmaker(sqlite_engine), owners=OWNERS, limits=LIMITS, clock=clock)


@pytest.fixture
def async_service(sqlite_engine: Engine, clock: FrozenClock) -> Iterator[AsyncIntentService]:
    # Without a pool, because each test may run several event loops.
    engine = create_async_engine(f"sqlite+aiosqlite:///{sqlite_engine.url.database}", poolclass=NullPool)
    yield AsyncIntentService(async_sessionmaker(engine), owners=OWNERS, limits=LIMITS, clock=clock)
    asyncio.run(engine.dispose())


@pytest.fixture(params=["sync", "async"])
def service(
    request: pytest.FixtureRequest, store: IntentService, async_service: AsyncIntentService
) -> IntentService | AsyncIntentService:
    """What the framework is given: either kind of service."""
    return store if request.param == "sync" else async_service


@pytest.fixture
def own_loop() -> Iterator[None]:
    """A loop for synchronous runs: frameworks leave the thread's loop open, by intention."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
