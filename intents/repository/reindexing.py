"""Renewing rows that another analyzer compiled, in bounded batches.

Until then they are matched all the same: such rows are always candidates and are compiled on the fly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import or_, select

from intents.errors import InvalidIntent
from intents.index.base import stale_gaps
from intents.lifecycle import is_live_sql
from intents.models import StandingIntent
from intents.repository.creation import choose_anchors_of
from intents.repository.work import check_batch
from intents.schemas import ReindexResult
from intents.triggers import compile_trigger

if TYPE_CHECKING:
    from intents.repository.work import Work


#: Keys are signed 64-bit numbers; drivers fail on anything longer.
_LAST_KEY = 2**63 - 1


def reindex(work: Work, *, after: int | None, limit: int) -> ReindexResult:
    """Compile and index up to `limit` rows afresh. See `IntentService.reindex`."""
    check_batch(limit)
    if after is not None and (type(after) is not int or abs(after) > _LAST_KEY):
        raise InvalidIntent("after", "must be ReindexResult.after of the batch before, or None for the first.")
    renewed = kept = 0
    with work.writing():
        rows = work.session.scalars(
            _stale(work, after).limit(limit + 1), execution_options={"populate_existing": True}
        ).all()
        for row in rows[:limit]:
            if _renew(work, row):
                renewed += 1
            else:
                kept += 1
        if renewed:
            work.index.tidy(work.connection, moved=renewed)
        last = rows[:limit][-1].key if rows else after
    return ReindexResult(renewed=renewed, kept=kept, after=last, more=len(rows) > limit)


def _stale(work: Work, after: int | None) -> Any:
    versions = sorted(work.settings.analyzer_versions())
    statement = select(StandingIntent).where(
        StandingIntent.agent_id == work.agent_id, is_live_sql(StandingIntent), or_(*stale_gaps(versions))
    )
    if after is not None:
        statement = statement.where(StandingIntent.key > after)
    return statement.order_by(StandingIntent.key).with_for_update()


def _renew(work: Work, row: StandingIntent) -> bool:
    analyzer = work.settings.analyzer
    try:
        compiled = compile_trigger(
            row.trigger_keywords,
            exclude=row.exclude_keywords,
            language=analyzer.require(row.language),
            within=row.within,
            analyzer=analyzer,
        )
    except InvalidIntent:
        return False
    row.clauses = compiled.to_json()
    choose_anchors_of(work, [(row, compiled)])
    row.analyzer_version = work.settings.analyzer_version(row.language)
    work.session.flush()
    work.index.add(work.connection, [row])
    return True
