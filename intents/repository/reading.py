"""Rows as the frozen values that callers get: one intent, pages of intents, an intent's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from sqlalchemy import select

from intents.errors import IntentNotFound, InvalidIntent
from intents.lifecycle import LIVE, Status, effective_status, effective_status_sql, is_live_sql
from intents.models import IntentEvent, StandingIntent
from intents.repository.work import check_intent_id
from intents.schemas import ChannelScope, Identity, IntentEventRead, IntentRead, SenderScope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from intents.repository.work import Work

#: Longest page of a listing.
PAGE = 1000


def as_read(row: StandingIntent, now: datetime, *, advice: Sequence[str] = ()) -> IntentRead:
    """Copy a row into a value, with the status that it has at `now`."""
    return IntentRead(
        id=row.id,
        agent_id=row.agent_id,
        description=row.description,
        trigger_keywords=list(row.trigger_keywords),
        exclude_keywords=list(row.exclude_keywords),
        language=row.language,
        within=row.within,
        channel_scope=cast("ChannelScope", row.channel_scope),
        sender_scope=cast("SenderScope", row.sender_scope),
        conversation_id=row.conversation_id,
        sender_id=row.sender_id,
        creator=Identity(
            provider=row.creator_provider,
            account_id=row.creator_account,
            sender_id=row.creator_sender,
            conversation_id=row.creator_conversation,
        ),
        status=effective_status(row, now),
        fire_count=row.fire_count,
        max_fires=row.max_fires,
        cooldown=row.cooldown,
        expires_at=row.expires_at,
        last_fired_at=row.last_fired_at,
        rearm_at=row.rearm_at,
        created_at=row.created_at,
        advice=tuple(advice),
    )


def find(work: Work, intent_id: str) -> StandingIntent:
    """Return the agent's row of this id, or raise `IntentNotFound`."""
    check_intent_id(intent_id)
    row = work.session.scalars(
        select(StandingIntent).where(StandingIntent.agent_id == work.agent_id, StandingIntent.id == intent_id)
    ).one_or_none()
    if row is None:
        raise IntentNotFound(intent_id)
    return row


def ids_beginning_with(work: Work, beginning: str, *, most: int) -> Sequence[str]:
    """Return up to `most` ids of the agent that begin with a text, in their order; it may hold any character."""
    return work.session.scalars(
        select(StandingIntent.id)
        .where(StandingIntent.agent_id == work.agent_id, StandingIntent.id.startswith(beginning, autoescape=True))
        .order_by(StandingIntent.id)
        .limit(most)
    ).all()


def check_page(limit: int) -> None:
    """Refuse a page size that is not 1 to 1000 with `InvalidIntent`."""
    if not 1 <= limit <= PAGE:
        raise InvalidIntent("limit", f"a page holds 1 to {PAGE} intents; use after= for the next page.")


def page(
    work: Work, *, status: Status | str | None, live: bool, after: str | None, limit: int, now: datetime
) -> Sequence[StandingIntent]:
    """Return rows of the agent, oldest first, by effective status.

    Raises:
        IntentNotFound: `after` is no intent of the agent.
        InvalidIntent: `limit` is not 1 to 1000, or there is no such status.
    """
    check_page(limit)
    statement = select(StandingIntent).where(StandingIntent.agent_id == work.agent_id)
    effective = effective_status_sql(StandingIntent, now)
    if status is not None:
        statement = statement.where(effective == _known(status))
    if live:
        statement = statement.where(is_live_sql(StandingIntent), effective.in_(LIVE))
    if after is not None:
        statement = statement.where(StandingIntent.key > find(work, after).key)
    return work.session.scalars(statement.order_by(StandingIntent.key).limit(limit)).all()


def _known(status: Status | str) -> Status:
    try:
        return Status(status)
    except (ValueError, TypeError):
        *values, last = Status
        raise InvalidIntent("status", f"must be {', '.join(values)} or {last}.") from None


def log_of(work: Work, intent_id: str) -> list[IntentEventRead]:
    """Return the audit log of one intent, oldest first."""
    row = find(work, intent_id)
    events = work.session.scalars(
        select(IntentEvent)
        .where(IntentEvent.agent_id == work.agent_id, IntentEvent.intent_key == row.key)
        .order_by(IntentEvent.key)
    )
    return [
        IntentEventRead(
            event=event.event,
            from_status=event.from_status,
            to_status=event.to_status,
            at=event.at,
            turn_id=event.turn_id,
            actor=event.actor,
            detail=event.detail,
        )
        for event in events
    ]
