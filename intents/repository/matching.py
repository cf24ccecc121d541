"""Match-and-advance: look without a lock, then decide again and fire under one.

A turn without a hit costs reads only. On a hit everything is checked a second time on authoritative rows, because
between the look and the lock another process may have fired, cancelled or expired them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from intents.context import Block
from intents.errors import ConcurrentUpdate, InvalidIntent, InvocationExpired
from intents.index.base import any_stale_statement, stale_statement
from intents.lifecycle import Status
from intents.models import IntentFiring, IntentTurn, StandingIntent
from intents.repository import delivery, journal
from intents.repository.judging import TurnReading, outcomes
from intents.repository.reading import as_read
from intents.repository.work import Undo
from intents.schemas import Match, Matches, Turn

if TYPE_CHECKING:
    from intents.invocation import Invocation
    from intents.repository.work import Work

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a turn met before anything was locked.

    Attributes:
        answer: the whole answer when nothing needs to be written; else None.
        keys: rows whose trigger the turn completes, oldest first.
        truncated: True when the bound on candidates bit.
    """

    reading: TurnReading
    answer: Matches | None
    keys: Sequence[int] = ()
    truncated: bool = False


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
        candidates, truncated = _candidates(work, reading, now)
        # Asked second: what a rival with the same id took away from the candidates is then seen as its answer.
        earlier = delivery.answered(work, reading, now)
    if earlier is not None:
        return Sighting(reading, earlier)
    completed = [row.key for row in candidates if reading.decide(row).fires]
    if not completed:
        return Sighting(reading, Matches(truncated=truncated), truncated=truncated)
    return Sighting(reading, None, completed, truncated)


def warn_of_truncation(sighting: Sighting) -> None:
    """Say in the log that a turn met more candidates than it looks at."""
    if sighting.truncated:
        most = sighting.reading.settings.limits.candidates
        log.warning("A turn met more than %d candidates; the younger ones were not looked at.", most)


def _candidates(work: Work, reading: TurnReading, now: datetime) -> tuple[list[Any], bool]:
    most = work.settings.limits.candidates
    connection = work.connection
    found = work.index.candidates(
        connection,
        agent_id=work.agent_id,
        terms=reading.text.terms,
        scopes=reading.scopes,
        now=now,
        limit=most + 1,
    )
    versions = sorted(work.settings.analyzer_versions())
    values: dict[str, Any] = {"agent_id": work.agent_id}
    values.update({f"v{number}": version for number, version in enumerate(versions)})
    stale: Sequence[Any] = ()
    if connection.execute(any_stale_statement(len(versions)), values).scalar_one():
        values.update(scopes=list(reading.scopes), now=now, most=most + 1)
        stale = connection.execute(stale_statement(len(versions)), values).all()
    rows = {row.key: row for row in (*found, *stale)}
    oldest_first = [rows[key] for key in sorted(rows)]
    return oldest_first[:most], len(oldest_first) > most


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
    with work.writing(wait=lock_wait(work, invocation)):
        if invocation is not None:
            invocation.assert_active()
        now = work.settings.now()
        turn_row = None if delivery.answered(work, reading, now) else _open_turn(work, reading, hold=hold, now=now)
        if turn_row is None:
            earlier = delivery.answered(work, reading, now)
            if earlier is None:
                raise ConcurrentUpdate("Another process answered the same turn id first.", transaction_lost=True)
            return earlier
        block = Block(work.settings.limits.context_chars)
        fired: list[tuple[StandingIntent, str]] = []
        for row, verdict in outcomes(_locked_rows(work, sighting.keys), reading, now, block):
            if verdict.rule is None and verdict.keyword is not None:
                _fire_row(work, row, turn_row, keyword=verdict.keyword, now=now)
                fired.append((row, verdict.keyword))
        context = block.text()
        if context is None:
            raise Undo
        turn_row.context = context
        work.session.flush()
        work.index.remove(work.connection, [row.key for row, _ in fired if not row.is_live])
        if invocation is not None:
            invocation.assert_active()
        return Matches(
            matches=tuple(Match(intent=as_read(row, now), keyword=keyword) for row, keyword in fired),
            context=context,
            truncated=sighting.truncated,
        )
    return Matches(truncated=sighting.truncated)


def _locked_rows(work: Work, chosen: Sequence[int]) -> Sequence[StandingIntent]:
    # Exactly the chosen keys, in key order: FOR UPDATE with LIMIT would pull in another row when a rival fired one.
    return work.session.scalars(
        select(StandingIntent)
        .where(StandingIntent.agent_id == work.agent_id, StandingIntent.key.in_(list(chosen)))
        .order_by(StandingIntent.key)
        .with_for_update(),
        execution_options={"populate_existing": True},
    ).all()


def _open_turn(work: Work, reading: TurnReading, *, hold: bool, now: datetime) -> IntentTurn | None:
    """Write the turn's row first, so that two processes with one turn id meet here; None when a rival was first."""
    turn_row = delivery.turn_row(work, reading.key, lock=True)
    if turn_row is not None and not delivery.may_fire_again(turn_row, now):
        return None
    if turn_row is not None and turn_row.delivery == "held":
        delivery.release_lapsed(work, turn_row.key, now=now)
    if turn_row is None:
        turn_row = IntentTurn(
            agent_id=work.agent_id,
            turn_key=reading.key,
            turn_id=reading.turn.id,
            session_id=reading.turn.session_id,
            sent_at=reading.turn.at,
            context="",
        )
    turn_row.delivery = "held" if hold else "delivered"
    turn_row.held_until = now + work.settings.limits.hold_for if hold else None
    turn_row.matched_at = now
    try:
        with work.savepoint_for_race():
            # Added inside: making the savepoint flushes what is pending, and that must not be the turn.
            work.session.add(turn_row)
            work.session.flush()
    except IntegrityError:
        return None
    return turn_row


def _fire_row(work: Work, row: StandingIntent, turn_row: IntentTurn, *, keyword: str, now: datetime) -> None:
    def move(event: str, *, detail: str | None = None, changes: dict[str, Any] | None = None) -> None:
        journal.move(
            work.session,
            row,
            event,
            now=now,
            actor=journal.BY_TURN,
            turn_id=turn_row.turn_id,
            detail=detail,
            changes=changes,
        )

    if row.hold_has_lapsed(now):
        assert row.held_turn_key is not None  # noqa: S101 - a lapsed hold has a turn
        delivery.release_lapsed(work, row.held_turn_key, now=now)
    if row.status == Status.FIRED:
        move("rearm")
    previous = row.last_fired_at
    held = turn_row.held_until is not None
    move(
        "fire",
        detail=keyword,
        changes={
            "fire_count": row.fire_count + 1,
            "last_fired_at": now,
            "rearm_at": turn_row.held_until if held else now + row.cooldown,
            "held_turn_key": turn_row.key if held else None,
        },
    )
    work.session.add(
        IntentFiring(turn_key=turn_row.key, intent_key=row.key, entry=keyword, fired_at=now, previous_fired_at=previous)
    )
    if not held and not row.has_budget(now):
        # The database checks each status change against the table, and knows no step from armed to done.
        work.session.flush()
        move("complete")


def lock_wait(work: Work, invocation: Invocation | None) -> float:
    """Seconds to wait for a lock: the limit, or what the invocation has left."""
    limit = work.settings.limits.lock_wait.total_seconds()
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
