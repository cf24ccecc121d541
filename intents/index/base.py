"""What every prefilter promises, and how terms are written for it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import and_, or_, select

from intents.lifecycle import could_fire_sql, is_live_sql
from intents.models import StandingIntent

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Row, Select
    from sqlalchemy.orm import Session

#: What a candidate is judged by before anything is locked; rows as tuples cost a third of ORM objects.
CANDIDATE_COLUMNS = (
    StandingIntent.key,
    StandingIntent.trigger_keywords,
    StandingIntent.exclude_keywords,
    StandingIntent.language,
    StandingIntent.within,
    StandingIntent.clauses,
    StandingIntent.analyzer_version,
)

Candidate = Any
"""A row of `CANDIDATE_COLUMNS`."""


class Prefilter(Protocol):
    """An index of live intents by anchor and scope.

    Contract: `candidates` returns every row of the agent that could fire at `now`, lies in one of `scopes` and is
    indexed under one of `terms`, oldest first, up to `limit`; it may return others.
    """

    def candidates(
        self,
        session: Session,
        *,
        agent_id: str,
        terms: Collection[str],
        scopes: Collection[str],
        now: datetime,
        limit: int,
    ) -> list[Row[Any]]:
        """Return the candidates of a turn, oldest first."""

    def usage(self, session: Session, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Count the agent's live rows anchored at each term, up to a bound; absent terms count zero."""

    def add(self, session: Session, row: StandingIntent) -> None:
        """Index a live row that was flushed, or make sure that the database did.

        Raises:
            SchemaMismatch: the database lacks the trigger that should have done it.
        """

    def remove(self, session: Session, keys: Collection[int]) -> None:
        """Take retired rows out of the index, where the database does not do it by itself."""


def agent_tag(agent_id: str) -> str:
    """A short prefix that keeps one agent's terms apart from another's in the index."""
    return "a" + hashlib.blake2b(agent_id.encode(), digest_size=5).hexdigest()


def encode_terms(agent_id: str, terms: Iterable[str]) -> list[str]:
    """Write terms as ASCII letters and digits, which no full-text tokenizer splits or folds again; sorted."""
    tag = agent_tag(agent_id)
    return sorted(tag + term.encode().hex() for term in terms)


def could_fire(agent_id: str, scopes: Collection[str], now: datetime) -> list[ColumnElement[bool]]:
    """The conditions on the row itself that every prefilter shares."""
    return [
        StandingIntent.agent_id == agent_id,
        StandingIntent.scope.in_(list(scopes)),
        could_fire_sql(StandingIntent, now),
    ]


def stale_candidates(
    *, agent_id: str, scopes: Collection[str], current: Collection[str], now: datetime, limit: int
) -> Select[Any]:
    """Select rows that another analyzer indexed, whose anchors may not be this analyzer's terms.

    `current` holds the values of ``analyzer_version`` that this analyzer writes. What lies between and around them is
    asked for as ranges, which an index answers without reading the current rows; ``NOT IN`` would read them all.
    """
    versions = sorted(current)
    column = StandingIntent.analyzer_version
    gaps = [column < versions[0], *(and_(column > a, column < b) for a, b in pairwise(versions)), column > versions[-1]]
    return (
        select(*CANDIDATE_COLUMNS)
        .where(is_live_sql(StandingIntent), or_(*gaps), *could_fire(agent_id, scopes, now))
        .order_by(StandingIntent.key)
        .limit(limit)
    )
