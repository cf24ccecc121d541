"""What the schema must be, read from the models, and what is wrong with the one that a database has.

Nothing here changes anything, and nothing that a host added to our tables (columns, indexes, triggers) counts as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from sqlalchemy import CheckConstraint, Connection, Engine, ForeignKeyConstraint, Table, UniqueConstraint, text
from sqlalchemy.schema import CreateIndex, CreateTable

from intents import ddl
from intents.errors import UnsupportedDialect
from intents.models import metadata
from intents.schema_lock import wrong_target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Dialect

#: Version table of the library's own Alembic history.
VERSION_TABLE: Final = "intents_alembic_version"
#: The tables of the row models, parents first.
MODEL_TABLES: Final = tuple(metadata.sorted_tables)
#: Every table of ours on any dialect, by exact name. FTS5 makes ``docsize`` too when asked for column sizes.
TABLE_NAMES: Final = frozenset(
    {
        VERSION_TABLE,
        ddl.FTS,
        *ddl.FTS_SHADOWS,
        f"{ddl.FTS}_docsize",
        ddl.ANCHORS,
        *(table.name for table in MODEL_TABLES),
    }
)

OLDEST_SQLITE: Final = (3, 37)

Kind = Literal[
    "table",
    "column",
    "constraint",
    "autoincrement",
    "index",
    "trigger",
    "search_index",
    "row",
    "unrepairable_row",
    "statistics",
]
#: Kinds that `intents.upgrade` mends by itself: all of it can be made again from the code and the rows.
HEALED_BY_UPGRADE: Final = frozenset({"index", "trigger", "search_index"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the schema or with the rows.

    Attributes:
        kind: what sort of thing.
        name: the table, column, constraint, index or trigger.
        message: a sentence for a person, without a full stop.
        repairable: whether `intents.doctor.repair` mends it.
    """

    kind: Kind
    name: str
    message: str
    repairable: bool = True


class Blueprint(Protocol):
    """How one dialect is examined and mended."""

    def problems(self, connection: Connection) -> list[Finding]:
        """Compare the schema with the models; change nothing."""

    def index_problems(self, connection: Connection) -> list[Finding]:
        """Compare the search index with the live rows; change nothing."""

    def repair(self, connection: Connection, findings: Iterable[Finding]) -> list[str]:
        """Mend what can be mended of the findings; return a sentence for each thing done."""


def blueprint_for(dialect: str) -> Blueprint:
    """Return the dialect's blueprint.

    Raises:
        UnsupportedDialect: it is neither SQLite nor PostgreSQL.
    """
    if dialect == "sqlite":
        from intents.blueprint.sqlite import SqliteBlueprint  # noqa: PLC0415 - it imports this module

        return SqliteBlueprint()
    if dialect == "postgresql":
        from intents.blueprint.postgresql import PostgresqlBlueprint  # noqa: PLC0415 - as above

        return PostgresqlBlueprint()
    raise UnsupportedDialect(
        dialect, "standing intents live in SQLite or PostgreSQL; give them an engine of one of these."
    )


def sqlite_facts(connection: Connection) -> tuple[str, bool]:
    """The version of the SQLite library, and whether it has FTS5, built in or loaded."""
    version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
    fts5 = connection.execute(text("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'")).scalar_one()
    return str(version), bool(fts5)


def require_supported(connection: Connection) -> None:
    """Refuse a database that cannot carry the library.

    Raises:
        UnsupportedDialect: neither SQLite nor PostgreSQL, or a SQLite that is too old or lacks FTS5.
    """
    blueprint_for(connection.dialect.name)
    if connection.dialect.name != "sqlite":
        return
    version, has_fts5 = sqlite_facts(connection)
    remedy = (
        "Use a Python with a newer SQLite, or install pysqlite3-binary and pass it on: "
        "create_engine(url, module=pysqlite3)."
    )
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise UnsupportedDialect("sqlite", f"this is SQLite {version}, and {oldest} or newer is needed. {remedy}")
    if not has_fts5:
        raise UnsupportedDialect(
            "sqlite", f"this SQLite {version} was built without FTS5, the full-text index. {remedy}"
        )


def schema_problems(connection: Connection) -> list[Finding]:
    """List what the schema lacks or has otherwise than this version of the library needs; empty when it is whole.

    Raises:
        UnsupportedDialect: see `require_supported`.
    """
    require_supported(connection)
    return blueprint_for(connection.dialect.name).problems(connection)


