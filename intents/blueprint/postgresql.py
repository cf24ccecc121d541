"""The schema on PostgreSQL: what is wrong with it, and how it is mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Constraint, MetaData, Table, inspect, text
from sqlalchemy.schema import AddConstraint

from intents import ddl
from intents.blueprint import (
    MODEL_TABLES,
    Finding,
    create_indexes,
    create_table,
    missing_table,
    normalised,
    unreachable_anchors,
)
from intents.lifecycle import LIVE, sql_list
from intents.models import intent_anchors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine.reflection import Inspector

_LIVE: Final = f"status IN ({sql_list(LIVE)})"
_TABLES: Final = (*MODEL_TABLES, intent_anchors)
_EXPECTED_ANCHORS: Final = (
    "SELECT agent_id, scope, unnest(string_to_array(anchors, ' ')) AS term, key AS intent_key"
    f" FROM {ddl.INTENTS} WHERE {_LIVE}"
)
_STORED_ANCHORS: Final = f"SELECT agent_id, scope, term, intent_key FROM {ddl.ANCHORS}"

#: Trigger name → its table; each trigger calls the function of its own name.
_TRIGGER_TABLES: Final = dict(zip(ddl.POSTGRESQL_FUNCTIONS, (ddl.INTENTS, ddl.EVENTS), strict=True))


def _trigger_statements() -> dict[str, tuple[str, str]]:
    """By trigger name: the statement that makes the function, and the one that makes the trigger."""
    statements = ddl.postgresql_triggers()
    return {
        name: (
            next(s for s in statements if s.startswith(f"CREATE FUNCTION {name}()")),
            next(s for s in statements if s.startswith(f"CREATE TRIGGER {name} ")),
        )
        for name in _TRIGGER_TABLES
    }


class PostgresqlBlueprint:
    """The anchor table and the trigger functions included."""

    def problems(self, connection: Connection) -> list[Finding]:
        """Compare the schema with the models; change nothing."""
        inspector = inspect(connection)
        names = set(inspector.get_table_names())
        found: list[Finding] = []
        for table in _TABLES:
            if table.name in names:
                found += _table_problems(inspector, table)
            elif table is intent_anchors:
                found.append(Finding("search_index", table.name, f"the search index {table.name} is missing"))
            else:
                found.append(missing_table(table.name))
        return found + [
            Finding("trigger", name, f"the trigger {name} {what}")
            for name, what in _trigger_problems(connection).items()
        ]

    def index_problems(self, connection: Connection) -> list[Finding]:
        """Compare the anchor table with the live rows; change nothing."""
        found = []
        missing = _count(connection, f"{_EXPECTED_ANCHORS} EXCEPT {_STORED_ANCHORS}")
        surplus = _count(connection, f"{_STORED_ANCHORS} EXCEPT {_EXPECTED_ANCHORS}")
        if missing:
            found.append(Finding("row", ddl.ANCHORS, f"{missing} anchor(s) of live intents are not in {ddl.ANCHORS}"))
        if surplus:
            found.append(Finding("row", ddl.ANCHORS, f"{surplus} row(s) of {ddl.ANCHORS} belong to no live intent"))
        unclean = _count(connection, f"SELECT 1 FROM {ddl.INTENTS} WHERE {_LIVE} AND anchors ~ '[^0-9a-z ]'")
        return found + ([unreachable_anchors(unclean)] if unclean else [])

    def repair(self, connection: Connection, findings: Iterable[Finding]) -> list[str]:
        """Mend what can be mended of the findings; return a sentence for each thing done."""
        findings = list(findings)
        broken = {finding.name for finding in findings if finding.kind == "unrepairable_row"}
        findings = [finding for finding in findings if finding.repairable and finding.name not in broken]
        done = []
        refill = False
        for finding in findings:
            if finding.kind in ("table", "search_index"):
                done.append(_make_table(connection, finding.name))
                refill = True
            elif finding.kind == "row":
                refill = True
        for finding in findings:
            table = _table_of(finding.name)
            if finding.kind == "constraint" and table is not None:
                name = finding.name.partition(".")[2]
                connection.execute(AddConstraint(_constraint(table, name)))
                done.append(f"added the constraint {name}")
            elif finding.kind == "index" and table is not None:
                name = finding.name.partition(".")[2]
                connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
                connection.exec_driver_sql(create_indexes(table, connection.dialect)[name])
                done.append(f"made the index {name}")
        for name in _trigger_problems(connection):
            function, trigger = _trigger_statements()[name]
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name} ON {_TRIGGER_TABLES[name]}")
            connection.exec_driver_sql(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
            connection.exec_driver_sql(trigger)
            done.append(f"made the trigger {name}")
        if refill:
            refill_anchors(connection)
            done.append(f"filled {ddl.ANCHORS} anew from the live rows")
        return done


def refill_anchors(connection: Connection) -> None:
    """Make the anchor table say what the live rows say, with every writer of intents kept out meanwhile."""
    connection.exec_driver_sql(f"LOCK TABLE {ddl.INTENTS}, {ddl.ANCHORS} IN SHARE ROW EXCLUSIVE MODE")
    connection.exec_driver_sql(f"DELETE FROM {ddl.ANCHORS}")
    connection.exec_driver_sql(
        f"INSERT INTO {ddl.ANCHORS} (agent_id, scope, term, intent_key)"
        f" SELECT DISTINCT * FROM ({_EXPECTED_ANCHORS}) AS live"
    )


def _count(connection: Connection, query: str) -> int:
    return int(connection.execute(text(f"SELECT count(*) FROM ({query}) AS rows_found")).scalar_one())


def _table_of(qualified: str) -> Table | None:
    return next((table for table in _TABLES if table.name == qualified.partition(".")[0]), None)


def _constraint(table: Table, name: str) -> Constraint:
    # From copies: AddConstraint marks the constraint that it is given, and the table would be created without it.
    copies = MetaData(naming_convention=table.metadata.naming_convention)
    for each in _TABLES:
        each.to_metadata(copies)
    return next(constraint for constraint in copies.tables[table.name].constraints if constraint.name == name)


def _make_table(connection: Connection, name: str) -> str:
    (table,) = (table for table in _TABLES if table.name == name)
    connection.exec_driver_sql(create_table(table, connection.dialect))
    for statement in create_indexes(table, connection.dialect).values():
        connection.exec_driver_sql(statement)
    if table is intent_anchors:
        return f"made the search index {name}"
    return f"made the table {name}, empty: what was in it can only come from a backup"


def _table_problems(inspector: Inspector, table: Table) -> list[Finding]:
    found = []
    columns = {column["name"]: column for column in inspector.get_columns(table.name)}
    for column in table.columns:
        name = f"{table.name}.{column.name}"
        if column.name not in columns:
            found.append(Finding("column", name, f"the column {name} is missing", repairable=False))
        elif not column.nullable and columns[column.name]["nullable"]:
            found.append(Finding("column", name, f"{name} lost NOT NULL; set it again by hand", repairable=False))
    present = _constraint_names(inspector, table)
    for name in sorted(str(constraint.name) for constraint in table.constraints):
        if name not in present:
            found.append(Finding("constraint", f"{table.name}.{name}", f"the constraint {name} is missing"))
    indexes = {str(index["name"]): index for index in inspector.get_indexes(table.name)}
    for index in table.indexes:
        name = str(index.name)
        if name not in indexes:
            found.append(Finding("index", f"{table.name}.{name}", f"the index {name} is missing"))
        elif not _is_as(indexes[name], index):
            found.append(Finding("index", f"{table.name}.{name}", f"the index {name} differs from this version's"))
    return found


def _constraint_names(inspector: Inspector, table: Table) -> set[str]:
    named: list[Any] = [
        *inspector.get_check_constraints(table.name),
        *inspector.get_unique_constraints(table.name),
        *inspector.get_foreign_keys(table.name),
        inspector.get_pk_constraint(table.name),
    ]
    return {str(constraint["name"]) for constraint in named}


def _is_as(stored: Any, index: Any) -> bool:
    where = index.dialect_options["postgresql"]["where"]
    has_where = bool(stored.get("dialect_options", {}).get("postgresql_where"))
    return (
        stored["column_names"] == [column.name for column in index.columns]
        and bool(stored["unique"]) == bool(index.unique)
        and has_where == (where is not None)
    )


def _trigger_problems(connection: Connection) -> dict[str, str]:
    rows = connection.execute(
        text(
            "SELECT t.tgname, t.tgenabled, p.proname, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE NOT t.tgisinternal AND t.tgrelid IN (to_regclass(:intents), to_regclass(:events))"
        ),
        {"intents": ddl.INTENTS, "events": ddl.EVENTS},
    ).all()
    stored = {row.tgname: row for row in rows}
    found = {}
    for name, (function, _) in _trigger_statements().items():
        body = re.split(r"\$\$", function)[1]
        if name not in stored:
            found[name] = "is missing"
        elif normalised(stored[name].prosrc) != normalised(body) or stored[name].proname != name:
            found[name] = "differs from this version's"
        elif stored[name].tgenabled in ("D", b"D"):
            found[name] = "is disabled"
    return found
