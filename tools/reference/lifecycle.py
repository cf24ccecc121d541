"""The lifecycle in SQL: the guards, the moves in bulk and the triggers, as the databases get them."""

from __future__ import annotations

import re
from typing import Any, Final

from sqlalchemy import literal_column, update
from sqlalchemy.dialects import postgresql, sqlite

from intents import ddl
from intents.diagram import GUARDS
from intents.lifecycle import TRANSITIONS, bulk_values, could_fire_sql, permits_sql
from intents.models import StandingIntent
from intents.sqltypes import UtcDateTime
from tools.reference.markdown import code, fenced, table

_NOW: Final[Any] = literal_column(":now", type_=UtcDateTime())
#: Events that a sweep applies to many rows in one statement.
_IN_BULK: Final = ("expire", "rearm")


def _sql(expression: Any) -> str:
    """Write an expression for both databases, which must read alike, without the table's name before each column."""
    written = {
        str(expression.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        for dialect in (sqlite.dialect(), postgresql.dialect())
    }
    (statement,) = written
    return re.sub(r"\bstanding_intents\.", "", statement)


def _split(condition: str) -> str:
    """Break a condition where an AND or OR stands outside of parentheses."""
    depth, lines, start = 0, [], 0
    for found in re.finditer(r"[()]| (?=AND | ?OR )", condition):
        if found[0] == " ":
            if depth == 0:
                lines.append(condition[start : found.start()])
                start = found.end()
        else:
            depth += 1 if found[0] == "(" else -1
    return "\n".join([*lines, condition[start:]])


def guards_in_sql() -> str:
    """Return the guards as SQL conditions, and what each event's rows must satisfy."""
    guards = [[code(name), GUARDS[name], code(_sql(getattr(StandingIntent, name)(_NOW)))] for name in GUARDS]
    events = [
        f"{code(transition.event)} to {transition.target.value}:\n\n"
        f"{fenced(_split(_sql(permits_sql(transition.event, StandingIntent, _NOW))), 'sql')}"
        for transition in TRANSITIONS
    ]
    whole = fenced(_split(_sql(could_fire_sql(StandingIntent, _NOW))), "sql")
    return "\n\n".join(
        [
            table(["guard", "true when", "in SQL"], guards),
            "The rows that each event may move:",
            *events,
            "The rows that a turn could fire now, whatever a sweep has written: armed, cooled down, or with a hold "
            "that has lapsed.",
            whole,
        ]
    )


def bulk_moves() -> str:
    """Return the statements by which a sweep moves many rows."""
    statements = []
    for event in _IN_BULK:
        condition = permits_sql(event, StandingIntent, _NOW)
        values = bulk_values(event, StandingIntent, now=_NOW)
        written = _sql(update(StandingIntent).where(condition).values(values))
        head, _, rest = written.partition(" WHERE ")
        statements.append(f"-- {event}\n{head}\nWHERE {_split(rest)};")
    return fenced("\n\n".join(statements), "sql")


def sqlite_triggers() -> str:
    """Return the statements that make SQLite's triggers."""
    return fenced("\n\n".join(f"{statement};" for statement in ddl.sqlite_triggers().values()), "sql")


def postgresql_triggers() -> str:
    """Return the statements that make PostgreSQL's triggers and their functions."""
    return fenced("\n\n".join(f"{statement};" for statement in ddl.postgresql_triggers()), "sql")
