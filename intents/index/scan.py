"""No index: every live row of the scope is a candidate. The oracle that the other prefilters are held against."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from intents.index.base import CANDIDATE_COLUMNS, NOW
from intents.lifecycle import could_fire_sql
from intents.models import StandingIntent

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select


@cache
def _statement() -> Select[Any]:
    return (
        select(*CANDIDATE_COLUMNS)
        .where(
            StandingIntent.agent_id == bindparam("agent_id"),
            StandingIntent.scope.in_(bindparam("scopes", expanding=True)),
            could_fire_sql(StandingIntent, NOW),
        )
        .order_by(StandingIntent.key)
        .limit(bindparam("most"))
    )


class ScanIndex:
    """Reads all rows that could fire; right by construction, slow by design."""

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
        """Return every row in scope that could fire, oldest first, whatever the terms."""
        values = {"agent_id": agent_id, "scopes": list(scopes), "now": now, "most": limit}
        return list(connection.execute(_statement(), values))

    def usage(self, connection: Connection, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Return no counts: nothing is indexed."""
        return {}

    def add(self, connection: Connection, rows: Sequence[StandingIntent]) -> None:
        """Nothing to do."""

    def remove(self, connection: Connection, keys: Collection[int]) -> None:
        """Nothing to do."""

    def tidy(self, connection: Connection, *, moved: int) -> None:
        """Nothing to do."""
