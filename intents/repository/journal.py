"""Moves a row and writes the line of the audit log that every move must leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intents import lifecycle
from intents.lifecycle import Moved, Status
from intents.models import StandingIntent

if TYPE_CHECKING:
    from datetime import datetime

    from intents.repository.work import Work

#: Actors that are no person.
BY_TURN = "turn"
BY_SWEEP = "sweep"


#: What the log's first line says: an intent comes from nowhere and is pending.
CREATED = Moved("create", None, Status.PENDING)


def record(
    work: Work,
    row: StandingIntent,
    moved: Moved,
    *,
    now: datetime,
    actor: str,
    turn_id: str | None = None,
    detail: str | None = None,
) -> None:
    """Keep one line of a stored row's log; `Work.flush` writes all lines together, after the rows."""
    work.log.append(
        {
            "agent_id": row.agent_id,
            "intent_key": row.key,
            "event": moved.event,
            "from_status": moved.source,
            "to_status": moved.target,
            "at": now,
            "turn_id": turn_id,
            "actor": actor,
            "detail": detail,
        }
    )


def move(
    work: Work,
    row: StandingIntent,
    event: str,
    *,
    now: datetime,
    actor: str,
    turn_id: str | None = None,
    detail: str | None = None,
    changes: dict[str, Any] | None = None,
) -> None:
    """Advance a stored row by one event of the lifecycle table and log it.

    Raises:
        TransitionNotAllowed: the table or a guard refuses; row and log are as before.
    """
    moved = lifecycle.advance(event, row, now=now, changes=changes)
    record(work, row, moved, now=now, actor=actor, turn_id=turn_id, detail=detail)
