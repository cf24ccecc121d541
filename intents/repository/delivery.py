"""Turns that were answered already, and firings that await the delivery of their reply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select

from intents import keys, locks
from intents.errors import ConcurrentUpdate, InvalidIntent
from intents.models import IntentFiring, IntentTurn, StandingIntent
from intents.repository import journal
from intents.repository.reading import as_read
from intents.schemas import Match, Matches, Turn

if TYPE_CHECKING:
    from sqlalchemy import Row, Select

    from intents.repository.judging import TurnReading
    from intents.repository.work import Work

LAPSED = "the hold lapsed"

_WRITE_FIRINGS = insert(IntentFiring)


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that is about to fire: its row's key, its id, and until when its firings wait for their reply."""

    key: int
    turn_id: str | None
    held_until: datetime | None


def _turn_row(work: Work, turn_key: str) -> IntentTurn | None:
    """Return and lock the row of a turn; None when it never fired anything."""
    return work.session.scalars(
        select(IntentTurn)
        .where(IntentTurn.agent_id == work.agent_id, IntentTurn.turn_key == turn_key)
        .with_for_update(),
        execution_options={"populate_existing": True},
    ).one_or_none()


def _may_fire_again(turn: IntentTurn | Row[Any], now: datetime) -> bool:
    """Whether what a known turn fired was given back, or is held by a hold that has lapsed."""
    return turn.delivery == "released" or (turn.held_until is not None and turn.held_until <= now)


@cache
def _answer_statement() -> Select[*tuple[Any, ...]]:
    return select(IntentTurn.key, IntentTurn.delivery, IntentTurn.held_until, IntentTurn.context).where(
        IntentTurn.agent_id == bindparam("agent_id"), IntentTurn.turn_key == bindparam("turn_key")
    )


def answered(work: Work, reading: TurnReading, now: datetime) -> Matches | None:
    """Return the first answer to a repeated turn id; None for a new turn and for one whose firings were given back."""
    if reading.key is None:
        return None
    turn = work.connection.execute(_answer_statement(), {"agent_id": work.agent_id, "turn_key": reading.key}).first()
    if turn is None or _may_fire_again(turn, now):
        return None
    rows = work.session.execute(
        select(IntentFiring, StandingIntent)
        .join(StandingIntent, StandingIntent.key == IntentFiring.intent_key)
        .where(IntentFiring.turn_key == turn.key, IntentFiring.released_at.is_(None))
        .order_by(IntentFiring.key)
    ).all()
    return Matches(
        matches=tuple(Match(intent=as_read(intent, now), keyword=firing.entry) for firing, intent in rows),
        context=turn.context,
        duplicate=True,
    )


def open_turn(work: Work, reading: TurnReading, *, context: str, hold: bool, now: datetime) -> OpenTurn | None:
    """Write the turn's row before it fires, so that two processes with one turn id meet here.

    Returns:
        The turn; None when its id was answered already.
    """
    turn = reading.turn
    held_until = now + work.settings.limits.hold_for if hold else None
    state = {
        "delivery": "held" if hold else "delivered",
        "held_until": held_until,
        "context": context,
        "matched_at": now,
    }
    new = {"agent_id": work.agent_id, "turn_key": reading.key, "turn_id": turn.id, "session_id": turn.session_id}
    key = work.connection.execute(
        locks.claim_turn_statement(work.connection.dialect.name), {**new, "sent_at": turn.at, **state}
    ).scalar()
    if key is not None:
        return OpenTurn(key, turn.id, held_until)
    assert reading.key is not None  # noqa: S101 - a turn without an id meets no other
    row = _turn_row(work, reading.key)
    if row is None or not _may_fire_again(row, now):
        return None
    if row.delivery == "held":
        release_lapsed(work, row.key, now=now)
    for name, value in state.items():
        setattr(row, name, value)
    work.session.flush()
    return OpenTurn(row.key, row.turn_id, held_until)


def write_firings(work: Work, turn: OpenTurn, firing: Sequence[tuple[StandingIntent, str]], *, now: datetime) -> None:
    """Write down which rows fire on a turn, by which keyword, and when each fired before."""
    work.connection.execute(
        _WRITE_FIRINGS,
        [
            {
                "turn_key": turn.key,
                "intent_key": row.key,
                "entry": keyword,
                "fired_at": now,
                "previous_fired_at": row.last_fired_at,
            }
            for row, keyword in firing
        ],
    )


def confirm(work: Work, turn: Turn) -> int:
    """Settle a held turn as delivered; see `IntentService.confirm`."""
    key = _required_key(work, turn)
    with work.writing():
        now = work.settings.now()
        rows = work.locked_intents(intent_keys(work, _keys_of(work, key)))
        held = _turn_row(work, key)
        if held is None or held.held_until is None or held.held_until <= now:
            return 0
        firings = _firings(work, held, rows)
        for firing, row in firings:
            if not _settles(work, held, row, now):
                continue
            row.held_turn_key = None
            row.rearm_at = firing.fired_at + row.cooldown
            row.updated_at = now
            if not row.has_budget(now):
                journal.move(work, row, "complete", now=now, actor=journal.BY_TURN, turn_id=held.turn_id)
        held.delivery, held.held_until = "delivered", None
        work.flush()
        work.index.remove(work.connection, [row.key for _, row in firings if not row.is_live])
    return len(firings)


