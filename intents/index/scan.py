"""No index: every live row of the scope is a candidate. The oracle that the other prefilters are held against."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from intents.index.base import CANDIDATE_COLUMNS, could_fire
from intents.models import StandingIntent

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Row
    from sqlalchemy.orm import Session


class ScanIndex:
    """Reads all rows that could fire; right by construction, slow by design."""

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
        """Return every row in scope that could fire, oldest first, whatever the terms."""
        statement = (
            select(*CANDIDATE_COLUMNS)
            .where(*could_fire(agent_id, scopes, now))
            .order_by(StandingIntent.key)
            .limit(limit)
        )
        return list(session.execute(statement))

    def usage(self, session: Session, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Return no counts: nothing is indexed."""
        return {}

    def add(self, session: Session, row: StandingIntent) -> None:
        """Nothing to do."""

    def remove(self, session: Session, keys: Collection[int]) -> None:
        """Nothing to do."""
