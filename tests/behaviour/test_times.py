"""Cooldown, expiry and budget are exact, computed from times, and indifferent to sweeps and to clocks set back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import IntentService, InvalidIntent, Status, SweepResult, TransitionNotAllowed
from tests.behaviour.support import (
    DAY,
    HOUR,
    MOMENT,
    OWNER,
    START,
    Clock,
    draft,
    ids,
    load,
    said,
    statements,
    stored,
    writes_or_locks,
    written,
)


def test_a_cooldown_is_over_at_its_moment_and_not_before(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=HOUR), by=OWNER)
    assert ids(service.match(said())) == [intent.id]
    clock.now = START + HOUR - MOMENT
    assert not service.match(said())
    assert service.get(intent.id).status is Status.FIRED
    clock.now = START + HOUR
    assert service.get(intent.id).status is Status.ARMED
    assert ids(service.match(said())) == [intent.id]


def test_a_cooldown_counts_hours_not_wall_clocks(service: IntentService, clock: Clock) -> None:
    """On the night that summer time begins in Paris, noon is 23 hours after noon."""
    winter, summer = timezone(HOUR), timezone(2 * HOUR)
    clock.now = datetime(2026, 3, 28, 12, tzinfo=winter)
    intent = service.create(draft(cooldown=DAY), by=OWNER)
    assert ids(service.match(said())) == [intent.id]
    clock.now = datetime(2026, 3, 29, 12, 30, tzinfo=summer)
    assert not service.match(said())
    clock.now = datetime(2026, 3, 29, 13, tzinfo=summer)
    assert ids(service.match(said())) == [intent.id]


def test_a_clock_set_back_never_rearms_early_and_never_fires_twice(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=timedelta(minutes=30), max_fires=3), by=OWNER)
    assert ids(service.match(said(id="m1"))) == [intent.id]
    clock.now = START - HOUR
    assert not service.match(said(id="m2"))
    assert service.match(said(id="m1")).duplicate
    assert service.sweep() == SweepResult()
    clock.now = START + timedelta(minutes=29)
    assert not service.match(said(id="m3"))
    clock.now = START + timedelta(minutes=30)
    assert ids(service.match(said(id="m4"))) == [intent.id]


def test_without_a_cooldown_every_turn_may_fire(service: IntentService) -> None:
    intent = service.create(draft(cooldown=timedelta(0), max_fires=2), by=OWNER)
    assert ids(service.match(said())) == [intent.id]
    assert ids(service.match(said())) == [intent.id]
    assert not service.match(said())


@pytest.mark.parametrize("moment", [HOUR, MOMENT, timedelta(milliseconds=1500, microseconds=7)])
def test_a_fraction_of_a_second_counts(service: IntentService, clock: Clock, moment: timedelta) -> None:
    intent = service.create(draft(cooldown=moment), by=OWNER)
    assert intent.cooldown == moment
    service.match(said())
    clock.now = START + moment - MOMENT
    assert not service.match(said())
    clock.now = START + moment
    assert service.match(said())


def test_an_intent_fires_until_its_expiry_and_not_at_it(service: IntentService, clock: Clock) -> None:
    pacific = timezone(timedelta(hours=-8))
    intent = service.create(draft(cooldown=MOMENT, expires_at=datetime(2026, 8, 1, 13, 30, tzinfo=pacific)), by=OWNER)
    assert intent.expires_at == datetime(2026, 8, 1, 21, 30, tzinfo=UTC)
    clock.now = datetime(2026, 8, 1, 21, 29, 59, tzinfo=UTC)
    assert ids(service.match(said())) == [intent.id]
    clock.now = datetime(2026, 8, 1, 21, 30, tzinfo=UTC)
    assert not service.match(said())
    assert service.get(intent.id).status is Status.EXPIRED


def test_an_expired_intent_is_shown_as_expired_although_nothing_was_written(
    service: IntentService, engine: Engine, clock: Clock
) -> None:
    armed = service.create(draft(expires_at=START + DAY), by=OWNER)
    pending = service.create(draft(description="Pending", armed=False, expires_at=START + DAY), by=OWNER)
    clock.now = START + DAY
    assert service.list(status=Status.ARMED) == service.list(status=Status.PENDING) == service.list(live=True) == []
    assert ids(service.list(status=Status.EXPIRED)) == ids(service.list()) == [armed.id, pending.id]
    assert {service.get(each.id).status for each in (armed, pending)} == {Status.EXPIRED}
    assert stored(engine, armed.id).status is Status.ARMED
    for refused in (service.arm, service.cancel):
        for each in (armed, pending):
            with pytest.raises(TransitionNotAllowed) as refusal:
                refused(each.id, by=OWNER)
            assert (refusal.value.intent_id, refusal.value.status) == (each.id, "expired")


def test_a_miss_moves_no_row_however_late(service: IntentService, engine: Engine, clock: Clock) -> None:
    service.create(draft("one", expires_at=START + DAY), by=OWNER)
    service.create(draft("two", cooldown=HOUR), by=OWNER)
    assert service.match(said("two"))
    before = written(engine)
    clock.now = START + 2 * DAY
    assert not service.match(said("hello"))
    assert service.list()
    assert written(engine) == before


def test_the_time_of_the_turn_decides_nothing(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(expires_at=START + DAY, cooldown=timedelta(0)), by=OWNER)
    assert ids(service.match(said(at=START + 9 * DAY))) == [intent.id]
    clock.now = START + DAY
    assert not service.match(said(at=START))


# Sweeps


def test_a_sweep_writes_down_what_time_has_decided(service: IntentService, engine: Engine, clock: Clock) -> None:
    expiring = service.create(draft(expires_at=START + DAY), by=OWNER)
    pending = service.create(draft(description="Pending", armed=False, expires_at=START + DAY), by=OWNER)
    cooling = service.create(draft("two", cooldown=HOUR), by=OWNER)
    cold = service.create(draft("two", description="Cold", cooldown=3 * DAY), by=OWNER)
    held = service.create(draft("three"), by=OWNER)
    assert len(service.match(said("two"))) == 2
    assert service.match(said("three", id="m1"), hold=True)
    assert service.sweep() == SweepResult()
    clock.now = START + DAY
    statuses = {each.id: service.get(each.id).status for each in (expiring, pending, cooling, cold, held)}
    assert service.sweep() == SweepResult(expired=2, rearmed=1, released=1)
    assert {each: stored(engine, each).status for each in statuses} == statuses
    assert statuses == {
        expiring.id: Status.EXPIRED,
        pending.id: Status.EXPIRED,
        cooling.id: Status.ARMED,
        cold.id: Status.FIRED,
        held.id: Status.ARMED,
    }
    for each, event in ((expiring, "expire"), (pending, "expire"), (cooling, "rearm"), (held, "release")):
        last = service.history(each.id)[-1]
        assert (last.event, last.at, last.actor) == (event, START + DAY, "sweep")
    assert service.sweep() == SweepResult()


def test_a_sweep_changes_no_answer(make_service: Callable[..., IntentService], clock: Clock) -> None:
    """Twice the same story, once swept at every step."""

    def story(service: IntentService, step: Callable[[], Any]) -> list[Any]:
        clock.now = START
        service.create(draft(expires_at=START + 3 * DAY, cooldown=HOUR, max_fires=9), by=OWNER)
        service.create(draft(description="Held", cooldown=timedelta(0)), by=OWNER)
        told = []
        for hours in (0, 0.5, 1, 30, 71.9, 72):
            clock.now = START + hours * HOUR
            step()
            matches = service.match(said(id=f"m{hours}"), hold=True)
            told.append([(match.intent.description, match.intent.fire_count) for match in matches])
            told.append([(intent.description, intent.status, intent.fire_count) for intent in service.list()])
        return told

    untouched, swept = make_service(agent_id="untouched"), make_service(agent_id="swept")
    assert story(untouched, lambda: None) == story(swept, swept.sweep)


def test_a_sweep_goes_on_in_batches(service: IntentService, engine: Engine, clock: Clock) -> None:
    pattern = service.create(draft(expires_at=START + DAY), by=OWNER)
    load(engine, service, pattern, ["release candidate"] * 9)
    clock.now = START + DAY
    for expired, more in ((4, True), (4, True), (2, False), (0, False)):
        assert service.sweep(limit=4) == SweepResult(expired=expired, more=more)
    assert {intent.status for intent in service.list()} == {Status.EXPIRED}
    with pytest.raises(InvalidIntent):
        service.sweep(limit=0)


def test_a_sweep_with_nothing_due_only_reads(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    with statements(engine) as seen:
        assert service.sweep() == SweepResult()
    assert [statement for statement, _ in seen if writes_or_locks(statement)] == []


def test_a_sweep_moves_the_rows_of_its_agent_only(make_service: Callable[..., IntentService], clock: Clock) -> None:
    mine, theirs = make_service(agent_id="mine"), make_service(agent_id="theirs")
    for service in (mine, theirs):
        service.create(draft(expires_at=START + DAY), by=OWNER)
    clock.now = START + DAY
    assert mine.sweep().expired == 1
    assert theirs.sweep().expired == 1
