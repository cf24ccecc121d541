"""Forgetting finished intents in bounded batches; live ones and what they need stay."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from intents import Admin, IntentNotFound, IntentService, InvalidIntent
from intents.models import IntentEvent, IntentFiring, IntentTurn, StandingIntent
from tests.operations.conftest import Clock, remind, say


def counts(engine: Engine) -> dict[str, int]:
    with Session(engine) as session:
        return {
            model.__tablename__: session.scalar(select(func.count()).select_from(model)) or 0
            for model in (StandingIntent, IntentTurn, IntentFiring, IntentEvent)
        }


def test_ended_intents_go_with_their_firings_and_log(engine: Engine, service: IntentService, clock: Clock) -> None:
    done = remind(service, "alpha", max_fires=1)
    cancelled = remind(service, "beta")
    live = remind(service, "gamma")
    assert service.match(say("alpha", "m1"))
    service.cancel(cancelled.id, by=Admin(name="ops"))
    clock.advance(days=1)
    late = remind(service, "delta", max_fires=1)
    assert service.match(say("delta", "m2"))

    result = service.prune(before=clock.now - timedelta(hours=1))

    assert (result.intents, result.more) == (2, False)
    for gone in (done, cancelled):
        with pytest.raises(IntentNotFound):
            service.get(gone.id)
    assert [intent.id for intent in service.list()] == [live.id, late.id]
    assert counts(engine) == {
        "standing_intents": 2,
        "standing_intent_turns": 1,
        "standing_intent_firings": 1,
        "standing_intent_events": 2 + 4,
    }
    assert service.match(say("delta", "m2")).duplicate


def test_a_turn_is_forgotten_with_the_last_intent_that_it_fired(service: IntentService, clock: Clock) -> None:
    remind(service, "alpha", max_fires=1)
    remind(service, "alpha beta", max_fires=2)
    assert len(service.match(say("alpha beta", "m1"))) == 2
    clock.advance(days=1)
    assert service.prune(before=clock.now).intents == 1
    assert service.match(say("alpha beta", "m1")).duplicate


def test_batches_are_bounded(service: IntentService, clock: Clock) -> None:
    for number in range(5):
        service.cancel(remind(service, f"topic{number}zz").id, by=Admin(name="ops"))
    clock.advance(days=1)
    batches = []
    while True:
        result = service.prune(before=clock.now, limit=2)
        batches.append(result.intents)
        if not result.more:
            break
    assert batches == [2, 2, 1]


def test_a_moment_without_a_timezone_is_refused(service: IntentService) -> None:
    with pytest.raises(InvalidIntent, match="naive"):
        service.prune(before=datetime(2026, 1, 1))
