"""The schema on SQLite: what is wrong with it, and how it is mended."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Table, text
from sqlalchemy.exc import DatabaseError

from intents import ddl
from intents.blueprint import (
    MODEL_TABLES,
    Finding,
    checks,
    create_indexes,
    create_table,
    foreign_keys,
    missing_table,
    normalised,
    unique_columns,
    unreachable_anchors,
)
from intents.lifecycle import LIVE, sql_list

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIVE: Final = f"status IN ({sql_list(LIVE)})"
_FILL_FTS: Final = (
    f"INSERT INTO {ddl.FTS} (rowid, anchors, scope) SELECT key, anchors, scope FROM {ddl.INTENTS} WHERE {_LIVE}"
)
#: What FTS5 keeps a table in. A table that lost one of these cannot even be dropped before it has them again.
_SHADOW_COLUMNS: Final = {
    "config": "(k PRIMARY KEY, v) WITHOUT ROWID",
    "content": "(id INTEGER PRIMARY KEY, c0, c1)",
    "data": "(id INTEGER PRIMARY KEY, block BLOB)",
    "idx": "(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
}
_EMPTY_SHADOWS: Final = {
    "config": "INSERT OR REPLACE INTO {table} VALUES ('version', 4)",
    "data": "INSERT OR REPLACE INTO {table} VALUES (1, x''), (10, x'00000000000000')",
}
#: Where a SQLite with STAT4 keeps what ``ANALYZE`` sampled; anybody may delete from it
#: (https://sqlite.org/fileformat2.html#the_sqlite_stat4_table).
_SAMPLES: Final = "sqlite_stat4"
_OF_FTS: Final = f"tbl IN ({', '.join(repr(shadow) for shadow in ddl.FTS_SHADOWS)})"
#: Kinds of damage to a table that only making it anew can mend.
_NEED_REBUILD: Final = frozenset({"autoincrement", "constraint"})


@dataclass
class _Catalogue:
    """What the database says it has, read once."""

    connection: Connection
    objects: dict[tuple[str, str], str] = field(init=False)
    tables_of: dict[tuple[str, str], str] = field(init=False)

    def __post_init__(self) -> None:
        rows = self.connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_schema")).all()
        self.objects = {(row.type, row.name): row.sql or "" for row in rows}
        self.tables_of = {(row.type, row.name): row.tbl_name for row in rows}

    def has(self, kind: str, name: str) -> bool:
        return (kind, name) in self.objects

    def is_as(self, kind: str, name: str, statement: str) -> bool:
        return normalised(self.objects.get((kind, name))) == normalised(statement)

    def pragma(self, name: str, argument: str) -> list[dict[str, object]]:
        rows = self.connection.execute(text(f"SELECT * FROM pragma_{name}(:argument)"), {"argument": argument})
        return [dict(row) for row in rows.mappings()]


@dataclass
class SqliteBlueprint:
    """FTS5, triggers and AUTOINCREMENT included."""

    @cached_property
    def _triggers(self) -> dict[str, str]:
        return ddl.sqlite_triggers()

    def problems(self, connection: Connection) -> list[Finding]:
        """Compare the schema with the models; change nothing."""
        catalogue = _Catalogue(connection)
        found: list[Finding] = []
        for table in MODEL_TABLES:
            if not catalogue.has("table", table.name):
                found.append(missing_table(table.name))
                continue
            found += _table_problems(catalogue, table)
            for name, statement in create_indexes(table, connection.dialect).items():
                found += _object_problem(catalogue, "index", name, statement)
        for name, statement in self._triggers.items():
            found += _object_problem(catalogue, "trigger", name, statement)
        return found + _fts_problems(catalogue)

    def index_problems(self, connection: Connection) -> list[Finding]:
        """Compare the full-text index with the live rows; change nothing."""
        unclean = connection.execute(
            text(f"SELECT count(*) FROM {ddl.INTENTS} WHERE {_LIVE} AND anchors GLOB '*[^0-9a-z ]*'")
        ).scalar_one()
        unreachable = [unreachable_anchors(unclean)] if unclean else []
        return [*_fts_content_problems(connection), *unreachable, *_statistics_problems(connection)]

    def repair(self, connection: Connection, findings: Iterable[Finding]) -> list[str]:
        """Mend what can be mended of the findings; return a sentence for each thing done."""
        findings = list(findings)
        broken = {finding.name for finding in findings if finding.kind == "unrepairable_row"}
        stuck = {name.partition(".")[0] for name in broken}
        if connection.execute(text("PRAGMA foreign_keys")).scalar_one():
            # Dropping a table that others refer to would be refused.
            stuck.update(table.name for table in MODEL_TABLES)
        mendable = [finding for finding in findings if finding.repairable]
        rebuild = dict.fromkeys(
            table
            for finding in mendable
            if finding.kind in _NEED_REBUILD
            if (table := _table_name(finding)) not in stuck
        )
        kinds = {finding.kind for finding in mendable} - _NEED_REBUILD
        done = [_make_table(connection, finding.name) for finding in mendable if finding.kind == "table"]
        for name in rebuild:
            _rebuild_table(connection, name)
            done.append(f"made the table {name} anew with all its rows, its constraints and AUTOINCREMENT")
        done += self._restore_objects(connection, {name.partition(".")[2] for name in broken})
        if kinds & {"search_index", "table", "trigger", "row"} or ddl.INTENTS in rebuild:
            # Whatever happened while a trigger was missing, the index did not see.
            rebuild_fts(connection)
            done.append(f"made the full-text index {ddl.FTS} anew from the live rows")
        if "statistics" in kinds:
            connection.exec_driver_sql(f"DELETE FROM {_SAMPLES} WHERE {_OF_FTS}")
            done.append(
                "removed the planner's samples of the full-text index; connections opened from now on are faster"
            )
        return done

    def _restore_objects(self, connection: Connection, impossible: set[str]) -> list[str]:
        catalogue = _Catalogue(connection)
        wanted = [
            ("index", name, statement)
            for table in MODEL_TABLES
            for name, statement in create_indexes(table, connection.dialect).items()
            if name not in impossible
        ]
        wanted += [("trigger", name, statement) for name, statement in self._triggers.items()]
        done = []
        for kind, name, statement in wanted:
            if catalogue.is_as(kind, name, statement):
                continue
            connection.exec_driver_sql(f"DROP {kind.upper()} IF EXISTS {name}")
            connection.exec_driver_sql(statement)
            done.append(f"made the {kind} {name}")
        return done


def _table_name(finding: Finding) -> str:
    return finding.name.partition(".")[0]


def rebuild_fts(connection: Connection) -> None:
    """Drop the full-text index in whatever state it is, make it again and fill it from the live rows."""
    catalogue = _Catalogue(connection)
    if catalogue.objects.get(("table", ddl.FTS), "").upper().startswith("CREATE VIRTUAL"):
        for part, columns in _SHADOW_COLUMNS.items():
            shadow = f"{ddl.FTS}_{part}"
            if not catalogue.has("table", shadow):
                connection.exec_driver_sql(f"CREATE TABLE {shadow}{columns}")
                if part in _EMPTY_SHADOWS:
                    connection.exec_driver_sql(_EMPTY_SHADOWS[part].format(table=shadow))
    connection.exec_driver_sql(ddl.DROP_FTS)
    for shadow in (*ddl.FTS_SHADOWS, f"{ddl.FTS}_docsize"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {shadow}")
    for statement in (ddl.CREATE_FTS, *ddl.TUNE_FTS, _FILL_FTS):
        connection.exec_driver_sql(statement)


def _object_problem(catalogue: _Catalogue, kind: str, name: str, statement: str) -> list[Finding]:
    if catalogue.is_as(kind, name, statement):
        return []
    what = "differs from this version's" if catalogue.has(kind, name) else "is missing"
    return [Finding("index" if kind == "index" else "trigger", name, f"the {kind} {name} {what}")]


def _table_problems(catalogue: _Catalogue, table: Table) -> list[Finding]:
    dialect = catalogue.connection.dialect
    if catalogue.is_as("table", table.name, create_table(table, dialect)):
        return []
    statement = normalised(catalogue.objects["table", table.name])
    columns = {str(row["name"]): row for row in catalogue.pragma("table_xinfo", table.name)}
    found = []
    for column in table.columns:
        if column.name not in columns:
            found.append(
                Finding(
                    "column", f"{table.name}.{column.name}", f"the column {table.name}.{column.name} is missing", False
                )
            )
        elif not column.nullable and not columns[column.name]["notnull"]:
            found.append(
                Finding("constraint", f"{table.name}.{column.name}", f"{table.name}.{column.name} lost NOT NULL")
            )
    if "primarykeyautoincrement" not in statement:
        found.append(
            Finding(
                "autoincrement", table.name, f"the table {table.name} lost AUTOINCREMENT, so keys may be used twice"
            )
        )
    for name, condition in checks(table).items():
        if normalised(f"CHECK ({condition})") not in statement:
            found.append(Finding("constraint", f"{table.name}.{name}", f"the constraint {name} is missing"))
    unique = [
        [row["name"] for row in catalogue.pragma("index_info", str(index["name"]))]
        for index in catalogue.pragma("index_list", table.name)
        if index["unique"] and not index["partial"]
    ]
    for name, names in unique_columns(table).items():
        if names not in unique:
            found.append(Finding("constraint", f"{table.name}.{name}", f"the constraint {name} is missing"))
    references = {(row["from"], row["table"], row["to"]) for row in catalogue.pragma("foreign_key_list", table.name)}
    for name, reference in foreign_keys(table).items():
        if reference not in references:
            found.append(Finding("constraint", f"{table.name}.{name}", f"the constraint {name} is missing"))
    if found and (obstacle := _obstacle(catalogue, table, columns)):
        return [Finding(each.kind, each.name, f"{each.message}, and {obstacle}", repairable=False) for each in found]
    return found


def _obstacle(catalogue: _Catalogue, table: Table, columns: Iterable[str]) -> str | None:
    """What of the host's would be lost, were the table made anew from the models."""
    additions = sorted(set(columns) - {column.name for column in table.columns})
    if not additions:
        return None
    return f"columns of your own ({', '.join(additions)}) would be lost if it were made anew; restore it by a migration"


