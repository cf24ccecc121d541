"""A service whose clock the test moves, on the test's database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import sessionmaker

from intents import Identity, IntentCreate, IntentRead, IntentService, OwnerPolicy, Turn

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 7, 27, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        self.now += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service_on(clock: Clock) -> Callable[..., IntentService]:
    def make(engine: Engine, **options: Any) -> IntentService:
        return IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), clock=clock, **options)

    return make


@pytest.fixture
def service(engine: Engine, service_on: Callable[..., IntentService]) -> IntentService:
    return service_on(engine)


def say(text: str, turn_id: str | None = None) -> Turn:
    return Turn(text=text, identity=OWNER, id=turn_id)


def remind(service: IntentService, keyword: str = "release candidate", **fields: Any) -> IntentRead:
    draft = IntentCreate(description=f"About the {keyword}", trigger_keywords=[keyword], **fields)
    return service.create(draft, by=OWNER)