@contextmanager
def reading(target: Engine | Connection) -> Iterator[Connection]:
    """Enter a connection to look at; it is left as it was, in the host's transaction or in none.

    Raises:
        TypeError: neither an `Engine` nor a `Connection` was given.
    """
    if isinstance(target, Engine):
        with target.connect() as connection:
            yield connection
    elif isinstance(target, Connection):
        was_idle = not target.in_transaction()
        try:
            yield target
        finally:
            if was_idle:
                target.rollback()
    else:
        raise wrong_target(target)


def create_table(table: Table, dialect: Dialect) -> str:
    """The statement that makes a table."""
    return str(CreateTable(table).compile(dialect=dialect)).strip()


def create_indexes(table: Table, dialect: Dialect) -> dict[str, str]:
    """The statements that make a table's indexes, by name."""
    return {str(index.name): str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes}


def checks(table: Table) -> dict[str, str]:
    """The conditions of a table's named CHECK constraints."""
    return {
        str(constraint.name): str(constraint.sqltext)
        for constraint in table.constraints
        if isinstance(constraint, CheckConstraint)
    }


def foreign_keys(table: Table) -> dict[str, tuple[str, str, str]]:
    """A table's foreign keys by name: column, referred table, referred column; all of ours have one column."""
    found = {}
    for constraint in table.constraints:
        if isinstance(constraint, ForeignKeyConstraint):
            (element,) = constraint.elements
            referred, column = element.target_fullname.split(".")
            found[str(constraint.name)] = (element.parent.name, referred, column)
    return found


def unique_columns(table: Table) -> dict[str, list[str]]:
    """The columns of a table's UNIQUE constraints, by name."""
    return {
        str(constraint.name): [column.name for column in constraint.columns]
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint)
    }


def normalised(statement: str | None) -> str:
    """A statement without what databases and tools change about it: quotes around names, blanks, and letter case."""
    return re.sub(r'["`\[\]\s]+|;$', "", statement or "").casefold()


def rule_problems(connection: Connection) -> list[Finding]:
    """Find rows that break a rule of their table; possible where a rebuild by other hands dropped the rule.

    A lost rule cannot be restored before these rows are corrected, so each finding is named ``<table>.<rule>``.
    """
    found = []
    for table in MODEL_TABLES:
        for rule, (query, what) in _broken_rules(table).items():
            broken = connection.execute(text(f"SELECT count(*) FROM ({query}) AS broken")).scalar_one()
            if broken:
                found.append(
                    Finding(
                        "unrepairable_row",
                        f"{table.name}.{rule}",
                        f"{broken} row(s) of {table.name} {what} (rule {rule}); correct or delete them",
                        repairable=False,
                    )
                )
    return found


def _broken_rules(table: Table) -> dict[str, tuple[str, str]]:
    """By rule: the query for the rows that break it, and what they do. All names and conditions are the models' own."""
    rules = {}
    nulls = " OR ".join(f"t.{column.name} IS NULL" for column in table.columns if not column.nullable)
    rules["not_null"] = (f"SELECT 1 FROM {table.name} AS t WHERE {nulls}", "lack a value that they must have")
    for name, condition in checks(table).items():
        rules[name] = (f"SELECT 1 FROM {table.name} WHERE NOT ({condition})", f"break {condition}")
    for name, (column, referred, referred_column) in foreign_keys(table).items():
        query = (
            f"SELECT 1 FROM {table.name} AS t LEFT JOIN {referred} AS r ON r.{referred_column} = t.{column}"
            f" WHERE t.{column} IS NOT NULL AND r.{referred_column} IS NULL"
        )
        rules[name] = (query, f"refer to a row of {referred} that is gone")
    unique: dict[str, tuple[list[str], str]] = {name: (columns, "") for name, columns in unique_columns(table).items()}
    for index in table.indexes:
        if index.unique:
            where = index.dialect_options["sqlite"]["where"]
            columns = [column.name for column in index.columns]
            unique[str(index.name)] = (columns, f" AND {where}" if where is not None else "")
    for name, (columns, condition) in unique.items():
        known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        grouped = ", ".join(columns)
        query = f"SELECT 1 FROM {table.name} WHERE {known}{condition} GROUP BY {grouped} HAVING count(*) > 1"
        rules[name] = (query, f"share {grouped} with another row")
    return rules


def missing_table(name: str) -> Finding:
    """The finding for a table that is not there; repair makes it again, empty."""
    return Finding("table", name, f"the table {name} is missing")


def unreachable_anchors(count: int) -> Finding:
    """The finding for rows whose anchors are not what the library writes."""
    return Finding(
        "unrepairable_row",
        f"{ddl.INTENTS}.anchors",
        f"{count} live row(s) of {ddl.INTENTS} have anchors that no turn can reach; run `intents reindex`",
        repairable=False,
    )
