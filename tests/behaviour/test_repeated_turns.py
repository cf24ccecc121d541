"""A turn id spends nothing twice: not repeated, not edited, not from two processes at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import sessionmaker

from intents import Identity, IntentFiring, IntentService, IntentTurn, Limits, Matches, Status, Turn
from tests.behaviour.support import (
    ALICE,
    HOUR,
    OWNER,
    SAID,
    SHARED,
    START,
    Clock,
    at_statement,
    between_look_and_lock,
    count_of,
    draft,
    ids,
    said,
    written,
)


def test_a_repeated_turn_gets_its_first_answer_and_spends_nothing(
    service: IntentService, engine: Engine, clock: Clock
) -> None:
    intent = service.create(draft(cooldown=HOUR), by=OWNER)
    first = service.match(said(id="m1"))
    before = written(engine)
    clock.advance(2 * HOUR)
    again = service.match(said(id="m1"))
    assert (ids(again), again.context, again.duplicate) == ([intent.id], first.context, True)
    assert [match.keyword for match in again] == ["release candidate"]
    assert written(engine) == before


def test_a_turn_edited_away_and_back_fires_once(service: IntentService) -> None:
    intent = service.create(draft(max_fires=5), by=OWNER)
    assert not service.match(said(id="m1")).duplicate
    assert service.match(said("never mind", id="m1")).duplicate
    assert service.match(said(id="m1")).duplicate
    assert service.get(intent.id).fire_count == 1


def test_a_turn_edited_into_a_hit_fires(service: IntentService) -> None:
    """Only turns that fired something are remembered."""
    intent = service.create(draft(), by=OWNER)
    assert not service.match(said("never mind", id="m1"))
    assert ids(service.match(said(id="m1"))) == [intent.id]


def test_a_turn_that_spent_the_budget_is_still_answered(service: IntentService) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    first = service.match(said(id="m1"))
    assert service.get(intent.id).status is Status.DONE
    again = service.match(said(id="m1"))
    assert (again.duplicate, again.context, ids(again)) == (True, first.context, [intent.id])
    service.create(draft(description="Younger"), by=OWNER)
    assert ids(service.match(said(id="m1"))) == [intent.id]


def test_a_turn_is_answered_after_its_intent_was_cancelled(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    first = service.match(said(id="m1"))
    service.cancel(intent.id, by=OWNER)
    again = service.match(said(id="m1"))
    assert (again.duplicate, again.context, again[0].intent.status) == (True, first.context, Status.CANCELLED)


@pytest.mark.parametrize(
    "other",
    [
        OWNER.model_copy(update={"conversation_id": "C-kitchen"}),
        OWNER.model_copy(update={"conversation_id": None}),
        OWNER.model_copy(update={"account_id": "work"}),
        OWNER.model_copy(update={"provider": "telegram"}),
    ],
)
def test_ids_count_within_their_conversation(service: IntentService, other: Identity) -> None:
    wish = draft(channel_scope="anywhere", sender_scope="anyone", cooldown=timedelta(0))
    intent = service.create(wish, by=OWNER)
    for identity in (OWNER, other):
        matches = service.match(said(by=identity, id="1"))
        assert (ids(matches), matches.duplicate) == ([intent.id], False)


def test_an_id_is_the_same_whoever_is_said_to_have_sent_it(service: IntentService) -> None:
    service.create(draft(sender_scope="anyone", cooldown=timedelta(0)), by=OWNER)
    assert not service.match(said(by=OWNER, id="1")).duplicate
    assert service.match(said(by=ALICE, id="1")).duplicate


def test_without_an_id_every_turn_is_a_new_one(service: IntentService, engine: Engine) -> None:
    service.create(draft(cooldown=timedelta(0), max_fires=3), by=OWNER)
    for _ in range(3):
        assert not service.match(said()).duplicate
    assert count_of(engine, IntentTurn) == count_of(engine, IntentFiring) == 3


# Two processes

TURNS = 12


def _send(url: str, turn_ids: list[str]) -> list[Any]:
    """Send turns, each at the same moment as the other process; give what they were answered."""
    engine = create_engine(url)
    # A busy machine may be slow; being skipped for it is another test's subject.
    service = IntentService(sessionmaker(engine), clock=Clock(START), limits=Limits(lock_wait=timedelta(seconds=60)))
    answers = []
    for turn_id in turn_ids:
        _BARRIER.wait(timeout=60)
        matches = service.match(Turn(text=SAID, identity=OWNER, id=turn_id))
        answers.append((ids(matches), matches.context, matches.duplicate, matches.skipped))
    engine.dispose()
    return answers


def _meet_at(barrier: Any) -> None:
    global _BARRIER  # noqa: PLW0603 - a spawned process is given what it shares only once
    _BARRIER = barrier


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Callable[[Engine, list[str]], list[Any]]]:
    """Sends the same turns from two processes at once; gives both answers to each."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=_meet_at, initargs=(spawn.Barrier(2),)) as processes:

        def send(engine: Engine, turn_ids: list[str]) -> list[Any]:
            url = engine.url.render_as_string(hide_password=False)
            sent = [processes.submit(_send, url, turn_ids) for _ in range(2)]
            return list(zip(*(each.result(timeout=180) for each in sent), strict=True))

        yield send


