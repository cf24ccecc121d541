"""Column types that mean the same on every dialect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, DateTime, Integer, String
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

#: Width of ``YYYY-MM-DD HH:MM:SS.ffffff``.
TEXT_WIDTH = 26

#: Integer keys: SQLite's rowid alias must be declared ``INTEGER``, elsewhere 64 bits are asked for by name.
Key = BigInteger().with_variant(Integer, "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment, stored as UTC and returned as aware UTC.

    PostgreSQL keeps ``timestamptz``. SQLite keeps fixed-width text with six fractional digits, so that the order of the
    text is the order of time and a comparison in SQL equals a comparison in Python. A naive datetime is refused with
    `ValueError`: it would mean another moment on another machine.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the dialect."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(TEXT_WIDTH))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Turn an aware datetime into what the dialect stores."""
        if value is None:
            return None
        if value.tzinfo is None or value.utcoffset() is None:
            raise ValueError("A naive datetime was given where a moment in time is stored; attach a timezone.")
        moment = value.astimezone(UTC)
        if dialect.name == "sqlite":
            return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        return moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Turn what the dialect stores into an aware UTC datetime."""
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        moment: datetime = value
        return moment.astimezone(UTC)
