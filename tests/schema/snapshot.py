"""What a database says about its schema, as plain values that two databases can be compared by."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Connection, Engine, text

#: Not part of the schema: the bookkeeping of Alembic and of SQLite.
_BOOKKEEPING = {"intents_alembic_version", "alembic_version", "sqlite_sequence"}


def snapshot(engine: Engine) -> dict[Any, Any]:
    """Describe every object of the database, apart from version tables."""
    with engine.connect() as connection:
        return _sqlite(connection) if engine.dialect.name == "sqlite" else _postgresql(connection)


def _plain(statement: str | None) -> str:
    return re.sub(r"\s+", " ", statement or "").strip()


def _sqlite(connection: Connection) -> dict[Any, Any]:
    rows = connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_schema")).all()
    found: dict[Any, Any] = {(row.type, row.name): _plain(row.sql) for row in rows if row.tbl_name not in _BOOKKEEPING}
    for row in rows:
        if row.type == "table" and row.tbl_name not in _BOOKKEEPING:
            columns = connection.exec_driver_sql(f"SELECT * FROM pragma_table_xinfo('{row.name}')").all()
            found["columns", row.name] = [tuple(column) for column in columns]
    if ("table", "standing_intents_fts_config") in found:
        settings = connection.exec_driver_sql("SELECT k, v FROM standing_intents_fts_config ORDER BY k").all()
        found["settings", "standing_intents_fts"] = [tuple(setting) for setting in settings]
    return found


_POSTGRESQL = {
    "columns": """
        SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND c.relkind = 'r' AND NOT a.attisdropped""",
    "constraints": """
        SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": "SELECT tgname, pg_get_triggerdef(oid), tgenabled::text FROM pg_trigger WHERE NOT tgisinternal",
    "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "sequences": "SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace",
}


def _postgresql(connection: Connection) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for kind, query in _POSTGRESQL.items():
        for name, *rest in connection.execute(text(query.replace(":", "\\:"))):
            if not any(name.startswith(table) for table in _BOOKKEEPING):
                found[kind, name] = [_plain(value) if isinstance(value, str) else value for value in rest]
    return found
