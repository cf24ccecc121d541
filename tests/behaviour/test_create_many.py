"""Creating many intents at once: each is judged as by `create`, and all are stored or none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from intents import (
    ConcurrentUpdate,
    IntentEvent,
    IntentService,
    InvalidIntent,
    InvalidTrigger,
    Limits,
    NotAuthorized,
    StandingIntent,
)
from intents.repository.work import BATCH
from tests.behaviour.support import (
    ALICE,
    DAY,
    IN_MEMORY,
    OWNER,
    SHARED,
    START,
    Clock,
    at_statement,
    count_of,
    draft,
    ids,
    said,
    stored,
    written,
)

SHORT = Limits(lock_wait=timedelta(milliseconds=20))


def without_id(intent: Any) -> dict[str, Any]:
    return {name: value for name, value in intent.model_dump().items() if name != "id"}


def test_each_is_stored_as_if_it_had_been_created_alone(make_service: Callable[..., IntentService]) -> None:
    drafts = [
        draft("release candidate", exclude_keywords=["dry run"], within=9),
        draft("deploy", armed=False, max_fires=1, cooldown=timedelta(0)),
        draft('"launch day"', channel_scope="conversation", sender_scope="sender", expires_at=START + DAY),
        draft("发布", "C++", language="und"),
    ]
    many = make_service(agent_id="many").create_many(drafts, by=OWNER, turn_id="m0", session_id="s")
    one = [make_service(agent_id="one").create(each, by=OWNER, turn_id="m0", session_id="s") for each in drafts]
    assert [without_id(each) | {"agent_id": "one"} for each in many] == [without_id(each) for each in one]
    histories = [[make_service(agent_id=each.agent_id).history(each.id) for each in group] for group in (many, one)]
    assert histories[0] == histories[1]


def test_they_are_matched_like_any_other(service: IntentService) -> None:
    made = service.create_many(
        [draft(f"launch topic{number}", description=f"Reminder {number}") for number in range(40)], by=OWNER
    )
    assert ids(service.match(said("the topic7 launch and the launch of topic31", id="m1"))) == [made[7].id, made[31].id]
    assert not service.match(said("the launch", id="m2"))


def test_none_is_nothing_to_do(service: IntentService, engine: Engine) -> None:
    assert service.create_many([], by=OWNER) == []
    assert count_of(engine, StandingIntent) == 0


def test_more_than_one_statement_can_name(service: IntentService, engine: Engine) -> None:
    made = service.create_many([draft(f"topic{number}") for number in range(1_100)], by=OWNER)
    assert len(set(ids(made))) == 1_100
    assert count_of(engine, IntentEvent) == 2_200
    assert ids(service.match(said("topic1099", id="m1"))) == [made[-1].id]


def test_a_refused_draft_is_named_by_its_place_and_nothing_is_stored(service: IntentService, engine: Engine) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        service.create_many([draft("deploy"), draft("launch"), draft("rollback", "!!!")], by=OWNER)
    assert (refusal.value.field, refusal.value.keyword) == ("drafts[2].trigger_keywords", "!!!")
    with pytest.raises(InvalidIntent) as late:
        service.create_many([draft("deploy", expires_at=START)], by=OWNER)
    assert late.value.field == "drafts[0].expires_at"
    assert count_of(engine, StandingIntent) == 0


@IN_MEMORY
def test_only_an_owner_may(service: IntentService) -> None:
    for drafts in ([draft()], []):
        with pytest.raises(NotAuthorized):
            service.create_many(drafts, by=ALICE)


@IN_MEMORY
def test_a_batch_is_bounded(service: IntentService) -> None:
    with pytest.raises(InvalidIntent) as refusal:
        service.create_many([draft()] * (BATCH + 1), by=OWNER)
    assert refusal.value.field == "drafts"


def test_identical_drafts_are_one_intent(service: IntentService, engine: Engine) -> None:
    before = service.create(draft("deploy"), by=OWNER)
    made = service.create_many(
        [draft("Deploy"), draft("launch"), draft("launch"), draft("launch", description="Other")], by=OWNER
    )
    assert made[0].id == before.id
    assert made[1].id == made[2].id != made[3].id
    assert ["identical" in " ".join(each.advice) for each in made] == [True, False, True, False]
    assert count_of(engine, StandingIntent) == 3
    assert [line.event for line in service.history(made[1].id)] == ["create", "arm"]


def test_an_expired_twin_makes_room(service: IntentService, engine: Engine, clock: Clock) -> None:
    old = service.create(draft("deploy", expires_at=START + DAY), by=OWNER)
    clock.advance(DAY)
    (new,) = service.create_many([draft("deploy")], by=OWNER)
    assert new.id != old.id
    assert stored(engine, old.id).status == "expired"
    assert ids(service.match(said("deploy", id="m1"))) == [new.id]


@SHARED
def test_a_rival_that_creates_the_same_at_any_statement(
    make_service: Callable[..., IntentService], engine: Engine
) -> None:
    for number in range(50):
        rival, service = (make_service(agent_id=f"agent{number}", limits=SHORT) for _ in range(2))
        with at_statement(
            engine, lambda n, _, number=number: n == number, lambda rival=rival: _try_create(rival)
        ) as met:
            made = service.create_many([draft("launch"), draft("deploy"), draft("rollback")], by=OWNER)
        assert len(service.list()) == 3, met
        assert set(ids(made)) == set(ids(service.list()))
        if not met:
            break
    assert number >= 6


def _try_create(rival: IntentService) -> None:
    with contextlib.suppress(ConcurrentUpdate):  # where the first one holds the lock already
        rival.create(draft("deploy"), by=OWNER)


def test_in_a_hosts_transaction_a_rollback_takes_all(service: IntentService, engine: Engine) -> None:
    before = written(engine)
    with Session(engine) as session:
        made = service.using(session).create_many([draft("deploy"), draft("launch")], by=OWNER)
        assert len(made) == 2
        session.rollback()
    assert written(engine) == before