def release(work: Work, turn: Turn, *, reason: str | None) -> int:
    """Give the firings of a held turn back; see `IntentService.release`."""
    key = _required_key(work, turn)
    with work.writing():
        rows = work.locked_intents(intent_keys(work, _keys_of(work, key)))
        held = _turn_row(work, key)
        if held is None or held.delivery != "held":
            return 0
        firings = _firings(work, held, rows)
        _release_turn(work, held, firings, now=work.settings.now(), reason=reason, actor=journal.BY_TURN)
    return len(firings)


def release_lapsed(work: Work, turn_key: int, *, now: datetime, wait: bool = True) -> int:
    """Give back the firings of a turn whose hold nobody settled in time; it may fire again under its id.

    Args:
        work: the unit of work.
        turn_key: the turn's row.
        now: the clock's time.
        wait: False passes over a turn that somebody else is working on.

    Returns:
        How many rows were moved; 0 when somebody settled the turn meanwhile.
    """
    work.flush()
    rows = work.locked_intents(intent_keys(work, [turn_key]), wait=wait)
    held = work.session.scalars(
        select(IntentTurn).where(IntentTurn.key == turn_key).with_for_update(skip_locked=not wait),
        execution_options={"populate_existing": True},
    ).one_or_none()
    if held is None or held.held_until is None or held.held_until > now:
        return 0
    try:
        firings = _firings(work, held, rows)
    except ConcurrentUpdate:
        if wait:
            raise
        return 0
    return _release_turn(work, held, firings, now=now, reason=LAPSED, actor=journal.BY_SWEEP)


def _release_turn(
    work: Work,
    held: IntentTurn,
    firings: Sequence[tuple[IntentFiring, StandingIntent]],
    *,
    now: datetime,
    reason: str | None,
    actor: str,
) -> int:
    moved = 0
    for firing, row in firings:
        if _settles(work, held, row, now):
            _give_back(work, row, firing, turn_id=held.turn_id, now=now, detail=reason, actor=actor)
            moved += 1
        firing.released_at = now
    held.delivery, held.held_until = "released", None
    work.flush()
    work.index.remove(work.connection, [row.key for _, row in firings if not row.is_live])
    return moved


def _settles(work: Work, held: IntentTurn, row: StandingIntent, now: datetime) -> bool:
    """Tell whether settling a turn moves this row; one that was cancelled or has expired stays as it is.

    An expiry that nobody has written down yet is written now: the row must not wait for a turn that is settled.
    """
    if row.held_turn_key != held.key:
        return False
    if row.has_expired(now):
        journal.move(work, row, "expire", now=now, actor=journal.BY_SWEEP)
        return False
    return True


def _give_back(
    work: Work,
    row: StandingIntent,
    firing: IntentFiring,
    *,
    turn_id: str | None,
    now: datetime,
    detail: str | None,
    actor: str,
) -> None:
    previous = firing.previous_fired_at
    changes: dict[str, Any] = {
        "fire_count": row.fire_count - 1,
        "last_fired_at": previous,
        "rearm_at": None if previous is None else previous + timedelta(seconds=row.cooldown_seconds),
        "held_turn_key": None,
    }
    journal.move(work, row, "release", now=now, actor=actor, turn_id=turn_id, detail=detail, changes=changes)


def intent_keys(work: Work, turn_keys: Collection[int]) -> list[int]:
    """Return the intents that turns fired and that were not given back, in key order; locks nothing."""
    if not turn_keys:
        return []
    fired = select(IntentFiring.intent_key).where(
        IntentFiring.turn_key.in_(list(turn_keys)), IntentFiring.released_at.is_(None)
    )
    return sorted(set(work.session.scalars(fired)))


def _keys_of(work: Work, turn_key: str) -> Sequence[int]:
    return work.session.scalars(
        select(IntentTurn.key).where(IntentTurn.agent_id == work.agent_id, IntentTurn.turn_key == turn_key)
    ).all()


def _firings(
    work: Work, turn: IntentTurn, rows: Mapping[int, StandingIntent]
) -> Sequence[tuple[IntentFiring, StandingIntent]]:
    """Pair the firings of a locked turn with the intents that were locked before it.

    Raises:
        ConcurrentUpdate: the turn fired something else between the look at its firings and the lock.
    """
    firings = work.session.scalars(
        select(IntentFiring)
        .where(IntentFiring.turn_key == turn.key, IntentFiring.released_at.is_(None))
        .order_by(IntentFiring.intent_key),
        execution_options={"populate_existing": True},
    ).all()
    if any(firing.intent_key not in rows for firing in firings):
        raise ConcurrentUpdate("The same turn fired again meanwhile.", transaction_lost=True)
    return [(firing, rows[firing.intent_key]) for firing in firings]


def _required_key(work: Work, turn: Turn) -> str:
    key = keys.turn_key(work.agent_id, turn.identity, turn.id)
    if key is None:
        raise InvalidIntent("turn.id", "a held delivery is settled by its turn id; give the id that match had.")
    return key
