"""The transaction in which the schema is changed: one process at a time, all of it or nothing.

Rules for whatever is passed in:

* an `Engine`: a connection and a transaction of our own, committed at the end, rolled back on failure;
* a `Connection` that is in no transaction: the same on that connection, which is left in none;
* a `Connection` in a transaction: everything runs in it and is neither committed nor rolled back. What a failed call
  had done is undone by a savepoint, so that the host's transaction stays usable. The lock is held until the host ends
  it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine.mock import MockConnection

from intents.errors import ConcurrentUpdate, UnsupportedDialect
from intents.locks import named_errors

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_SCRATCH_TABLE: Final = "standing_intents_schema_lock"
#: PostgreSQL's advisory locks are numbers that all applications of a database share: the bytes of "intents".
_ADVISORY_KEY: Final = int.from_bytes(b"intents")
_LEGACY: Final = getattr(sqlite3, "LEGACY_TRANSACTION_CONTROL", -1)


@contextmanager
def schema_transaction(target: Engine | Connection) -> Iterator[Connection]:
    """Enter the transaction in which the schema is read, changed and read again.

    On SQLite the transaction starts with ``BEGIN IMMEDIATE``, whatever the driver's transaction mode; inside a host's
    transaction that the driver has really begun, with the first write. On PostgreSQL with an advisory lock of the
    transaction, under READ COMMITTED when it is ours.

    Args:
        target: an engine or a connection; see the module's rules.

    Raises:
        ConcurrentUpdate: the lock was not free within the host's own busy or lock time-out.
        TypeError: neither an `Engine` nor a `Connection` was given.
        UnsupportedDialect: neither SQLite nor PostgreSQL, or a transaction mode in which nothing could be undone.
    """
    if isinstance(target, Engine):
        with target.connect() as connection:
            if connection.dialect.name == "postgresql":
                # Under a snapshot taken before the wait for the lock, the rival's work would stay invisible.
                connection.execution_options(isolation_level="READ COMMITTED")
            with _begun(connection):
                yield connection
    elif isinstance(target, Connection):
        with _begun(target):
            yield target
    else:
        raise wrong_target(target)


def wrong_target(target: object) -> TypeError:
    """The error for what is neither an engine nor a connection, with the remedy for the two that are nearly one."""
    if isinstance(target, MockConnection):
        return TypeError(
            "This call reads the database, and Alembic's --sql mode has no connection to it. To write our statements "
            "too, share one history: list intents.migrations:versions in version_locations, take the call out of your "
            "migration, and run `alembic upgrade heads --sql`."
        )
    return TypeError(
        f"An Engine or a Connection of SQLAlchemy is needed, not {type(target).__name__}. From asyncio, hand in the "
        "synchronous connection: `await connection.run_sync(intents.upgrade)`, and check_schema likewise."
    )


def _begun(connection: Connection) -> AbstractContextManager[None]:
    if connection.dialect.name == "sqlite":
        return _begun_on_sqlite(connection)
    if connection.dialect.name == "postgresql":
        return _begun_on_postgresql(connection)
    raise UnsupportedDialect(
        connection.dialect.name, "standing intents live in SQLite or PostgreSQL; give them an engine of one of these."
    )


@contextmanager
def _begun_on_postgresql(connection: Connection) -> Iterator[None]:
    joined = connection.in_transaction()
    if getattr(connection.connection.dbapi_connection, "autocommit", False) is True:
        raise UnsupportedDialect(
            "postgresql",
            "this connection commits every statement by itself, so a failed change could not be undone. Pass the "
            "engine, or a connection without AUTOCOMMIT.",
        )
    with _undone_on_failure(connection, joined=joined):
        with _naming_a_lost_race(joined=joined):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
        yield


@contextmanager
def _begun_on_sqlite(connection: Connection) -> Iterator[None]:
    """Begin, or join, with the write lock; the cases are those of the driver's transaction modes.

    SQLAlchemy counts a connection as in a transaction from its first statement on. The driver may have sent no BEGIN by
    then (legacy mode before the first write), may have sent it at once (``autocommit=False``, or a host's event that
    emits it), or may send none ever (AUTOCOMMIT).
    """
    driver: Any = connection.connection.driver_connection
    begun_by_host = connection.in_transaction()
    commits_each = begun_by_host and _commits_each_statement(driver)
    joined = begun_by_host and not commits_each
    if joined and connection.in_nested_transaction() and _is_legacy(driver):
        raise UnsupportedDialect(
            "sqlite",
            "this connection is inside begin_nested() and in the legacy transaction mode of pysqlite, where an outer "
            "rollback may keep what is written here. Call it before begin_nested(), or pass the engine.",
        )
    if not begun_by_host:
        connection.begin()
        commits_each = _commits_each_statement(driver)
    try:
        with _naming_a_lost_race(joined=joined):
            if joined and driver.in_transaction:
                _write_something(connection)
            else:
                if driver.in_transaction:
                    # A deferred BEGIN that came with the connection; nothing has happened in it.
                    connection.exec_driver_sql("ROLLBACK")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
        with _undone_on_failure(connection, joined=joined):
            yield
            if commits_each:
                connection.exec_driver_sql("COMMIT")
    except BaseException:
        if not joined:
            if commits_each and driver.in_transaction:
                connection.exec_driver_sql("ROLLBACK")
            if not begun_by_host:
                connection.rollback()
        raise
    if not begun_by_host:
        connection.commit()


def _is_legacy(driver: Any) -> bool:
    return getattr(driver, "isolation_level", None) is not None and getattr(driver, "autocommit", _LEGACY) == _LEGACY


def _commits_each_statement(driver: Any) -> bool:
    mode = getattr(driver, "autocommit", _LEGACY)
    if mode == _LEGACY:
        return driver.isolation_level is None and not driver.in_transaction
    return mode is True


def _write_something(connection: Connection) -> None:
    """Take the write lock in a transaction that is under way, leaving nothing behind.

    The first statement is a write: were it a read, it would fix a snapshot that could not be written from later.
    """
    connection.exec_driver_sql(f"CREATE TABLE {_SCRATCH_TABLE} (x)")
    connection.exec_driver_sql(f"DROP TABLE {_SCRATCH_TABLE}")


@contextmanager
def _undone_on_failure(connection: Connection, *, joined: bool) -> Iterator[None]:
    if joined:
        with connection.begin_nested():
            yield
    elif connection.in_transaction():
        yield
    else:
        with connection.begin():
            yield


@contextmanager
def _naming_a_lost_race(*, joined: bool) -> Iterator[None]:
    try:
        with named_errors():
            yield
    except ConcurrentUpdate as error:
        raise ConcurrentUpdate(
            "Another process is changing the schema, or holds a write lock on the database.", transaction_lost=joined
        ) from error
