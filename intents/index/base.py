"""What every prefilter promises, and how terms are written for it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sqlalchemy import and_, bindparam, or_, select

from intents.lifecycle import could_fire_sql, is_live_sql
from intents.models import StandingIntent
from intents.sqltypes import UtcDateTime

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row, Select

Item = TypeVar("Item")

#: What a candidate is judged by before anything is locked; rows as tuples cost a third of ORM objects.
CANDIDATE_COLUMNS = (
    StandingIntent.key,
    StandingIntent.trigger_keywords,
    StandingIntent.exclude_keywords,
    StandingIntent.language,
    StandingIntent.within,
    StandingIntent.clauses,
    StandingIntent.analyzer_version,
    StandingIntent.held_turn_key,
)

#: Rows that one statement names; SQLite of old counts parameters up to 999.
ROWS_PER_QUERY: Final = 500

#: The clock's time as a parameter of statements that are built once.
NOW: Any = bindparam("now", type_=UtcDateTime())


class Prefilter(Protocol):
    """An index of live intents by anchor and scope.

    Contract: `candidates` returns every row of the agent that could fire at `now`, lies in one of `scopes` and is
    indexed under one of `terms`, oldest first, up to `limit`; it may return others.
    """

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
        """Return the candidates of a turn, oldest first."""

    def usage(self, connection: Connection, *, agent_id: str, terms: Collection[str]) -> dict[str, int]:
        """Count the agent's live rows anchored at each term, up to a bound; absent terms count zero."""

    def add(self, connection: Connection, rows: Sequence[StandingIntent]) -> None:
        """Index live rows that were written, or make sure that the database did.

        Raises:
            SchemaMismatch: the database lacks the trigger that should have done it.
        """

    def remove(self, connection: Connection, keys: Collection[int]) -> None:
        """Take retired rows out of the index, where the database does not do it by itself."""

    def tidy(self, connection: Connection, *, moved: int) -> None:
        """Do a bounded part of the index's own housekeeping, after so many rows were written at once."""


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Cut items into lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def agent_tag(agent_id: str) -> str:
    """A short prefix that keeps one agent's terms apart from another's in the index."""
    return "a" + hashlib.blake2b(agent_id.encode(), digest_size=5).hexdigest()


def encode_terms(agent_id: str, terms: Iterable[str]) -> list[str]:
    """Write terms as ASCII letters and digits, which no full-text tokenizer splits or folds again; sorted."""
    tag = agent_tag(agent_id)
    return sorted(tag + term.encode().hex() for term in terms)


def decode_terms(written: str) -> tuple[str, ...]:
    """Read back what `encode_terms` wrote and a row keeps, joined by spaces, as ``anchors``; sorted."""
    prefix = len(agent_tag(""))
    return tuple(sorted(bytes.fromhex(term[prefix:]).decode() for term in written.split()))


def stale_gaps(bounds: Sequence[Any]) -> list[ColumnElement[bool]]:
    """Say that a row's ``analyzer_version`` is none of these, given in ascending order.

    As ranges between and around them: an index answers those without reading the current rows, where ``NOT IN`` would
    read them all.
    """
    column = StandingIntent.analyzer_version
    return [column < bounds[0], *(and_(column > a, column < b) for a, b in pairwise(bounds)), column > bounds[-1]]


def _version_parameters(versions: int) -> list[Any]:
    return [bindparam(f"v{number}", type_=StandingIntent.analyzer_version.type) for number in range(versions)]


def any_stale(versions: int) -> ColumnElement[bool]:
    """Say that some live row was indexed by another analyzer; its anchors may not be this analyzer's terms.

    Binds ``agent_id`` and ``v0`` … in ascending order: the values of ``analyzer_version`` that this analyzer writes.

    Args:
        versions: how many values there are.
    """
    mine = and_(StandingIntent.agent_id == bindparam("agent_id"), is_live_sql(StandingIntent))
    return or_(
        *(select(StandingIntent.key).where(mine, gap).exists() for gap in stale_gaps(_version_parameters(versions)))
    )


@cache
def stale_statement(versions: int) -> Select[Any]:
    """Select those rows as candidates; binds ``scopes``, ``now`` and ``most`` besides."""
    return (
        select(*CANDIDATE_COLUMNS)
        .where(
            StandingIntent.agent_id == bindparam("agent_id"),
            or_(*stale_gaps(_version_parameters(versions))),
            StandingIntent.scope.in_(bindparam("scopes", expanding=True)),
            could_fire_sql(StandingIntent, NOW),
        )
        .order_by(StandingIntent.key)
        .limit(bindparam("most"))
    )
