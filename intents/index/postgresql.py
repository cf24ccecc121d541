"""The prefilter on PostgreSQL: a table of (agent, scope, term, intent), kept by the repository.

Read with ``scope = ANY(…) AND term = ANY(…)`` against the primary key; arrays with GIN and ``&&`` are planned badly.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Text, any_, bindparam, delete, func, insert, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY

from intents.index.base import CANDIDATE_COLUMNS, NOW, encode_terms
from intents.lifecycle import could_fire_sql
from intents.models import StandingIntent, intent_anchors

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select

USAGE_BOUND: Final = 1000
_TEXTS = ARRAY(Text)


@cache
def candidates_statement() -> Select[Any]:
    """The prefilter query; binds ``agent_id``, ``scopes``, ``terms``, ``now`` and ``most``."""
    keys = (
        select(intent_anchors.c.intent_key)
        .where(
            intent_anchors.c.agent_id == bindparam("agent_id"),
            intent_anchors.c.scope == any_(bindparam("scopes", type_=_TEXTS)),
            intent_anchors.c.term == any_(bindparam("terms", type_=_TEXTS)),
        )
        .distinct()
    )
    return (
        select(*CANDIDATE_COLUMNS)
        .where(
            StandingIntent.key.in_(keys),
            StandingIntent.agent_id == bindparam("agent_id"),
            could_fire_sql(StandingIntent, NOW),
        )
        .order_by(StandingIntent.key)
        .limit(bindparam("most"))
    )


@cache
def _usage_statement() -> Select[Any]:
    term = func.unnest(bindparam("terms", type_=_TEXTS)).table_valued("term", name="asked").render_derived().c.term
    rows = (
        select(literal_column("1"))
        .where(intent_anchors.c.agent_id == bindparam("agent_id"), intent_anchors.c.term == term)
        .limit(USAGE_BOUND)
        .correlate(term.table)
        .subquery()
    )
    return select(term, select(func.count()).select_from(rows).scalar_subquery())


class PostgresqlIndex:
    """The anchor table as the prefilter."""

    def candidates(
        self,
        connection: Connection,
        *,
        agent_id: str,
        terms: Collection[str],
        scopes: Collection[str],
        now: datetime,
        limit: int,
    ) -> list[Row[Any]]:
        """Return the candidates of a turn, oldest first; see `Prefilter.candidates`."""
        values = {
            "agent_id": agent_id,
            "scopes": sorted(scopes),
            "terms": encode_terms(agent_id, terms),
            "now": now,
            "most": limit,
        }
        return list(connection.execute(candidates_statement(), values))

    def usage(self, connection: Connection, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Count the agent's live rows at each term, up to `USAGE_BOUND`."""
        written = {encode_terms(agent_id, [term])[0]: term for term in terms}
        counts = connection.execute(_usage_statement(), {"agent_id": agent_id, "terms": list(written)})
        return {written[term]: count for term, count in counts}

    def add(self, connection: Connection, rows: Sequence[StandingIntent]) -> None:
        """Write the rows' anchors, replacing earlier ones."""
        self.remove(connection, [row.key for row in rows])
        connection.execute(
            insert(intent_anchors),
            [
                {"agent_id": row.agent_id, "scope": row.scope, "term": term, "intent_key": row.key}
                for row in rows
                for term in row.anchors.split()
            ],
        )

    def remove(self, connection: Connection, keys: Collection[int]) -> None:
        """Delete the anchors of retired rows."""
        connection.execute(delete(intent_anchors).where(intent_anchors.c.intent_key.in_(list(keys))))

    def tidy(self, connection: Connection, *, moved: int) -> None:
        """Nothing to do: autovacuum does it."""
