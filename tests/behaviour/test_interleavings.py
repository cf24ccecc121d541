"""Another connection does something just before any statement of ours: nothing is lost, doubled or left half-done."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from intents import (
    ConcurrentUpdate,
    IntentNotFound,
    IntentService,
    Limits,
    TransitionNotAllowed,
)
from tests.behaviour.support import DAY, OWNER, START, Clock, at_statement, draft, said
from tests.model.soundness import assert_indexed, assert_sound, lives

HOLD = timedelta(minutes=10)

Call = Callable[[IntentService, dict[str, str]], Any]

CALLS: dict[str, Call] = {
    "match": lambda service, _: service.match(said(id="m1")),
    "match and hold": lambda service, _: service.match(said(id="m2"), hold=True),
    "match under the lapsed id": lambda service, _: service.match(said(id="lapsed")),
    "confirm": lambda service, _: service.confirm(said("other", id="held")),
    "release": lambda service, _: service.release(said("other", id="held")),
    "cancel": lambda service, known: service.cancel(known["single"], by=OWNER),
    "cancel the held": lambda service, known: service.cancel(known["held"], by=OWNER),
    "arm": lambda service, known: service.arm(known["pending"], by=OWNER),
    "create": lambda service, _: service.create(draft("new"), by=OWNER),
    "create again what has expired": lambda service, _: service.create(draft("expiring"), by=OWNER),
    "sweep": lambda service, _: service.sweep(),
}
_numbers = itertools.count()


def a_world(service: IntentService, clock: Clock) -> dict[str, str]:
    """Intents in every state that time and turns can bring about; gives their ids by what they are."""
    clock.now = START
    wishes = {
        "lapsed": draft(description="Lapsed", cooldown=timedelta(0)),
        "expiring": draft("expiring", expires_at=START + HOLD),
        "cooling": draft("cooling", cooldown=HOLD),
        "pending": draft("pending", armed=False),
    }
    known = {name: service.create(wish, by=OWNER).id for name, wish in wishes.items()}
    assert service.match(said("cooling"))
    assert service.match(said(id="lapsed"), hold=True)
    clock.advance(HOLD)
    known["single"] = service.create(draft(description="Single", max_fires=1), by=OWNER).id
    known["held"] = service.create(draft("other", cooldown=timedelta(0), max_fires=1), by=OWNER).id
    assert service.match(said("other", id="held"), hold=True)
    return known


#: Told to a caller; everything else would be a fault.
REFUSALS = (TransitionNotAllowed, ConcurrentUpdate, IntentNotFound)


@pytest.mark.parametrize(
    ("ours", "rival", "engine"),
    [
        ("match", "match under the lapsed id", "postgresql"),
        ("match and hold", "confirm", "postgresql"),
        ("sweep", "match", "postgresql"),
        ("release", "sweep", "postgresql"),
        ("match", "sweep", "sqlite-file"),
    ],
    indirect=["engine"],
)
def test_a_rival_at_any_statement_leaves_everything_sound(
    make_service: Callable[..., IntentService], engine: Engine, clock: Clock, ours: str, rival: str
) -> None:
    patience = {"ours": Limits(lock_wait=timedelta(seconds=10)), "rival": Limits(lock_wait=timedelta(milliseconds=5))}
    for number in range(200):
        agent = f"agent-{next(_numbers)}"
        mine = make_service(agent_id=agent, limits=patience["ours"])
        theirs = make_service(agent_id=agent, limits=patience["rival"])
        known = a_world(mine, clock)

        def interfere(theirs: IntentService = theirs, known: dict[str, str] = known) -> None:
            with contextlib.suppress(*REFUSALS):
                CALLS[rival](theirs, known)

        with (
            at_statement(engine, lambda n, _, number=number: n == number, interfere) as met,
            contextlib.suppress(TransitionNotAllowed),
        ):
            CALLS[ours](mine, known)
        with Session(engine) as session:
            rows = lives(session, [agent])
            for life in rows:
                assert_sound(life)
            if engine.dialect.name == "postgresql":
                assert_indexed(session, [agent], [life.row for life in rows])
        clock.advance(DAY)
        mine.sweep()
        if not met:
            break
    assert number > 3, "some statements were interfered with"