def _additions(catalogue: _Catalogue, table: Table) -> list[str]:
    """The statements of the indexes and triggers that a host has put on the table."""
    ours = {index.name for index in table.indexes} | ddl.sqlite_triggers().keys()
    return [
        statement
        for (kind, name), statement in catalogue.objects.items()
        if statement and kind in ("index", "trigger") and name not in ours
        if catalogue.tables_of[kind, name] == table.name
    ]


def _make_table(connection: Connection, name: str) -> str:
    (table,) = (table for table in MODEL_TABLES if table.name == name)
    connection.exec_driver_sql(create_table(table, connection.dialect))
    return f"made the table {name}, empty: what was in it can only come from a backup"


def _rebuild_table(connection: Connection, name: str) -> None:
    """Make a table again under its own name, without ALTER TABLE: views and triggers of the host may mention it."""
    (table,) = (table for table in MODEL_TABLES if table.name == name)
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    additions = _additions(_Catalogue(connection), table)
    hold = f"{name}_on_hold"
    connection.exec_driver_sql(f"CREATE TEMP TABLE {hold} AS SELECT {columns} FROM main.{name}")
    connection.exec_driver_sql(f"DROP TABLE main.{name}")
    connection.exec_driver_sql(create_table(table, connection.dialect))
    connection.exec_driver_sql(f"INSERT INTO main.{name} ({columns}) SELECT {columns} FROM temp.{hold}")
    connection.exec_driver_sql(f"DROP TABLE temp.{hold}")
    for statement in additions:
        connection.exec_driver_sql(statement)
    if name == ddl.INTENTS:
        _restore_sequence(connection)


