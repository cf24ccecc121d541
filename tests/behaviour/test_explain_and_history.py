"""Why each intent does or does not fire, and what has happened to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import Admin, Explanation, Identity, IntentService, InvalidIntent, Status
from tests.behaviour.support import (
    ALICE,
    DAY,
    HOUR,
    NOBODY,
    OWNER,
    START,
    Clock,
    draft,
    ids,
    said,
    statements,
    writes_or_locks,
    written,
)


def why(service: IntentService, turn: Any, intent: Any) -> Explanation:
    (explanation,) = service.explain(turn, intent_id=intent.id)
    assert explanation.intent.id == intent.id
    assert explanation.fires == (explanation.rule is None)
    assert explanation.detail
    return explanation


def test_one_that_would_fire_names_its_entry(service: IntentService) -> None:
    intent = service.create(draft("rollback", "release candidate"), by=OWNER)
    explanation = why(service, said(), intent)
    assert (explanation.fires, explanation.rule, explanation.keyword) == (True, None, "release candidate")


def test_the_kind_of_the_turn_comes_first(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    for kind in ("system", "cron", "heartbeat"):
        assert why(service, said(kind=kind, by=ALICE), intent).rule == "turn_kind"


def test_a_turn_from_elsewhere_is_out_of_scope(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    assert why(service, said(by=ALICE), intent).rule == "scope"
    assert why(service, said(by=OWNER.model_copy(update={"provider": "telegram"})), intent).rule == "scope"


KITCHEN = {"conversation_id": "C-kitchen"}


@pytest.mark.parametrize(
    ("scope", "by", "said_so"),
    [
        ({}, ALICE, "from another person than"),
        ({}, NOBODY, "has no known sender"),
        ({"sender_id": "U-alice"}, OWNER, "from another person than"),
        ({"channel_scope": "anywhere"}, ALICE, "from another person than"),
        # The same sender id somewhere else is another person.
        ({"channel_scope": "anywhere"}, OWNER.model_copy(update={"account_id": "work"}), "from another person than"),
        ({"channel_scope": "conversation"}, OWNER.model_copy(update=KITCHEN), "from another place than"),
        ({"sender_scope": "anyone"}, ALICE.model_copy(update={"provider": "telegram"}), "from another place than"),
        (
            {"channel_scope": "conversation"},
            ALICE.model_copy(update=KITCHEN),
            "from another place and from another person than",
        ),
        ({}, OWNER.model_copy(update={"provider": "telegram"}), "from another place and from another person than"),
        ({}, NOBODY.model_copy(update={"provider": "telegram"}), "from another place than"),
    ],
)
def test_out_of_scope_says_whether_it_is_the_place_or_the_person(
    service: IntentService, scope: dict[str, Any], by: Identity, said_so: str
) -> None:
    intent = service.create(draft(**scope), by=OWNER)
    explanation = why(service, said(by=by), intent)
    assert explanation.rule == "scope"
    assert said_so in explanation.detail
    assert ("place" in explanation.detail) == ("place" in said_so)
    assert "U-" not in explanation.detail


def test_an_expired_one_is_expired_swept_or_not(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(expires_at=START + HOUR), by=OWNER)
    pending = service.create(draft(description="Pending", armed=False, expires_at=START + HOUR), by=OWNER)
    clock.advance(HOUR)
    for _ in range(2):
        assert why(service, said(), intent).rule == "expired"
        assert why(service, said(), pending).rule == "expired"
        service.sweep()


def test_a_pending_one_is_not_armed_yet(service: IntentService) -> None:
    assert why(service, said(), service.create(draft(armed=False), by=OWNER)).rule == "pending"


def test_a_cancelled_one_is_cancelled(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    service.cancel(intent.id, by=OWNER)
    assert why(service, said(), intent).rule == "cancelled"


def test_a_fired_one_cools_down(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=HOUR), by=OWNER)
    service.match(said())
    explanation = why(service, said(), intent)
    assert explanation.rule == "cooldown"
    assert "2026-07-27 13:00:00Z" in explanation.detail
    clock.advance(HOUR)
    assert why(service, said(), intent).fires


def test_a_spent_one_has_no_budget(service: IntentService) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    service.match(said())
    assert why(service, said(), intent).rule == "budget"


def test_a_held_one_waits_for_its_delivery(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    service.match(said(id="m1"), hold=True)
    assert why(service, said(), intent).rule == "held"
    clock.advance(timedelta(minutes=10))
    assert why(service, said(), intent).fires


def test_one_that_is_not_mentioned_lacks_words(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    explanation = why(service, said("the release is up"), intent)
    assert (explanation.rule, explanation.keyword) == ("keywords", None)
    assert "candidate" in explanation.detail


def test_an_exclusion_is_named(service: IntentService) -> None:
    intent = service.create(draft(exclude_keywords=["dry run"]), by=OWNER)
    explanation = why(service, said("a dry run of the release candidate"), intent)
    assert explanation.rule == "excluded"
    assert "dry run" in explanation.detail


def test_words_too_far_apart_are_named(service: IntentService) -> None:
    intent = service.create(draft(within=2), by=OWNER)
    assert why(service, said("the release of the candidate"), intent).rule == "within"


def test_the_creating_turn_is_silent(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER, turn_id="m1")
    assert why(service, said(id="m1"), intent).rule == "creating_turn"
    assert why(service, said(id="m2"), intent).fires


def test_a_repeated_turn_is_a_duplicate(service: IntentService) -> None:
    fired = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    service.match(said(id="m1"))
    other = service.create(draft(description="Another"), by=OWNER)
    for intent in (fired, other):
        assert why(service, said(id="m1"), intent).rule == "duplicate"


def test_the_fourth_of_a_turn_is_over_the_limit(service: IntentService) -> None:
    created = [service.create(draft(description=f"Reminder {n}"), by=OWNER) for n in range(5)]
    assert [(e.fires, e.rule) for e in service.explain(said())] == [
        *[(True, None)] * 3,
        *[(False, "per_turn_limit")] * 2,
    ]
    assert why(service, said(), created[4]).rule == "per_turn_limit", "asked alone it is judged with the others"


def test_one_whose_line_does_not_fit_is_told_so(service: IntentService) -> None:
    created = [service.create(draft(description=f"{n} " + "x" * 490), by=OWNER) for n in range(3)]
    short = service.create(draft(description="short"), by=OWNER)
    assert [why(service, said(), each).rule for each in (*created, short)] == [None, None, "block_full", None]


def test_scope_is_told_before_time_and_time_before_words(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(expires_at=START + HOUR), by=OWNER)
    clock.advance(HOUR)
    assert why(service, said("hello", by=ALICE), intent).rule == "scope"
    assert why(service, said("hello"), intent).rule == "expired"


def test_what_is_explained_is_what_happens(service: IntentService, clock: Clock) -> None:
    service.create(draft(cooldown=HOUR), by=OWNER)
    service.create(draft("rollback", description="Two", max_fires=1), by=OWNER)
    service.create(draft(description="Three", exclude_keywords=["rollback"]), by=OWNER)
    service.create(draft(description="Four", sender_scope="anyone", expires_at=START + 2 * HOUR), by=OWNER)
    for number, text in enumerate(
        ("the release candidate", "its rollback", "candidate, release, rollback", "hello") * 3
    ):
        clock.advance(timedelta(minutes=25))
        turn = said(text, by=ALICE if number % 3 == 2 else OWNER, id=f"m{number}")
        expected = [e.intent.id for e in service.explain(turn) if e.fires]
        assert ids(service.match(turn)) == expected


def test_explaining_writes_nothing_and_locks_nothing(service: IntentService, engine: Engine, clock: Clock) -> None:
    service.create(draft(cooldown=HOUR), by=OWNER)
    service.create(draft(description="Two", expires_at=START + HOUR), by=OWNER)
    service.match(said(id="m1"), hold=True)
    clock.advance(DAY)
    before = written(engine)
    with statements(engine) as seen:
        assert len(service.explain(said(id="m2"))) == 2
    assert [statement for statement, _ in seen if writes_or_locks(statement)] == []
    assert written(engine) == before


def test_live_intents_are_explained_page_by_page(service: IntentService) -> None:
    created = [service.create(draft(description=f"Reminder {n}"), by=OWNER).id for n in range(4)]
    service.cancel(created[0], by=OWNER)
    assert ids(e.intent for e in service.explain(said(), limit=2)) == created[1:3]
    assert ids(e.intent for e in service.explain(said(), after=created[2])) == created[3:]
    for limit in (0, 1001):
        with pytest.raises(InvalidIntent):
            service.explain(said(), limit=limit)


# History


def test_the_log_tells_a_whole_life(make_service: Callable[..., IntentService], clock: Clock) -> None:
    service = make_service()
    intent = service.create(draft(armed=False, cooldown=HOUR, max_fires=2), by=OWNER, turn_id="m0")
    clock.advance(HOUR)
    service.arm(intent.id, by=OWNER)
    service.match(said(id="m1"), hold=True)
    service.release(said(id="m1"), reason="suppressed")
    service.match(said(id="m2"))
    clock.advance(HOUR)
    service.sweep()
    service.match(said())
    person = "slack/default:U-owner"
    one, two = START + HOUR, START + 2 * HOUR
    assert [tuple(event.model_dump().values()) for event in service.history(intent.id)] == [
        ("create", None, Status.PENDING, START, "m0", person, None),
        ("arm", Status.PENDING, Status.ARMED, one, None, person, None),
        ("fire", Status.ARMED, Status.FIRED, one, "m1", "turn", "release candidate"),
        ("release", Status.FIRED, Status.ARMED, one, "m1", "turn", "suppressed"),
        ("fire", Status.ARMED, Status.FIRED, one, "m2", "turn", "release candidate"),
        ("rearm", Status.FIRED, Status.ARMED, two, None, "sweep", None),
        ("fire", Status.ARMED, Status.FIRED, two, None, "turn", "release candidate"),
        ("complete", Status.FIRED, Status.DONE, two, None, "turn", None),
    ]


def test_a_reason_is_kept_as_one_bounded_line(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    service.cancel(intent.id, by=Admin(name="ops\x1b[31m"), reason="no\nlonger \u202eneeded" + "x" * 5000)
    last = service.history(intent.id)[-1]
    assert last.actor == "admin:ops[31m"
    assert last.detail is not None
    assert last.detail.startswith("no longer needed")
    assert len(last.detail) <= 500
