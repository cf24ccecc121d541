"""Match-and-advance: look without a lock, then decide again and fire under one.

A turn without a hit costs reads only. On a hit everything is checked a second time on authoritative rows, because
between the look and the lock another process may have fired, cancelled or expired them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from intents.context import Block
from intents.errors import ConcurrentUpdate, InvalidIntent, InvocationExpired
from intents.index.base import any_stale, stale_statement
from intents.lifecycle import Status
from intents.models import IntentTurn, StandingIntent
from intents.repository import delivery, journal
from intents.repository.judging import TurnReading, outcomes
from intents.repository.reading import as_read
from intents.repository.work import Undo
from intents.schemas import Match, Matches, Turn

if TYPE_CHECKING:
    from sqlalchemy import Row, Select

    from intents.invocation import Invocation
    from intents.repository.work import Work
    from intents.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a turn met before anything was locked.

    Attributes:
        answer: the whole answer when nothing needs to be written; else None.
        keys: rows whose trigger the turn completes, oldest first.
        turns: turns whose lapsed holds are given back before anything fires: those of the rows, and the turn's own.
        candidates: how many rows the index proposed.
        truncated: True when the bound on candidates bit.
    """

    reading: TurnReading
    answer: Matches | None
    keys: Sequence[int] = ()
    turns: frozenset[int] = frozenset()
    candidates: int = 0
    truncated: bool = False

    def matches(self, fired: Sequence[Match] = (), context: str | None = None) -> Matches:
        """What fired, with what was met on the way."""
        return Matches(
            matches=tuple(fired),
            context=context,
            truncated=self.truncated,
            candidates=self.candidates,
            completed=len(self.keys),
        )


def look(work: Work, turn: Turn, *, hold: bool = False, invocation: Invocation | None = None) -> Sighting:
    """Find the rows whose trigger the turn completes; reads only, takes no lock.

    Raises:
        InvalidIntent: `hold` without a turn id, which `confirm` and `release` need.
    """
    reading = TurnReading(turn, work.settings)
    if turn.kind != "user":
        return Sighting(reading, Matches(skipped="kind"))
    if hold and reading.key is None:
        raise InvalidIntent("hold", "a held delivery is confirmed by its turn id; give Turn.id.")
    late = skip_reason(invocation)
    if late is not None:
        return Sighting(reading, skipped(late))
    now = work.settings.now()
    with work.reading():
        found = work.index.candidates(
            work.connection,
            agent_id=work.agent_id,
            terms=reading.text.terms,
            scopes=reading.scopes,
            now=now,
            limit=work.settings.limits.candidates + 1,
        )
        # Asked afterwards: what a rival with the same id took away from the candidates is then seen as its answer.
        probe = _probe(work, reading)
        if probe.stale:
            found = _with_stale(work, reading, found, now)
            probe = _probe(work, reading)
        earlier = None if probe.known is None else delivery.answered(work, reading, now)
    if earlier is not None:
        return Sighting(reading, earlier)
    candidates, truncated = _bounded(found, work.settings.limits.candidates)
    completed = [row for row in candidates if reading.decide(row).fires]
    turns = {row.held_turn_key for row in completed} | {probe.known}
    sighting = Sighting(
        reading, None, [row.key for row in completed], frozenset(turns - {None}), len(candidates), truncated
    )
    return sighting if completed else replace(sighting, answer=sighting.matches())


def warn_of_truncation(sighting: Sighting) -> None:
    """Say in the log that a turn met more candidates than it looks at."""
    if sighting.truncated:
        most = sighting.reading.settings.limits.candidates
        log.warning("A turn met more than %d candidates; the younger ones were not looked at.", most)


def _bounded(found: Sequence[Any], most: int) -> tuple[Sequence[Any], bool]:
    return found[:most], len(found) > most


@cache
def _probe_statement(versions: int) -> Select[*tuple[Any, ...]]:
    # Subqueries of one table each: SQLite then always takes the unique index; of a join it may scan the turns.
    turn = select(IntentTurn.key).where(
        IntentTurn.agent_id == bindparam("agent_id"), IntentTurn.turn_key == bindparam("turn_key")
    )
    return select(any_stale(versions).label("stale"), turn.scalar_subquery().label("known"))


def _probe(work: Work, reading: TurnReading) -> Row[Any]:
    """Ask two things at once: whether rows of another analyzer exist, and which turn has this id already."""
    values = {"turn_key": reading.key, **_stale_values(work)}
    return work.connection.execute(_probe_statement(len(values) - 2), values).one()


def _stale_values(work: Work) -> dict[str, Any]:
    versions = sorted(work.settings.analyzer_versions())
    return {"agent_id": work.agent_id, **{f"v{number}": version for number, version in enumerate(versions)}}