def _restore_sequence(connection: Connection) -> None:
    """Let no key of a deleted intent be used again: the log and the firings still know it."""
    last = connection.execute(
        text(
            f"SELECT max(coalesce((SELECT max(key) FROM {ddl.INTENTS}), 0),"
            f" coalesce((SELECT max(intent_key) FROM {ddl.EVENTS}), 0),"
            f" coalesce((SELECT max(intent_key) FROM {ddl.FIRINGS}), 0))"
        )
    ).scalar_one()
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": ddl.INTENTS})
    connection.execute(
        text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), {"name": ddl.INTENTS, "last": last}
    )


def _fts_problems(catalogue: _Catalogue) -> list[Finding]:
    shadows = [shadow for shadow in ddl.FTS_SHADOWS if catalogue.has("table", shadow)]
    if not catalogue.has("table", ddl.FTS):
        left = ", but tables behind it are left" if shadows else ""
        return [Finding("search_index", ddl.FTS, f"the full-text index {ddl.FTS} is missing{left}")]
    if not catalogue.is_as("table", ddl.FTS, ddl.CREATE_FTS):
        return [Finding("search_index", ddl.FTS, f"the full-text index {ddl.FTS} has other columns or options")]
    lost = [
        Finding("search_index", shadow, f"the table {shadow} behind the full-text index is missing")
        for shadow in ddl.FTS_SHADOWS
        if shadow not in shadows
    ]
    if not lost and not _fts_settings() <= set(
        catalogue.connection.execute(text(f"SELECT k, v FROM {ddl.FTS}_config"))
    ):
        lost.append(Finding("search_index", ddl.FTS, f"the full-text index {ddl.FTS} has other settings"))
    return lost


