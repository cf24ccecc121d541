"""What operators see at a glance: fires by day and by intent, moves by arrow, live intents by status."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from intents import IntentService, InvalidIntent, Status
from tests.behaviour.support import DAY, IN_MEMORY, OWNER, START, Clock, draft, said

TODAY = START.date()


def test_fires_are_counted_by_day_and_by_intent(service: IntentService, clock: Clock) -> None:
    often, once = (service.create(draft(word, max_fires=9, cooldown=timedelta(0)), by=OWNER) for word in ("aa", "bb"))
    for number, day in enumerate([0, 0, 1, 3]):
        clock.now = START + day * DAY
        service.match(said("aa", id=f"a{number}"))
    service.match(said("bb", id="b1"))
    service.match(said("bb", id="b2"), hold=True)
    service.release(said("bb", id="b2"))
    counted = service.activity(days=4)
    assert counted.by_day == {
        TODAY: 2,
        TODAY + DAY: 1,
        TODAY + 2 * DAY: 0,
        TODAY + 3 * DAY: 2,
    }
    assert [(each.id, each.fires) for each in counted.by_intent] == [(often.id, 4), (once.id, 1)]
    assert service.activity(days=2).by_day == {TODAY + 2 * DAY: 0, TODAY + 3 * DAY: 2}
    assert [each.fires for each in service.activity(days=1, intents=1).by_intent] == [1]


def test_a_day_is_one_of_utc(service: IntentService, clock: Clock) -> None:
    service.create(draft(cooldown=timedelta(0)), by=OWNER)
    for number, moment in enumerate([timedelta(hours=11, minutes=59, seconds=59), timedelta(hours=12)]):
        clock.now = START + moment
        service.match(said(id=f"m{number}"))
    assert service.activity(days=2).by_day == {TODAY: 1, date(2026, 7, 28): 1}


def test_moves_are_counted_by_arrow(service: IntentService, clock: Clock) -> None:
    first = service.create(draft("aa", max_fires=2, cooldown=timedelta(0)), by=OWNER)
    service.create(draft("bb", armed=False), by=OWNER)
    for number in range(2):
        service.match(said("aa", id=f"m{number}"))
    moves = {(each.event, each.from_status, each.to_status): each.count for each in service.activity().moves}
    assert moves == {
        ("create", None, Status.PENDING): 2,
        ("arm", Status.PENDING, Status.ARMED): 1,
        ("fire", Status.ARMED, Status.FIRED): 2,
        ("rearm", Status.FIRED, Status.ARMED): 1,
        ("complete", Status.FIRED, Status.DONE): 1,
    }
    assert service.get(first.id).status is Status.DONE


def test_statuses_are_those_of_the_clock(service: IntentService, clock: Clock) -> None:
    service.create(draft("aa", expires_at=START + DAY), by=OWNER)
    service.create(draft("bb"), by=OWNER)
    service.create(draft("cc", armed=False), by=OWNER)
    assert service.count_live() == {Status.PENDING: 1, Status.ARMED: 2, Status.FIRED: 0}
    clock.advance(DAY)
    assert service.count_live() == {Status.PENDING: 1, Status.ARMED: 1, Status.FIRED: 0}
    assert service.activity().by_status == dict.fromkeys(Status, 0) | {
        Status.PENDING: 1,
        Status.ARMED: 1,
        Status.EXPIRED: 1,
    }


def test_another_agents_are_not_counted(service: IntentService, make_service: object) -> None:
    other = make_service(agent_id="other")  # type: ignore[operator]
    other.create(draft(), by=OWNER)
    other.match(said(id="m1"))
    assert sum(service.activity().by_day.values()) == 0
    assert service.activity().moves == ()
    assert sum(service.count_live().values()) == 0


@IN_MEMORY
@pytest.mark.parametrize("numbers", [{"days": 0}, {"days": 4000}, {"intents": 0}, {"intents": 1001}])
def test_numbers_out_of_range_are_refused(service: IntentService, numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidIntent):
        service.activity(**numbers)
