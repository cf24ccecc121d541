"""One process of the stress run: many turns on shared intents, with cancels, holds and a clock that jumps back."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

from intents import (
    Admin,
    ConcurrentUpdate,
    Identity,
    IntentCreate,
    IntentService,
    Limits,
    OwnerPolicy,
    TransitionNotAllowed,
    Turn,
)

OWNER = Identity(provider="slack", sender_id="owner", conversation_id="room")
TOPICS = [f"topic{number}zz" for number in range(12)]
#: Generous, because two cores run all processes; what is tested is that nothing is lost, not how fast.
LIMITS = Limits(cooldown=timedelta(0), lock_wait=timedelta(seconds=30), hold_for=timedelta(seconds=1))


class JumpingClock:
    """The machine's time, an hour back for a while every now and then."""

    def __init__(self, chance: random.Random, *, jumps: bool) -> None:
        self._chance = chance
        self._jumps = jumps

    def __call__(self) -> datetime:
        now = datetime.now(UTC)
        return now - timedelta(hours=1) if self._jumps and self._chance.random() < 0.05 else now


@contextmanager
def service(url: str, clock: Any = None) -> Iterator[IntentService]:
    engine = create_engine(url, connect_args={"timeout": 60} if url.startswith("sqlite") else {})
    yield IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:owner"]), limits=LIMITS, clock=clock)
    engine.dispose()


def draft(chance: random.Random, number: int) -> IntentCreate:
    return IntentCreate(
        description=f"Reminder {number}",
        trigger_keywords=[" ".join(chance.sample(TOPICS, chance.choice([1, 1, 2])))],
        channel_scope="anywhere",
        sender_scope="anyone",
        max_fires=chance.randint(1, 3),
    )


def run(url: str, *, seed: int, turns: int, jumps: bool) -> Counter[str]:
    """Send turns; return how often each thing happened. Any error of the library or the driver ends the process."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    with service(url, JumpingClock(chance, jumps=jumps)) as intents:
        for number in range(turns):
            _step(intents, number, chance, counts)
    return counts


def _step(intents: IntentService, number: int, chance: random.Random, counts: Counter[str]) -> None:
    turn = _turn(chance, number)
    hold = chance.random() < 0.2
    matches = intents.match(turn, hold=hold)
    counts["turns"] += 1
    counts["fires"] += 0 if matches.duplicate else len(matches)
    counts["duplicates"] += matches.duplicate
    if matches.skipped:
        counts[f"skipped: {matches.skipped}"] += 1
    if hold and matches:
        _settle(intents, turn, chance, counts)
    if chance.random() < 0.05:
        intents.create(draft(chance, chance.randint(0, 10**9)), by=OWNER)
        counts["created"] += 1
    if chance.random() < 0.01:
        _cancel_one(intents, chance, counts)
    if chance.random() < 0.01:
        intents.sweep(limit=20)


def _turn(chance: random.Random, number: int) -> Turn:
    # Ids come from a small range, so that processes often answer the same id at the same time.
    return Turn(
        text="we talk about " + " and ".join(chance.sample(TOPICS, 3)),
        identity=Identity(provider="slack", sender_id=f"user{chance.randint(0, 3)}", conversation_id="room"),
        id=f"m{number}" if chance.random() < 0.5 else f"m{chance.randint(0, 10**9)}",
    )


def _settle(intents: IntentService, turn: Turn, chance: random.Random, counts: Counter[str]) -> None:
    choice = chance.random()
    if choice < 0.45:
        counts["confirmed"] += intents.confirm(turn)
    elif choice < 0.9:
        counts["released"] += intents.release(turn, reason="suppressed")
    else:
        counts["forgotten holds"] += 1


def _cancel_one(intents: IntentService, chance: random.Random, counts: Counter[str]) -> None:
    live = intents.list(live=True, limit=50)
    if live:
        try:
            intents.cancel(chance.choice(live).id, by=Admin(name="stress"))
            counts["cancelled"] += 1
        except TransitionNotAllowed:
            counts["cancelled too late"] += 1


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    try:
        print(json.dumps(run(**arguments)))
    except ConcurrentUpdate as error:
        sys.exit(f"a lost race reached the caller: {error}")
