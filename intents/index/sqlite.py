"""The prefilter on SQLite: an FTS5 table of anchors and scopes, kept in step by triggers.

FTS5 is the outer loop of the query whatever the planner's statistics say: ``CROSS JOIN`` forbids SQLite to reorder
(https://sqlite.org/optoverview.html#crossjoin). Left to itself, every SQLite from 3.41 on reads all rows of a database
that was never analysed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, func, literal_column, select, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.selectable import Join

from intents import ddl
from intents.errors import SchemaMismatch
from intents.index.base import CANDIDATE_COLUMNS, NOW, ROWS_PER_QUERY, batched, encode_terms
from intents.lifecycle import could_fire_sql
from intents.models import StandingIntent, intents_fts

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Row, Select
    from sqlalchemy.sql.compiler import SQLCompiler

#: Terms of one full-text query. FTS5 copies the whole list for every OR it parses, so long lists cost quadratically.
TERMS_PER_QUERY: Final = 250
#: Above this many rows at a term, more make no difference to the choice of an anchor.
USAGE_BOUND: Final = 1000

#: Pages that are merged at least, and one more for each so many rows that moved; a page holds some 150 rows, so that a
#: merge is done long before the next one begins.
_LEAST_PAGES: Final = 16
_ROWS_PER_PAGE: Final = 8
#: A merge of everything begins when the smaller segments together have so many pages, and this part of the largest one.
_WORTH_MERGING: Final = 4
_PART_WORTH_MERGING: Final = 0.25
_MERGE = text(ddl.MERGE_FTS)
#: Fewer changes than this tell that there was nothing to merge.
_WORKED: Final = 2
_CHANGES = select(func.total_changes())
_SEGMENTS = text(ddl.FTS_SEGMENTS)


class _CrossJoin(Join):
    """A join whose left side SQLite must read first."""

    inherit_cache = True


@compiles(_CrossJoin, "sqlite")
def _compile_cross_join(join: _CrossJoin, compiler: SQLCompiler, **kw: Any) -> str:
    return str(compiler.visit_join(join, **kw)).replace(" JOIN ", " CROSS JOIN ", 1)  # type: ignore[no-untyped-call]


_MATCHES = literal_column(ddl.FTS).op("MATCH")(bindparam("query"))


@cache
def candidates_statement() -> Select[Any]:
    """The prefilter query; binds ``query`` (FTS5 syntax), ``agent_id``, ``now`` and ``most``."""
    return (
        select(*CANDIDATE_COLUMNS)
        .select_from(
            _CrossJoin(intents_fts, StandingIntent.__table__, StandingIntent.__table__.c.key == intents_fts.c.rowid)
        )
        .where(
            _MATCHES,
            StandingIntent.agent_id == bindparam("agent_id"),
            could_fire_sql(StandingIntent, NOW),
        )
        .order_by(intents_fts.c.rowid)
        .limit(bindparam("most"))
    )


@cache
def _usage_statement() -> Select[Any]:
    term = func.json_each(bindparam("terms")).table_valued("value", name="term").c.value
    rows = (
        select(literal_column("1"))
        .select_from(intents_fts)
        .where(literal_column(ddl.FTS).op("MATCH")(literal_column("'anchors : '").op("||")(term)))
        .limit(USAGE_BOUND)
        .correlate(term.table)
        .subquery()
    )
    return select(term, select(func.count()).select_from(rows).scalar_subquery())


@cache
def _indexed_statement() -> Select[Any]:
    wanted = intents_fts.c.rowid.in_(bindparam("keys", expanding=True))
    return select(intents_fts.c.rowid, intents_fts.c.anchors, intents_fts.c.scope).where(wanted)


class SqliteIndex:
    """FTS5 as the prefilter."""

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
        found: dict[int, Row[Any]] = {}
        wanted_scopes = " OR ".join(sorted(scopes))
        for batch in batched(encode_terms(agent_id, terms), TERMS_PER_QUERY):
            query = f"scope : ({wanted_scopes}) AND anchors : ({' OR '.join(batch)})"
            values = {"query": query, "agent_id": agent_id, "now": now, "most": limit}
            for row in connection.execute(candidates_statement(), values):
                found[row.key] = row
        return [found[key] for key in sorted(found)[:limit]]

    def usage(self, connection: Connection, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Count the agent's live rows at each term, up to `USAGE_BOUND`."""
        written = {encode_terms(agent_id, [term])[0]: term for term in terms}
        counts = connection.execute(_usage_statement(), {"terms": json.dumps(list(written))})
        return {written[term]: count for term, count in counts}

    def add(self, connection: Connection, rows: Sequence[StandingIntent]) -> None:
        """Make sure that the trigger indexed the rows.

        Raises:
            SchemaMismatch: it did not; a batch rebuild by a host's migration drops triggers silently.
        """
        missing = {(row.key, row.anchors, row.scope) for row in rows}
        for some in batched([row.key for row in rows], ROWS_PER_QUERY):
            missing.difference_update(map(tuple, connection.execute(_indexed_statement(), {"keys": some})))
        if missing:
            raise SchemaMismatch(
                "The full-text index did not follow a new intent: the triggers of standing_intents are missing.",
                "Run `intents doctor --repair` on this database.",
            )

    def remove(self, connection: Connection, keys: Collection[int]) -> None:
        """Nothing to do: a trigger takes a retired row out of the index."""

    def tidy(self, connection: Connection, *, moved: int) -> None:
        """Merge segments of the full-text index, in proportion to what was moved.

        FTS5 takes a row out by writing that it is gone; a query passes over both until the two are merged. Left to
        itself it merges what was written lately, and a common scope keeps half a million of such pairs. Measured with
        100,000 rows of which half are retired: a query 6.8 ms before and 0.2 ms after.

        A positive number of pages goes on with a merge that was begun, a negative one begins a merge of everything
        (https://sqlite.org/fts5.html#the_merge_command). To begin again before the last one ended would leave its part
        behind as one more segment, so that they become hundreds.
        """
        pages = max(_LEAST_PAGES, moved // _ROWS_PER_PAGE)
        # FTS5 writes out what the transaction has changed so far, which counts as changes too.
        connection.execute(_MERGE, {"pages": 0})
        before = connection.execute(_CHANGES).scalar_one()
        connection.execute(_MERGE, {"pages": pages})
        if connection.execute(_CHANGES).scalar_one() - before >= _WORKED:
            return
        sizes = connection.scalars(_SEGMENTS).all()
        largest = max(sizes, default=0)
        if sum(sizes) - largest >= max(_WORTH_MERGING, largest * _PART_WORTH_MERGING):
            connection.execute(_MERGE, {"pages": -pages})
