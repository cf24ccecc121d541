"""What `intents stats` counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from intents import IntentCreate, IntentService, OwnerPolicy, Status, Turn
from intents.repository.statistics import Statistics, statistics
from intents.repository.work import Work
from tests.cli.conftest import OWNER


def test_statuses_are_those_of_the_clock_and_given_back_firings_are_told_apart(engine: Engine) -> None:
    now = datetime(2026, 7, 27, 9, 0, tzinfo=UTC)
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), clock=lambda: now)

    def count() -> Statistics:
        with Session(engine) as session:
            return statistics(Work.of(session, service.settings, owns_transaction=False))

    assert count().total == 0
    for word, lifetime in (("alpha", 1), ("beta", 2), ("gamma", 40)):
        draft = IntentCreate(description=word, trigger_keywords=[word], expires_at=now + timedelta(days=lifetime))
        service.create(draft, by=OWNER)
    assert count().next_expiry == now + timedelta(days=1)

    held = Turn(text="alpha", identity=OWNER, id="m-1")
    service.match(held, hold=True)
    assert (count().firings, count().turns, count().released) == (1, 1, 0)
    service.release(held)
    assert (count().firings, count().turns, count().released) == (0, 0, 1)
    assert count().last_fired_at is None

    service.match(Turn(text="beta", identity=OWNER, id="m-2"))
    fired_at = now
    assert {status for status, number in count().by_status.items() if number} == {Status.ARMED, Status.FIRED}

    now += timedelta(days=1)  # beta has cooled down, alpha is expired; no sweep has written either
    counted = count()
    assert counted.by_status == dict.fromkeys(Status, 0) | {Status.ARMED: 2, Status.EXPIRED: 1}
    assert (counted.total, counted.firings, counted.last_fired_at) == (3, 1, fired_at)
    assert counted.next_expiry == fired_at + timedelta(days=2)
