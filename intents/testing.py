"""For a host's own tests: a clock that stands still, drafts and turns with sensible defaults, a service in memory.

With pytest, import the fixture into a ``conftest.py``::

    from intents.testing import intent_service  # noqa: F401

    def test_reminder(intent_service):
        intent_service.create(make_draft("release candidate"), by=OWNER)
        assert intent_service.match(make_turn("the release candidate is up")).context

Without pytest, `memory_service` is the same as a context manager. pytest itself is not needed to import this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import StaticPool

from intents.migrate import upgrade
from intents.policy import OwnerPolicy
from intents.schemas import Identity, IntentCreate, Turn
from intents.service import IntentService

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = [
    "OWNER",
    "START",
    "FrozenClock",
    "make_draft",
    "make_identity",
    "make_turn",
    "memory_engine",
    "memory_service",
]

#: Where a `FrozenClock` stands unless told otherwise.
START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: The one owner that `memory_service` knows.
OWNER: Final = Identity(provider="test", sender_id="owner", conversation_id="room")


class FrozenClock:
    """A clock that moves only when told; hand it over as ``clock=``.

    Args:
        start: an aware moment.

    Raises:
        ValueError: a naive moment was given.
    """

    def __init__(self, start: datetime = START) -> None:
        self.set(start)

    def __call__(self) -> datetime:
        """The present moment."""
        return self._now

    def set(self, moment: datetime) -> None:
        """Move to a moment, forward or back.

        Raises:
            ValueError: it is naive.
        """
        if moment.tzinfo is None or moment.utcoffset() is None:
            raise ValueError("A FrozenClock needs an aware datetime, such as datetime(2026, 1, 1, tzinfo=UTC).")
        self._now = moment

    def advance(self, **duration: float) -> datetime:
        """Move on by a duration, written as for `timedelta` (``hours=24``, ``days=-1``), and return the new moment."""
        self._now += timedelta(**duration)
        return self._now


def make_identity(sender_id: str | None = "owner", **fields: Any) -> Identity:
    """Make an identity on the provider ``test``, in the conversation ``room``; `fields` change any of its fields."""
    return Identity(**{"provider": "test", "sender_id": sender_id, "conversation_id": "room", **fields})


def make_turn(text: str = "the release candidate is up", *, identity: Identity | None = None, **fields: Any) -> Turn:
    """Make a user turn, by the owner unless told otherwise; `fields` are further fields of `Turn`."""
    return Turn(text=text, identity=identity or OWNER, **fields)


def make_draft(*trigger_keywords: str, **fields: Any) -> IntentCreate:
    """Make a draft that fires on `trigger_keywords`, by default "release candidate"; `fields` change the rest."""
    return IntentCreate(
        **{
            "description": "Confirm the rollback owner",
            "trigger_keywords": list(trigger_keywords) or ["release candidate"],
            **fields,
        }
    )


@contextmanager
def memory_engine() -> Iterator[Engine]:
    """Give an engine on a migrated SQLite database in memory, one that all threads share; it is gone afterwards."""
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    try:
        upgrade(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def memory_service(**options: Any) -> Iterator[IntentService]:
    """Give a service on a migrated SQLite database in memory, owned by `OWNER`, at a `FrozenClock`.

    Args:
        options: arguments of `IntentService`, to replace the owner list or the clock, or to set others.
    """
    with memory_engine() as engine:
        yield IntentService(
            sessionmaker(engine),
            **{
                "owners": OwnerPolicy(allow_from=(f"{OWNER.provider}:{OWNER.sender_id}",)),
                "clock": FrozenClock(),
                **options,
            },
        )


try:
    import pytest
except ModuleNotFoundError:
    pass  # everything above works without it
else:

    @pytest.fixture
    def intent_service() -> Iterator[IntentService]:
        """A migrated in-memory service, owned by `OWNER`; its clock is ``intent_service.settings.clock``."""
        with memory_service() as service:
            yield service
