"""The prefilter: the full-text query that turns a turn into candidates. It may over-select, never under-select."""

from __future__ import annotations

from typing import Final

from intents.errors import UnsupportedDialect
from intents.index.base import Prefilter
from intents.index.postgresql import PostgresqlIndex
from intents.index.scan import ScanIndex
from intents.index.sqlite import SqliteIndex

__all__ = ["PostgresqlIndex", "Prefilter", "ScanIndex", "SqliteIndex", "index_for"]

_BY_DIALECT: Final[dict[str, Prefilter]] = {"sqlite": SqliteIndex(), "postgresql": PostgresqlIndex()}


def index_for(dialect: str) -> Prefilter:
    """Return the prefilter of a dialect by SQLAlchemy's name of it.

    Raises:
        UnsupportedDialect: the library has none for it.
    """
    try:
        return _BY_DIALECT[dialect]
    except KeyError:
        raise UnsupportedDialect(
            dialect, f"intents can be kept in {' and '.join(sorted(_BY_DIALECT))}, not in this database."
        ) from None
