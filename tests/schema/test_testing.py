"""`intents.testing`: what hosts build their own tests on."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from intents.lifecycle import Status
from intents.migrate import check_schema
from intents.service import IntentService
from intents.testing import (
    OWNER,
    START,
    FrozenClock,
    intent_service,
    make_draft,
    make_identity,
    make_turn,
    memory_engine,
    memory_service,
)

__all__ = ["intent_service"]


def test_the_clock_stands_until_it_is_told() -> None:
    clock = FrozenClock()
    assert clock() == clock() == START
    assert clock.advance(hours=24, minutes=1) == START + timedelta(hours=24, minutes=1) == clock()
    clock.advance(days=-2)
    assert clock() < START
    clock.set(datetime(2030, 1, 1, tzinfo=UTC))
    assert clock().year == 2030
    for naive in (lambda: FrozenClock(datetime(2030, 1, 1)), lambda: clock.set(datetime(2030, 1, 1))):
        with pytest.raises(ValueError, match="aware"):
            naive()


def test_the_fixture_gives_a_migrated_service_that_fires(intent_service: IntentService) -> None:
    clock = intent_service.settings.clock
    assert isinstance(clock, FrozenClock)
    intent = intent_service.create(make_draft("launch checklist", max_fires=2), by=OWNER)
    turn = make_turn("where is the launch checklist?")
    assert [match.intent.id for match in intent_service.match(turn)] == [intent.id]
    assert not intent_service.match(turn)
    clock.advance(hours=24)
    assert intent_service.match(turn)
    assert intent_service.get(intent.id).status is Status.DONE


def test_two_services_share_nothing() -> None:
    with memory_service() as one, memory_service(agent_id="other") as two:
        one.create(make_draft(), by=OWNER)
        assert (len(one.list()), len(two.list())) == (1, 0)
        assert two.settings.agent_id == "other"


def test_the_engine_is_migrated_and_shared_by_threads() -> None:
    seen: list[int] = []

    def count() -> None:
        with engine.connect() as connection:
            seen.append(connection.scalar(text("SELECT count(*) FROM intents_alembic_version")) or 0)

    with memory_engine() as engine:
        check_schema(engine)
        thread = threading.Thread(target=count)
        thread.start()
        thread.join()
    assert seen == [1]


def test_factories_take_any_field() -> None:
    assert make_identity("alice", provider="slack").sender_id == "alice"
    assert make_turn("hello", identity=make_identity("bob"), id="m-1", kind="cron").kind == "cron"
    assert make_draft("a b", "c", description="x", within=3).trigger_keywords == ["a b", "c"]
