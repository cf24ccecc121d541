"""Looking a database over, and mending what can be mended from the code and the rows.

`examine` changes nothing. `repair` makes triggers, indexes and the search index again, adds lost constraints, and on
SQLite makes a table anew that a host's batch migration rebuilt without AUTOINCREMENT or constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

from sqlalchemy import Connection, Engine

from intents.blueprint import MODEL_TABLES, Finding, blueprint_for, reading, rule_problems, schema_problems
from intents.errors import SchemaMismatch
from intents.locks import named_errors
from intents.schema_lock import schema_transaction, wrong_target

__all__ = ["Finding", "examine", "repair"]


def examine(engine_or_connection: Engine | Connection) -> list[Finding]:
    """List what is wrong with the schema, the search index and the rows; empty when all is well.

    Reads every live intent. Nothing is changed, but SQLite's check of the full-text index takes the write lock; a
    connection that was in no transaction is left in none.

    Raises:
        UnsupportedDialect: neither SQLite nor PostgreSQL, or a SQLite that is too old or lacks FTS5.
    """
    with reading(engine_or_connection) as connection:
        return _examine(connection)


def repair(engine_or_connection: Engine | Connection) -> list[str]:
    """Mend what `examine` finds and can be mended; a second run does nothing.

    Runs in one transaction: of its own for an engine or an idle connection, of the host for a connection in one (which
    the host must commit). What it cannot mend, `examine` still lists afterwards.

    Returns:
        One sentence for each thing that was done; empty when nothing was wrong.

    Raises:
        ConcurrentUpdate: another process holds the lock.
        SchemaMismatch: there are no tables to mend.
        TypeError: neither an `Engine` nor a `Connection` was given.
        UnsupportedDialect: see `examine`.
    """
    with _foreign_keys_off(engine_or_connection) as target, schema_transaction(target) as connection:
        findings = _examine(connection)
        if lacks_every_table(findings):
            raise SchemaMismatch(
                "The tables of standing intents are missing in this database.",
                "Run `intents upgrade` or call intents.upgrade(engine) first; where your own Alembic history holds the "
                "revisions, run `alembic upgrade heads`.",
            )
        return blueprint_for(connection.dialect.name).repair(connection, findings)


def lacks_every_table(findings: Iterable[Finding]) -> bool:
    """Tell whether there is nothing to mend because the schema was never made: that is for `intents.upgrade`."""
    missing = {finding.name for finding in findings if finding.kind == "table"}
    return missing.issuperset(table.name for table in MODEL_TABLES)


def _examine(connection: Connection) -> list[Finding]:
    with named_errors():
        findings = schema_problems(connection)
        kinds = {finding.kind for finding in findings}
        if kinds & {"table", "column"}:
            return findings
        findings += rule_problems(connection)
        if "search_index" not in kinds:
            findings += blueprint_for(connection.dialect.name).index_problems(connection)
        return findings


@contextmanager
def _foreign_keys_off(target: Engine | Connection) -> Iterator[Engine | Connection]:
    """Let a table be dropped and made anew although others refer to it, where the connection is ours to set.

    SQLite ignores the pragma inside a transaction, so a host's transaction is left as it is; so is a connection in the
    mode ``autocommit=False``, which is always in one.
    """
    if not isinstance(target, (Engine, Connection)):
        raise wrong_target(target)
    if target.dialect.name != "sqlite" or (isinstance(target, Connection) and target.in_transaction()):
        yield target
        return
    with target.connect() if isinstance(target, Engine) else nullcontext(target) as connection:
        # Not through SQLAlchemy, which would begin a transaction first.
        cursor = connection.connection.cursor()
        try:
            cursor.execute("PRAGMA foreign_keys")
            before = cursor.fetchone()
            cursor.execute("PRAGMA foreign_keys = OFF")
            try:
                yield connection
            finally:
                cursor.execute(f"PRAGMA foreign_keys = {before[0] if before else 'OFF'}")
        finally:
            cursor.close()
