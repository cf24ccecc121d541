"""What must hold of the library's rows at any moment, whatever was done to them and by whom."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from intents import IntentEvent, IntentFiring, StandingIntent, Status
from intents.lifecycle import LIVE, TRANSITIONS

ARROWS = {(move.event, source, move.target) for move in TRANSITIONS for source in move.sources}


class Life(NamedTuple):
    """An intent with its log and with the firings that were not given back, each in the order of their keys."""

    row: StandingIntent
    log: Sequence[IntentEvent]
    firings: Sequence[IntentFiring]


def lives(session: Session, agents: Collection[str]) -> list[Life]:
    """Read all that is known of the agents' intents, oldest first."""
    rows = session.scalars(
        select(StandingIntent).where(StandingIntent.agent_id.in_(agents)).order_by(StandingIntent.key),
        execution_options={"populate_existing": True},
    ).all()
    log: dict[int, list[IntentEvent]] = {row.key: [] for row in rows}
    for line in session.scalars(select(IntentEvent).where(IntentEvent.agent_id.in_(agents)).order_by(IntentEvent.key)):
        log[line.intent_key].append(line)
    firings: dict[int, list[IntentFiring]] = {row.key: [] for row in rows}
    for firing in session.scalars(
        select(IntentFiring)
        .where(IntentFiring.intent_key.in_(list(firings)), IntentFiring.released_at.is_(None))
        .order_by(IntentFiring.key)
    ):
        firings[firing.intent_key].append(firing)
    return [Life(row, log[row.key], firings[row.key]) for row in rows]


def assert_sound(life: Life) -> None:
    """Hold one intent against its log, its firings and its bounds."""
    row, log, firings = life
    assert row.fire_count <= row.max_fires
    # The log tells the row's whole life, in moves that the table allows.
    assert (log[0].event, log[0].from_status, log[0].to_status) == ("create", None, Status.PENDING)
    for before, line in itertools.pairwise(log):
        assert line.from_status == before.to_status
        assert (line.event, line.from_status, line.to_status) in ARROWS
    assert log[-1].to_status == row.status
    # The count is what was fired and not given back.
    happened = [line.event for line in log]
    assert row.fire_count == happened.count("fire") - happened.count("release")
    if row.status not in (Status.CANCELLED, Status.EXPIRED):
        assert row.fire_count == len(firings)
    for earlier, later in itertools.pairwise(firings):
        assert later.fired_at >= earlier.fired_at + row.cooldown, "no fire within the cooldown"
    assert all(firing.fired_at < row.expires_at for firing in firings), "no fire after the expiry"


def assert_indexed(session: Session, agents: Collection[str], rows: Collection[StandingIntent]) -> None:
    """Hold the index against the rows: whole, and exactly the live ones under their anchors."""
    live = {row.key: row for row in rows if row.status in LIVE}
    if session.get_bind().dialect.name == "sqlite":
        session.execute(text("INSERT INTO standing_intents_fts(standing_intents_fts) VALUES ('integrity-check')"))
        indexed: list[Any] = list(
            session.execute(text("SELECT rowid, anchors, scope FROM standing_intents_fts ORDER BY rowid"))
        )
        assert indexed == [(key, row.anchors, row.scope) for key, row in live.items()]
        return
    terms = text("SELECT intent_key, term FROM standing_intent_anchors WHERE agent_id = ANY(:agents)")
    found = {tuple(line) for line in session.execute(terms, {"agents": list(agents)})}
    assert found == {(key, term) for key, row in live.items() for term in row.anchors.split()}