BY_FILE_AND_SERVER = pytest.mark.parametrize("engine", ["sqlite-file", "postgresql"], indirect=True)


@BY_FILE_AND_SERVER
def test_the_same_turn_from_two_processes_fires_once_and_is_answered_the_same(
    service: IntentService, engine: Engine, two_processes: Any
) -> None:
    intent = service.create(draft(cooldown=timedelta(0), max_fires=TURNS), by=OWNER)
    answers = two_processes(engine, [f"m{n}" for n in range(TURNS)])
    for one, other in answers:
        assert one[:2] == other[:2]
        assert one[0] == [intent.id]
        assert {one[2], other[2]} == {False, True}, "one fired, the other was told so"
        assert one[3] is other[3] is None
    assert service.get(intent.id).fire_count == TURNS == len(answers)
    assert count_of(engine, IntentTurn) == count_of(engine, IntentFiring) == TURNS


@BY_FILE_AND_SERVER
def test_one_turn_that_completes_twelve_from_two_processes_fires_three(
    service: IntentService, engine: Engine, two_processes: Any
) -> None:
    created = [service.create(draft(description=f"Reminder {n}", max_fires=1), by=OWNER).id for n in range(12)]
    answers = two_processes(engine, [f"m{n}" for n in range(4)])
    for number, (one, other) in enumerate(answers):
        assert one[:2] == other[:2]
        assert one[0] == created[3 * number : 3 * number + 3]
        assert {one[2], other[2]} == {False, True}
    assert [intent.fire_count for intent in service.list()] == [1] * 12


@SHARED
def test_a_rival_with_the_same_id_is_met_at_the_turns_own_row(service: IntentService, engine: Engine) -> None:
    """Both have looked and neither has written yet: the second to write finds the first one's turn."""
    intent = service.create(draft(cooldown=timedelta(0)), by=OWNER)
    with between_look_and_lock(engine, lambda: service.match(said(id="m1"))):
        late = service.match(said(id="m1"))
    assert (ids(late), late.duplicate) == ([intent.id], True)
    assert service.get(intent.id).fire_count == 1


@SHARED
@pytest.mark.parametrize("hold", [False, True])
def test_a_rival_with_the_same_id_at_any_statement_is_one_firing(
    make_service: Callable[..., IntentService], engine: Engine, hold: bool
) -> None:
    """However the two are interleaved, one fires and the other is told so, or is too busy to be told."""
    service = make_service()
    rival = make_service(limits=Limits(lock_wait=timedelta(milliseconds=20)))
    intent = service.create(draft(cooldown=timedelta(0), max_fires=100), by=OWNER)
    for number in range(100):
        turn = said(id=f"m{number}")
        answers: list[Matches] = []
        with at_statement(
            engine,
            lambda n, _, number=number: n == number,
            lambda turn=turn, answers=answers: answers.append(rival.match(turn, hold=hold)),
        ) as met:
            answers.append(service.match(turn, hold=hold))
        assert service.get(intent.id).fire_count == number + 1, met
        if not met:
            break
        fired = [answer for answer in answers if answer and not answer.duplicate]
        assert len(fired) == 1, met
        assert all(answer.duplicate or answer.skipped == "busy" for answer in answers if answer is not fired[0]), met
        if hold:
            assert service.confirm(turn) == 1
    assert number >= 8, "a hit has eight statements, and a rival came at each"
