"""What must be true of a database after any load, whoever was killed in between."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session

from intents.lifecycle import TRANSITIONS
from intents.models import IntentEvent, IntentFiring, IntentTurn, StandingIntent, intent_anchors


def faults(engine: Engine, *, fires_per_turn: int = 3) -> list[str]:
    """List every broken promise in words; empty when all are kept."""
    found: list[str] = []
    with Session(engine) as session:
        intents = list(session.scalars(select(StandingIntent)))
        firings = list(session.scalars(select(IntentFiring)))
        events = list(session.scalars(select(IntentEvent).order_by(IntentEvent.key)))
        turns = {turn.key: turn for turn in session.scalars(select(IntentTurn))}
    kept = [firing for firing in firings if firing.released_at is None]
    found += _rows(intents, kept)
    found += _counts(intents, events, firings)
    found += _logs(intents, events, firings)
    found += _turns(turns, kept, fires_per_turn)
    found += _index(engine, {row.key for row in intents if row.is_live})
    return found


def _rows(intents: list[StandingIntent], kept: list[IntentFiring]) -> list[str]:
    fires: dict[int, int] = defaultdict(int)
    for firing in kept:
        fires[firing.intent_key] += 1
    found = []
    for row in intents:
        if row.fire_count > row.max_fires:
            found.append(f"{row.id} fired {row.fire_count} times with a budget of {row.max_fires}")
        if row.is_live and row.fire_count != fires[row.key]:
            found.append(f"{row.id} counts {row.fire_count} fires and has {fires[row.key]} firings")
    return found


def _counts(intents: list[StandingIntent], events: list[IntentEvent], firings: list[IntentFiring]) -> list[str]:
    # A firing given back after its intent was cancelled or had expired marks the turn alone: the row stays as it ended.
    fires = Counter(event.intent_key for event in events if event.event == "fire")
    released = Counter(event.intent_key for event in events if event.event == "release")
    given_back = Counter(firing.intent_key for firing in firings if firing.released_at is not None)
    found = []
    for row in intents:
        if row.fire_count != fires[row.key] - released[row.key]:
            found.append(f"{row.id} counts {row.fire_count}; its log has {fires[row.key]} − {released[row.key]} fires")
        if not released[row.key] <= given_back[row.key] <= released[row.key] + (not row.is_live):
            found.append(f"{row.id} was released {released[row.key]} times, {given_back[row.key]} firings say so")
    return found


def _logs(intents: list[StandingIntent], events: list[IntentEvent], firings: list[IntentFiring]) -> list[str]:
    arrows = {(t.event, source.value, t.target.value) for t in TRANSITIONS for source in t.sources}
    by_intent: dict[int, list[IntentEvent]] = defaultdict(list)
    for event in events:
        by_intent[event.intent_key].append(event)
    fired: dict[int, int] = defaultdict(int)
    for firing in firings:
        fired[firing.intent_key] += 1
    found = []
    for row in intents:
        log = by_intent[row.key]
        status: Any = None
        for event in log:
            if event.from_status != status:
                found.append(f"{row.id}: {event.event} starts from {event.from_status}, the log stood at {status}")
            if event.event != "create" and (event.event, event.from_status, event.to_status) not in arrows:
                found.append(f"{row.id}: {event.event} {event.from_status} → {event.to_status} is not in the table")
            status = event.to_status
        if status != row.status:
            found.append(f"{row.id} is {row.status}, its log ends with {status}")
        if sum(event.event == "fire" for event in log) != fired[row.key]:
            found.append(f"{row.id}: the log has another number of fires than there are firings")
    return found


def _turns(turns: dict[int, IntentTurn], kept: list[IntentFiring], fires_per_turn: int) -> list[str]:
    by_turn: dict[int, list[int]] = defaultdict(list)
    for firing in kept:
        by_turn[firing.turn_key].append(firing.intent_key)
    found = []
    for key, fired in by_turn.items():
        if key not in turns:
            found.append(f"a firing speaks of turn {key}, which does not exist")
        if len(fired) > fires_per_turn:
            found.append(f"turn {key} fired {len(fired)} intents")
        if len(set(fired)) != len(fired):
            found.append(f"turn {key} fired one intent twice")
    return found


def _index(engine: Engine, live: set[int]) -> list[str]:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(
                text("INSERT INTO standing_intents_fts (standing_intents_fts) VALUES ('integrity-check')")
            )
            indexed = set(connection.scalars(text("SELECT rowid FROM standing_intents_fts")))
        else:
            indexed = set(connection.scalars(select(intent_anchors.c.intent_key)))
    return [] if indexed == live else [f"the index has {sorted(indexed ^ live)} more or less than the live rows"]
