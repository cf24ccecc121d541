"""Numbers about an agent's intents: how many stand where, how often they fired."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from intents.errors import InvalidIntent
from intents.lifecycle import LIVE, Status, effective_status_sql, is_live_sql
from intents.models import IntentEvent, IntentFiring, IntentTurn, StandingIntent
from intents.schemas import Activity, IntentFires, Moves, Statistics

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


def activity(work: Work, *, days: int, intents: int) -> Activity:
    """Count fires by day and by intent, and moves by arrow; see `IntentService.activity`."""
    for name, value, largest in (("days", days, 3660), ("intents", intents, 1000)):
        if not 1 <= value <= largest:
            raise InvalidIntent(name, f"give 1 to {largest:,}.")
    now = work.settings.now()
    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
    by_day = {(first + timedelta(days=day)).date(): 0 for day in range(days)}
    by_intent: Counter[int] = Counter()
    status = effective_status_sql(StandingIntent, now).label("effective_status")
    mine = StandingIntent.agent_id == work.agent_id
    with work.reading():
        fired = work.session.execute(
            select(IntentFiring.fired_at, IntentFiring.intent_key)
            .join(StandingIntent, StandingIntent.key == IntentFiring.intent_key)
            .where(mine, IntentFiring.released_at.is_(None), IntentFiring.fired_at >= first)
            .execution_options(yield_per=5_000)
        )
        for fired_at, key in fired:
            # A clock that was set back may have left firings of tomorrow.
            if fired_at.date() in by_day:
                by_day[fired_at.date()] += 1
                by_intent[key] += 1
        most = by_intent.most_common(intents)
        told = {
            row.key: row
            for row in work.session.execute(
                select(StandingIntent.key, StandingIntent.id, StandingIntent.description).where(
                    StandingIntent.key.in_([key for key, _ in most])
                )
            )
        }
        counted = {
            Status(value): count
            for value, count in work.session.execute(select(status, func.count()).where(mine).group_by(status))
        }
        moves = work.session.execute(
            select(IntentEvent.event, IntentEvent.from_status, IntentEvent.to_status, func.count())
            .where(IntentEvent.agent_id == work.agent_id)
            .group_by(IntentEvent.event, IntentEvent.from_status, IntentEvent.to_status)
            .order_by(IntentEvent.event, IntentEvent.from_status)
        ).all()
    return Activity(
        by_status=dict.fromkeys(Status, 0) | counted,
        by_day=by_day,
        by_intent=tuple(
            IntentFires(id=told[key].id, description=told[key].description, fires=fires)
            for key, fires in most
            if key in told  # a prune may have come between
        ),
        moves=tuple(
            Moves(event=event, from_status=source, to_status=target, count=count)
            for event, source, target, count in moves
        ),
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