def _with_stale(work: Work, reading: TurnReading, found: Sequence[Any], now: datetime) -> list[Any]:
    values = _stale_values(work)
    statement = stale_statement(len(values) - 1)
    values.update(scopes=list(reading.scopes), now=now, most=work.settings.limits.candidates + 1)
    rows = {row.key: row for row in (*found, *work.connection.execute(statement, values))}
    return [rows[key] for key in sorted(rows)]


def fire(work: Work, sighting: Sighting, *, hold: bool, invocation: Invocation | None) -> Matches:
    """Fire what still fires, under the write lock; nothing is written when the invocation is over or nothing fires.

    Raises:
        ConcurrentUpdate: the lock was not free in time, or another transaction won.
    """
    try:
        if invocation is not None:
            invocation.assert_active()
        return _fire(work, sighting, hold=hold, invocation=invocation)
    except InvocationExpired as error:
        return skipped(error.cause)


def _fire(work: Work, sighting: Sighting, *, hold: bool, invocation: Invocation | None) -> Matches:
    reading = sighting.reading
    with work.writing(wait=lock_wait(work.settings, invocation)):
        if invocation is not None:
            invocation.assert_active()
        now = work.settings.now()
        block = Block(work.settings.limits.context_chars)
        firing = [
            (row, verdict.keyword)
            for row, verdict in outcomes(_locked_rows(work, sighting), reading, now, block)
            if verdict.rule is None and verdict.keyword is not None
        ]
        context = block.text()
        turn = None
        if context is not None:
            turn = delivery.open_turn(work, reading, context=context, hold=hold, now=now)
        if turn is None:
            # Nothing fires any more, or the id is known: a rival may have fired the same turn since the look.
            earlier = delivery.answered(work, reading, now)
            if earlier is not None:
                return earlier
            if context is not None:
                raise ConcurrentUpdate("Another process answered the same turn id first.", transaction_lost=True)
            raise Undo
        for row, _ in firing:
            if row.hold_has_lapsed(now):
                assert row.held_turn_key is not None  # noqa: S101 - a lapsed hold has a turn
                delivery.release_lapsed(work, row.held_turn_key, now=now)
        delivery.write_firings(work, turn, firing, now=now)
        for row, keyword in firing:
            _fire_row(work, row, turn, keyword=keyword, now=now)
        work.flush()
        retired = [row.key for row, _ in firing if not row.is_live]
        if retired:
            work.index.remove(work.connection, retired)
        if invocation is not None:
            invocation.assert_active()
        return sighting.matches([Match(intent=as_read(row, now), keyword=keyword) for row, keyword in firing], context)
    return sighting.matches()


def _locked_rows(work: Work, sighting: Sighting) -> Sequence[StandingIntent]:
    # Exactly the chosen keys: FOR UPDATE with LIMIT would pull in another row when a rival fired one. What the lapsed
    # turns fired besides is locked with them, so that nothing is locked out of order later.
    chosen = set(sighting.keys)
    rows = work.locked_intents(sorted(chosen.union(delivery.intent_keys(work, sighting.turns))))
    return [row for key, row in rows.items() if key in chosen]


def _fire_row(work: Work, row: StandingIntent, turn: delivery.OpenTurn, *, keyword: str, now: datetime) -> None:
    move = partial(journal.move, work, row, now=now, actor=journal.BY_TURN, turn_id=turn.turn_id)
    if row.status == Status.FIRED:
        move("rearm")
    held = turn.held_until is not None
    move(
        "fire",
        detail=keyword,
        changes={
            "fire_count": row.fire_count + 1,
            "last_fired_at": now,
            "rearm_at": turn.held_until if held else now + row.cooldown,
            "held_turn_key": turn.key if held else None,
        },
    )
    if not held and not row.has_budget(now):
        # The database checks each status change against the table, and knows no step from armed to done.
        work.flush()
        move("complete")


def lock_wait(settings: Settings, invocation: Invocation | None) -> float:
    """Seconds to wait for a lock: the limit, or what the invocation has left."""
    limit = settings.limits.lock_wait.total_seconds()
    remaining = None if invocation is None else invocation.remaining()
    return limit if remaining is None else min(limit, remaining)


def skip_reason(invocation: Invocation | None) -> str | None:
    """Why an invocation can no longer be answered: ``deadline`` or ``cancelled``; None when it can."""
    if invocation is None:
        return None
    try:
        invocation.assert_active()
    except InvocationExpired as error:
        return error.cause
    return None


def skipped(reason: str) -> Matches:
    """Answer a turn that came too late or met a lock, and say so once in the log."""
    log.warning("A turn was skipped (%s); nothing was spent.", reason)
    return Matches(skipped=reason)
