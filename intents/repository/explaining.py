"""The dry run: what would fire on a turn and, for every other live intent, the first rule that stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from intents.context import Block
from intents.lifecycle import is_live_sql
from intents.models import StandingIntent
from intents.repository import delivery, matching
from intents.repository.judging import TurnReading, Verdict, judge, outcomes
from intents.repository.reading import as_read, check_page, find
from intents.schemas import Explanation, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from intents.repository.work import Work


def explain(work: Work, turn: Turn, *, intent_id: str | None, after: str | None, limit: int) -> list[Explanation]:
    """Explain a page of live intents, or one intent of any status; writes nothing. See `IntentService.explain`."""
    check_page(limit)
    reading = TurnReading(turn, work.settings)
    now = work.settings.now()
    with work.reading():
        rows = [find(work, intent_id)] if intent_id is not None else _live_page(work, after=after, limit=limit)
        whole = _whole_turn(work, reading, now)
        verdicts, truncated = ({}, False) if whole is not None else _dry_run(work, turn, reading, now)
        return [
            _explained(row, whole or verdicts.get(row.key) or _alone(row, reading, now, truncated=truncated), now)
            for row in rows
        ]


def _explained(row: StandingIntent, verdict: Verdict, now: datetime) -> Explanation:
    return Explanation(
        intent=as_read(row, now),
        fires=verdict.rule is None,
        rule=verdict.rule,
        keyword=verdict.keyword,
        detail=verdict.detail,
    )


def _whole_turn(work: Work, reading: TurnReading, now: datetime) -> Verdict | None:
    """The rule that stops every intent alike, if one does."""
    if reading.turn.kind != "user":
        return Verdict("turn_kind", None, f"Turns of the kind {reading.turn.kind!r} never match.")
    if delivery.answered(work, reading, now) is not None:
        return Verdict("duplicate", None, "This turn id was answered before; it gets its first answer again.")
    return None


def _alone(row: StandingIntent, reading: TurnReading, now: datetime, *, truncated: bool) -> Verdict:
    """Judge a row that the turn does not come to; where the bound on candidates bit, it may fire by itself."""
    verdict = judge(row, reading, now)
    if verdict.rule is None and truncated:
        most = reading.settings.limits.candidates
        return Verdict("truncated", verdict.keyword, f"{most} older intents with its words are looked at before it.")
    return verdict


def _dry_run(work: Work, turn: Turn, reading: TurnReading, now: datetime) -> tuple[dict[int, Verdict], bool]:
    """Judge the rows that the turn would fire together, so that the limits of the turn are seen too."""
    sighting = matching.look(work, turn)
    rows = work.session.scalars(
        select(StandingIntent)
        .where(StandingIntent.agent_id == work.agent_id, StandingIntent.key.in_(list(sighting.keys)))
        .order_by(StandingIntent.key)
    )
    verdicts = outcomes(rows, reading, now, Block(work.settings.limits.context_chars))
    return {row.key: verdict for row, verdict in verdicts}, sighting.truncated


def _live_page(work: Work, *, after: str | None, limit: int) -> Sequence[StandingIntent]:
    statement = select(StandingIntent).where(StandingIntent.agent_id == work.agent_id, is_live_sql(StandingIntent))
    if after is not None:
        statement = statement.where(StandingIntent.key > find(work, after).key)
    return work.session.scalars(statement.order_by(StandingIntent.key).limit(limit)).all()
