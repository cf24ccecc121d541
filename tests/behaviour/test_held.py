"""Held delivery: a fire that waits until its reply was delivered, and is given back when it was not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import IntentService, InvalidIntent, Limits, Status, SweepResult, TransitionNotAllowed
from tests.behaviour.support import (
    DAY,
    HOUR,
    MOMENT,
    OWNER,
    START,
    Clock,
    draft,
    ids,
    said,
    stored,
    written,
)

HOLD = timedelta(minutes=10)


def events(service: IntentService, intent_id: str) -> list[str]:
    return [event.event for event in service.history(intent_id)]


def test_a_held_fire_waits_for_its_delivery(service: IntentService) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    matches = service.match(said(id="m1"), hold=True)
    held = matches[0].intent
    assert (held.status, held.fire_count, held.last_fired_at) == (Status.FIRED, 1, START)
    assert held.rearm_at == START + HOLD, "until when it is held"
    assert matches.context is not None
    assert not service.match(said(id="m2")), "at most one held firing"
    assert service.confirm(said(id="m1")) == 1
    assert service.get(intent.id).status is Status.DONE
    assert events(service, intent.id) == ["create", "arm", "fire", "complete"]


def test_a_confirmed_fire_cools_down_from_its_fire(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=HOUR), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(timedelta(minutes=5))
    assert service.confirm(said(id="m1")) == 1
    confirmed = service.get(intent.id)
    assert (confirmed.status, confirmed.rearm_at) == (Status.FIRED, START + HOUR)
    clock.now = START + HOUR - MOMENT
    assert not service.match(said(id="m2"))
    clock.now = START + HOUR
    assert ids(service.match(said(id="m2"))) == [intent.id]


def test_a_released_fire_is_as_if_it_had_not_been(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=HOUR, max_fires=2), by=OWNER)
    service.match(said(id="m0"))
    clock.advance(HOUR)
    before = service.get(intent.id)
    service.match(said(id="m1"), hold=True)
    assert service.get(intent.id) != before
    assert service.release(said(id="m1"), reason="suppressed\nby policy") == 1
    assert service.get(intent.id) == before
    clock.advance(timedelta(minutes=1))
    assert ids(service.match(said(id="m2"))) == [intent.id]
    log = service.history(intent.id)
    assert [event.event for event in log][2:] == ["fire", "rearm", "fire", "release", "fire", "complete"]
    assert [(event.event, event.turn_id, event.detail) for event in log if event.event in ("fire", "release")] == [
        ("fire", "m0", "release candidate"),
        ("fire", "m1", "release candidate"),
        ("release", "m1", "suppressed by policy"),
        ("fire", "m2", "release candidate"),
    ]


def test_a_first_fire_given_back_leaves_no_trace_on_the_row(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    service.release(said(id="m1"))
    assert service.get(intent.id) == intent.model_copy(update={"advice": ()})


def test_a_released_turn_may_fire_again_under_its_id(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    for _ in range(3):
        matches = service.match(said(id="m1"), hold=True)
        assert (ids(matches), matches.duplicate) == ([intent.id], False)
        assert service.release(said(id="m1")) == 1
    matches = service.match(said(id="m1"))
    assert (ids(matches), matches.duplicate) == ([intent.id], False)
    again = service.match(said(id="m1"))
    assert (ids(again), again.context, again.duplicate) == ([intent.id], matches.context, True)
    assert service.get(intent.id).fire_count == 1


def test_a_released_turn_that_fires_something_else_answers_with_that(service: IntentService) -> None:
    first = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    service.release(said(id="m1"))
    service.cancel(first.id, by=OWNER)
    second = service.create(draft(description="Another reminder"), by=OWNER)
    assert ids(service.match(said(id="m1"))) == [second.id]
    again = service.match(said(id="m1"))
    assert again.duplicate
    assert ids(again) == [second.id]
    assert again.context is not None
    assert "Another reminder" in again.context


def test_at_most_one_firing_is_held_even_without_a_cooldown(service: IntentService) -> None:
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    assert service.match(said(id="m1"), hold=True)
    assert not service.match(said(id="m2"), hold=True)
    assert not service.match(said(id="m3"))
    service.confirm(said(id="m1"))
    assert ids(service.match(said(id="m2"), hold=True)) == [intent.id]
    assert service.get(intent.id).fire_count == 2


def test_a_repeated_held_turn_is_answered_from_the_first(service: IntentService) -> None:
    service.create(draft(), by=OWNER)
    first = service.match(said(id="m1"), hold=True)
    for hold in (True, False):
        again = service.match(said(id="m1"), hold=hold)
        assert (ids(again), again.context, again.duplicate) == (ids(first), first.context, True)


def test_a_turn_holds_and_settles_all_that_it_fired(service: IntentService) -> None:
    created = [service.create(draft(description=f"Reminder {n}", max_fires=1 + n % 2), by=OWNER).id for n in range(4)]
    assert ids(service.match(said(id="m1"), hold=True)) == created[:3]
    assert ids(service.match(said(id="m2"), hold=True)) == created[3:], "the fourth is not held by the first turn"
    assert service.confirm(said(id="m1")) == 3
    assert [service.get(each).status for each in created[:3]] == [Status.DONE, Status.FIRED, Status.DONE]
    assert service.release(said(id="m2")) == 1
    assert service.get(created[3]).status is Status.ARMED


def test_a_delivered_turn_has_nothing_to_settle(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    service.match(said(id="m1"))
    before = written(engine)
    for settle in (service.confirm, service.release):
        assert settle(said(id="m1")) == 0
        assert settle(said(id="never seen")) == 0
        assert settle(said(id="m1", by=OWNER.model_copy(update={"conversation_id": "C-other"}))) == 0
    assert written(engine) == before


def test_settling_twice_settles_once(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    assert (service.confirm(said(id="m1")), service.confirm(said(id="m1")), service.release(said(id="m1"))) == (1, 0, 0)
    assert service.get(intent.id).fire_count == 1
    other = service.create(draft("rollback"), by=OWNER)
    service.match(said("rollback", id="m2"), hold=True)
    assert (service.release(said(id="m2")), service.release(said(id="m2")), service.confirm(said(id="m2"))) == (1, 0, 0)
    assert service.get(other.id).fire_count == 0


def test_holding_and_settling_need_a_turn_id(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    for act in (
        lambda: service.match(said(), hold=True),
        lambda: service.confirm(said()),
        lambda: service.release(said()),
    ):
        with pytest.raises(InvalidIntent):
            act()
    assert written(engine) == before


# A forgotten hold


def test_a_forgotten_hold_is_given_back_at_its_deadline(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.now = START + HOLD - MOMENT
    assert service.get(intent.id).status is Status.FIRED
    assert not service.match(said(id="m2"))
    clock.now = START + HOLD
    assert service.get(intent.id).status is Status.ARMED
    assert service.confirm(said(id="m1")) == 0
    assert ids(service.match(said(id="m2"))) == [intent.id]
    assert (service.get(intent.id).fire_count, service.get(intent.id).status) == (1, Status.DONE)
    assert events(service, intent.id) == ["create", "arm", "fire", "release", "fire", "complete"]


def test_a_turn_whose_hold_was_forgotten_may_fire_again(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(HOLD)
    again = service.match(said(id="m1"), hold=True)
    assert (ids(again), again.duplicate) == ([intent.id], False)
    assert service.confirm(said(id="m1")) == 1
    assert service.get(intent.id).fire_count == 1


def test_a_late_release_still_gives_back(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(2 * HOLD)
    assert service.release(said(id="m1"), reason="crashed") == 1
    assert service.get(intent.id).fire_count == 0


def test_how_long_a_hold_may_last_comes_from_the_limits(make_service: Callable[..., Any], clock: Clock) -> None:
    service = make_service(limits=Limits(hold_for=HOUR))
    service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(HOUR - MOMENT)
    assert service.confirm(said(id="m1")) == 1


def test_a_lapsed_turn_is_given_back_as_a_whole(service: IntentService, clock: Clock) -> None:
    first = service.create(draft(), by=OWNER)
    second = service.create(draft("rollback"), by=OWNER)
    service.match(said("the release candidate and its rollback", id="m1"), hold=True)
    clock.advance(HOLD)
    assert ids(service.match(said("rollback", id="m2"))) == [second.id]
    assert stored(service_engine(service), first.id).fire_count == 0
    assert service.confirm(said(id="m1")) == service.release(said(id="m1")) == 0


def service_engine(service: IntentService) -> Engine:
    with service._sessions() as session:
        engine = session.get_bind()
        assert isinstance(engine, Engine)
        return engine


# Intents that end while they are held


@pytest.mark.parametrize("settle", ["confirm", "release"])
def test_a_cancelled_intent_stays_as_it_is_when_its_turn_is_settled(service: IntentService, settle: str) -> None:
    gone = service.create(draft(max_fires=1), by=OWNER)
    alive = service.create(draft(description="Another"), by=OWNER)
    service.match(said(id="m1"), hold=True)
    cancelled = service.cancel(gone.id, by=OWNER)
    getattr(service, settle)(said(id="m1"))
    assert service.get(gone.id) == cancelled
    assert service.get(alive.id).fire_count == (1 if settle == "confirm" else 0)
    assert events(service, gone.id) == ["create", "arm", "fire", "cancel"]


@pytest.mark.parametrize("settle", ["confirm", "release"])
@pytest.mark.parametrize("swept", [False, True])
def test_an_intent_that_expired_while_held_stays_expired(
    service: IntentService, clock: Clock, settle: str, swept: bool
) -> None:
    """Settling is the same whether or not a sweep has written the expiry down yet."""
    gone = service.create(draft(max_fires=1, expires_at=START + HOLD / 2), by=OWNER)
    alive = service.create(draft(description="Another"), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(HOLD / 2)
    assert service.get(gone.id).status is Status.EXPIRED
    if swept:
        assert service.sweep().expired == 1
    getattr(service, settle)(said(id="m1"))
    assert (service.get(gone.id).status, service.get(gone.id).fire_count) == (Status.EXPIRED, 1)
    assert service.get(alive.id).fire_count == (1 if settle == "confirm" else 0)
    service.sweep()
    clock.now = START
    assert (service.get(gone.id).status, service.get(gone.id).fire_count) == (Status.EXPIRED, 1)
    assert events(service, gone.id) == ["create", "arm", "fire", "expire"]


def test_an_expired_intent_whose_hold_lapsed_only_expires(service: IntentService, clock: Clock) -> None:
    gone = service.create(draft(expires_at=START + HOLD), by=OWNER)
    alive = service.create(draft(description="Another"), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(HOLD)
    assert service.sweep() == SweepResult(expired=1, released=1)
    assert (service.get(gone.id).status, service.get(gone.id).fire_count) == (Status.EXPIRED, 1)
    assert (service.get(alive.id).status, service.get(alive.id).fire_count) == (Status.ARMED, 0)


def test_a_held_intent_may_be_cancelled_but_not_armed(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    service.match(said(id="m1"), hold=True)
    with pytest.raises(TransitionNotAllowed):
        service.arm(intent.id, by=OWNER)
    assert service.cancel(intent.id, by=OWNER).status is Status.CANCELLED
    assert service.get(intent.id).rearm_at is None


def test_a_held_answer_outlives_a_clock_set_back(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(-DAY)
    assert not service.match(said(id="m2"))
    assert service.match(said(id="m1")).duplicate
    assert service.confirm(said(id="m1")) == 1
    clock.now = START
    assert ids(service.match(said(id="m2"))) == [intent.id]
