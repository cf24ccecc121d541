"""Tidying up what time has already decided: lapsed holds, expiries, ended cooldowns; in bounded batches.

Nothing depends on it: eligibility is computed from times. It costs O(rows due), through partial indexes on live rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, insert, literal, null, select, update

from intents import lifecycle
from intents.models import IntentEvent, StandingIntent
from intents.repository import delivery, journal
from intents.repository.work import check_batch
from intents.schemas import SweepResult

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Select

    from intents.repository.work import Work


def sweep(work: Work, *, limit: int) -> SweepResult:
    """Move up to `limit` due rows; takes no lock when nothing is due. See `IntentService.sweep`."""
    check_batch(limit)
    now = work.settings.now()
    with work.reading():
        if not _anything_due(work, now):
            return SweepResult()
    with work.writing():
        now = work.settings.now()
        # Expiry comes first: a row that has expired takes no firing back.
        expired = _bulk(work, "expire", now=now, limit=limit)
        released = _release(work, now=now, limit=limit - expired)
        rearmed = _bulk(work, "rearm", now=now, limit=limit - expired - released)
        moved = released + expired + rearmed
        if moved:
            work.index.tidy(work.connection, moved=moved)
        more = moved >= limit and _anything_due(work, now)
    return SweepResult(expired=expired, rearmed=rearmed, released=released, more=more)


#: The time that makes a row due, as the partial indexes have it.
_DUE_AT: Final[dict[str, Any]] = {"expire": StandingIntent.expires_at, "rearm": StandingIntent.rearm_at}


def _is_due(event: str, now: datetime) -> ColumnElement[bool]:
    # The guards say the same, but with an OR that no index answers.
    return and_(lifecycle.permits_sql(event, StandingIntent, now), _DUE_AT[event] <= now)


def _lapsed(now: datetime) -> ColumnElement[bool]:
    return lifecycle.permits_sql("release", StandingIntent, now) & StandingIntent.hold_has_lapsed(now)


def _due(work: Work, condition: ColumnElement[bool], limit: int) -> Select[Any]:
    return (
        select(StandingIntent.key)
        .where(StandingIntent.agent_id == work.agent_id, condition)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )


def _anything_due(work: Work, now: datetime) -> bool:
    conditions = (_lapsed(now), _is_due("expire", now), _is_due("rearm", now))
    return any(
        work.session.execute(
            select(StandingIntent.key).where(StandingIntent.agent_id == work.agent_id, condition).limit(1)
        ).first()
        for condition in conditions
    )


def _release(work: Work, *, now: datetime, limit: int) -> int:
    if limit <= 0:
        return 0
    held_turns = work.session.scalars(
        select(StandingIntent.held_turn_key)
        .where(StandingIntent.agent_id == work.agent_id, _lapsed(now))
        .distinct()
        .limit(limit)
    ).all()
    return sum(delivery.release_lapsed(work, key, now=now, wait=False) for key in held_turns if key is not None)


def _bulk(work: Work, event: str, *, now: datetime, limit: int) -> int:
    if limit <= 0:
        return 0
    # The ids are picked and locked first, so that the log and the update speak of exactly the same rows.
    keys = work.session.scalars(_due(work, _is_due(event, now), limit)).all()
    if not keys:
        return 0
    picked = StandingIntent.key.in_(keys)
    work.flush()
    work.session.execute(
        insert(IntentEvent).from_select(
            ["agent_id", "intent_key", "event", "from_status", "to_status", "at", "turn_id", "actor", "detail"],
            select(
                StandingIntent.agent_id,
                StandingIntent.key,
                literal(event),
                StandingIntent.status,
                literal(lifecycle.target_of(event), StandingIntent.status.type),
                literal(now, StandingIntent.created_at.type),
                null(),
                literal(journal.BY_SWEEP),
                null(),
            ).where(picked),
        )
    )
    work.session.execute(
        update(StandingIntent).where(picked).values(lifecycle.bulk_values(event, StandingIntent, now=now)),
        execution_options={"synchronize_session": False},
    )
    if lifecycle.target_of(event) not in lifecycle.LIVE:
        work.index.remove(work.connection, keys)
    return len(keys)