def _fts_settings() -> set[tuple[str, int]]:
    """What the tuning statements leave in the table that FTS5 keeps its settings in."""
    found = (re.search(r"VALUES \('(\w+)', (\d+)\)", statement) for statement in ddl.TUNE_FTS)
    return {(match[1], int(match[2])) for match in found if match is not None}


def _fts_content_problems(connection: Connection) -> list[Finding]:
    try:
        connection.exec_driver_sql(f"INSERT INTO {ddl.FTS} ({ddl.FTS}) VALUES ('integrity-check')")
        unindexed = connection.execute(
            text(
                f"SELECT count(*) FROM {ddl.INTENTS} AS i LEFT JOIN {ddl.FTS} AS f ON f.rowid = i.key"
                f" WHERE i.{_LIVE} AND (f.rowid IS NULL OR f.anchors IS NOT i.anchors OR f.scope IS NOT i.scope)"
            )
        ).scalar_one()
        surplus = connection.execute(
            text(
                f"SELECT count(*) FROM {ddl.FTS} AS f LEFT JOIN {ddl.INTENTS} AS i ON i.key = f.rowid AND i.{_LIVE}"
                " WHERE i.key IS NULL"
            )
        ).scalar_one()
    except DatabaseError as error:
        if "locked" in str(error.orig):
            raise
        if "readonly" in str(error.orig):
            return []
        return [Finding("search_index", ddl.FTS, f"the full-text index {ddl.FTS} is corrupt")]
    found = []
    if unindexed:
        found.append(Finding("row", ddl.FTS, f"{unindexed} live intent(s) are not in the full-text index as they are"))
    if surplus:
        found.append(Finding("row", ddl.FTS, f"{surplus} entry(ies) of the full-text index belong to no live intent"))
    return found


def _statistics_problems(connection: Connection) -> list[Finding]:
    """With samples of its tables at hand, SQLite plans every look-up of the full-text index anew."""
    if not _Catalogue(connection).has("table", _SAMPLES):
        return []
    if not connection.exec_driver_sql(f"SELECT EXISTS (SELECT 1 FROM {_SAMPLES} WHERE {_OF_FTS})").scalar_one():
        return []
    message = "ANALYZE has sampled the tables behind the full-text index, which makes every turn slower"
    return [Finding("statistics", _SAMPLES, message)]
