"""Forgetting finished intents with their firings and their log, in bounded batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, exists, select

from intents.errors import InvalidIntent
from intents.lifecycle import is_terminal_sql
from intents.models import IntentEvent, IntentFiring, IntentTurn, StandingIntent
from intents.repository.work import check_batch
from intents.schemas import PruneResult

if TYPE_CHECKING:
    from datetime import datetime

    from intents.repository.work import Work


def prune(work: Work, *, before: datetime, limit: int) -> PruneResult:
    """Delete up to `limit` intents that ended before a moment. See `IntentService.prune`."""
    check_batch(limit)
    if before.tzinfo is None:
        raise InvalidIntent("before", "a naive datetime was given; attach a timezone.")
    session = work.session
    with work.writing():
        keys = session.scalars(
            select(StandingIntent.key)
            .where(
                StandingIntent.agent_id == work.agent_id,
                is_terminal_sql(StandingIntent),
                StandingIntent.updated_at < before,
            )
            .order_by(StandingIntent.updated_at)
            .limit(limit + 1)
            .with_for_update(skip_locked=True)
        ).all()
        gone = keys[:limit]
        if gone:
            turns = session.scalars(
                select(IntentFiring.turn_key).where(IntentFiring.intent_key.in_(gone)).distinct()
            ).all()
            session.execute(delete(IntentEvent).where(IntentEvent.intent_key.in_(gone)))
            session.execute(delete(IntentFiring).where(IntentFiring.intent_key.in_(gone)))
            session.execute(delete(StandingIntent).where(StandingIntent.key.in_(gone)))
            # A turn is forgotten with the last intent that it fired: until then its id is still answered. One that is
            # just firing again is waited for, and stays: who holds it has locked its intents already, and waits for no
            # other.
            idle = session.scalars(
                select(IntentTurn.key).where(IntentTurn.key.in_(turns)).order_by(IntentTurn.key).with_for_update()
            ).all()
            session.execute(
                delete(IntentTurn).where(
                    IntentTurn.key.in_(idle),
                    ~exists().where(IntentFiring.turn_key == IntentTurn.key),
                    ~exists().where(StandingIntent.held_turn_key == IntentTurn.key),
                )
            )
    return PruneResult(intents=len(gone), more=len(keys) > limit)
