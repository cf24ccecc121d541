"""Numbers about an agent's intents: how many stand where, how often they fired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from intents.lifecycle import LIVE, Status, effective_status_sql, is_live_sql
from intents.models import IntentFiring, IntentTurn, StandingIntent
from intents.schemas import Statistics

if TYPE_CHECKING:
    from datetime import datetime

    from intents.repository.work import Work


def statistics(work: Work) -> Statistics:
    """Count an agent's intents; reads every row of the agent once, in the database."""
    now = work.settings.now()
    mine = StandingIntent.agent_id == work.agent_id
    # Labelled, because grouping by the expression itself would bind its parameters a second time.
    status = effective_status_sql(StandingIntent, now).label("effective_status")
    with work.reading():
        rows = work.session.execute(
            select(
                status,
                func.count(),
                func.max(StandingIntent.last_fired_at),
                func.min(StandingIntent.expires_at),
            )
            .where(mine)
            .group_by(status)
        ).all()
        released = IntentFiring.released_at.is_not(None)
        firings: dict[bool, int] = {
            bool(given_back): count
            for given_back, count in work.session.execute(
                select(released, func.count())
                .join(StandingIntent, StandingIntent.key == IntentFiring.intent_key)
                .where(mine)
                .group_by(released)
            )
        }
        turns = work.session.scalar(
            select(func.count()).where(IntentTurn.agent_id == work.agent_id, IntentTurn.delivery != "released")
        )
    by_status = dict.fromkeys(Status, 0) | {Status(status): count for status, count, _, _ in rows}
    return Statistics(
        by_status=by_status,
        firings=firings.get(False, 0),
        released=firings.get(True, 0),
        turns=turns or 0,
        last_fired_at=_latest([fired for _, _, fired, _ in rows]),
        next_expiry=min((expiry for status, _, _, expiry in rows if status in LIVE), default=None),
    )


def count_live(work: Work) -> dict[Status, int]:
    """Count an agent's live intents by the status that they have now; reads the live rows only."""
    now = work.settings.now()
    status = effective_status_sql(StandingIntent, now).label("effective_status")
    with work.reading():
        counted = work.session.execute(
            select(status, func.count())
            .where(StandingIntent.agent_id == work.agent_id, is_live_sql(StandingIntent))
            .group_by(status)
        )
        counts = {Status(value): count for value, count in counted}
    return {each: counts.get(each, 0) for each in LIVE}


def _latest(moments: list[datetime | None]) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)
