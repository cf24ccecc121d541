"""How each dialect takes the write lock, bounds the wait for it and names a lost race.

The only thing of the host's that is touched is the busy or lock time-out: lowered for one call and restored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Engine, false, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm.exc import StaleDataError

from intents.errors import ConcurrentUpdate, SchemaMismatch, UnsupportedDialect
from intents.models import Base, IntentEvent, IntentFiring, IntentTurn, StandingIntent

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

#: First statement of a write transaction on SQLite: takes the write lock before any snapshot is read, changes nothing.
_TAKE_LOCK = update(StandingIntent).where(false()).values(version=StandingIntent.version)

#: PostgreSQL's bound in milliseconds, 0 for none; set for the transaction only.
_LOCK_TIMEOUT = text("SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'")
_SET_LOCK_TIMEOUT = text("SELECT set_config('lock_timeout', :bound, true)")

#: Primary result codes https://sqlite.org/rescode.html: SQLITE_BUSY and SQLITE_LOCKED.
_SQLITE_BUSY: Final = (5, 6)
#: https://www.postgresql.org/docs/current/errcodes-appendix.html: serialization, deadlock, lock not available.
_POSTGRESQL_LOST: Final = ("40001", "40P01", "55P03")
_POSTGRESQL_NO_SCHEMA: Final = ("42P01", "42703")
#: What is said when the unique index by which two processes meet is not there.
_POSTGRESQL_NO_CONFLICT_TARGET: Final = "42P10"
_SQLITE_NO_CONFLICT_TARGET: Final = "ON CONFLICT clause does not match"


def connection_of(session: Session) -> Connection:
    """The session's connection for our tables, whatever else it is bound to."""
    return session.connection(bind_arguments={"mapper": StandingIntent.__mapper__})


def dialect_of(session: Session) -> str:
    """SQLAlchemy's name of the dialect that our tables live in."""
    return session.get_bind(mapper=StandingIntent.__mapper__).dialect.name


def writers_are_serial(session: Session) -> bool:
    """Whether the write lock keeps every rival writer out until the transaction ends."""
    return dialect_of(session) == "sqlite"


@contextmanager
def write_lock(session: Session, *, wait: float, restore: bool) -> Iterator[None]:
    """Take the write lock of the database, where it has one, before anything is read for writing.

    On PostgreSQL rows are locked one by one inside the block; the wait for each is bounded while it lasts.

    Args:
        session: the session to write in.
        wait: most seconds to wait; the host's own shorter bound stays in force.
        restore: False when the transaction ends with the block anyway.

    Raises:
        ConcurrentUpdate: the lock was not free in time, or the transaction's snapshot is too old to write.
        UnsupportedDialect: the connection's transaction mode cannot undo what would be written.
    """
    dialect = dialect_of(session)
    if dialect == "postgresql":
        _refuse_autocommit(connection_of(session))
        with _lock_timeout(connection_of(session), wait, restore=restore):
            yield
        return
    _refuse_legacy_savepoint(session)
    connection = connection_of(session)
    held = Patience(connection.connection.dbapi_connection)
    held.bound(wait)
    try:
        connection.execute(_TAKE_LOCK)
    finally:
        held.restore()
    _refuse_autocommit(connection)
    yield


@contextmanager
def _lock_timeout(connection: Connection, wait: float, *, restore: bool) -> Iterator[None]:
    before = connection.execute(_LOCK_TIMEOUT).scalar_one()
    bound = max(1, int(wait * 1000))
    if 0 < before <= bound:
        yield
        return
    connection.execute(_SET_LOCK_TIMEOUT, {"bound": f"{bound}ms"})
    try:
        yield
    finally:
        if restore:
            # A transaction that failed refuses this, and undoes the setting when it is rolled back.
            with suppress(DBAPIError):
                connection.execute(_SET_LOCK_TIMEOUT, {"bound": f"{before}ms"})


@cache
def claim_turn_statement(dialect: str) -> Any:
    """An insert of a turn's row that returns its key, and nothing where the turn's id is there already.

    Two processes with one id meet at it: the second waits for the first, and then returns nothing.
    """
    insert_of: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect]
    return (
        insert_of(IntentTurn)
        .on_conflict_do_nothing(index_elements=[IntentTurn.agent_id, IntentTurn.turn_key])
        .returning(IntentTurn.key)
    )


class Patience:
    """How long one connection waits for locks, for the time of one call.

    On SQLite the connection's busy time-out; a host's shorter one stays in force. Elsewhere nothing: the wait is a
    setting of the transaction, made by `write_lock`.
    """

    def __init__(self, raw: Any | None) -> None:
        self._raw = raw
        self._before = 0 if raw is None else int(_pragma(raw, "PRAGMA busy_timeout"))
        self._now = self._before

    def bound(self, wait: float) -> None:
        """Wait at most `wait` seconds from now on."""
        self._set(min(self._before, max(0, int(wait * 1000))))

    def restore(self) -> None:
        """Wait as long as the host meant to."""
        self._set(self._before)

    def _set(self, milliseconds: int) -> None:
        if self._raw is not None and milliseconds != self._now:
            _pragma(self._raw, f"PRAGMA busy_timeout = {milliseconds}")
            self._now = milliseconds


@contextmanager
def patience(session: Session) -> Iterator[Patience]:
    """Hold one connection for a session of the service's own, so that even its BEGIN can be bounded.

    An engine may emit ``BEGIN IMMEDIATE`` by an event and wait there already. The session is bound to the connection
    through its public interface; a session that routes by a ``get_bind`` of its own keeps its way, and then only the
    write lock and what follows it are bounded.
    """
    bind = session.get_bind(mapper=StandingIntent.__mapper__)
    if bind.dialect.name != "sqlite" or not isinstance(bind, Engine):
        yield Patience(None)
        return
    with bind.connect() as connection:
        # A bind of the base serves all our tables, unless the host bound one of them by itself.
        session.bind_mapper(Base, connection)
        if session.get_bind(mapper=StandingIntent.__mapper__) is not connection:
            for model in (StandingIntent, IntentTurn, IntentFiring, IntentEvent):
                session.bind_mapper(model, connection)
        if session.get_bind(mapper=StandingIntent.__mapper__) is not connection:
            yield Patience(None)
            return
        held = Patience(connection.connection.dbapi_connection)
        try:
            yield held
        finally:
            session.close()
            held.restore()


@contextmanager
def named_errors() -> Iterator[None]:
    """Turn what drivers say of a lost race or a missing schema into the library's own errors.

    Raises:
        ConcurrentUpdate: busy, locked, deadlocked, serialization failure, or a row changed under the ORM.
        SchemaMismatch: a table or column of ours is not there.
    """
    try:
        yield
    except StaleDataError as error:
        raise ConcurrentUpdate("Another transaction changed the same intent first.", transaction_lost=True) from error
    except IntegrityError:
        raise
    except DBAPIError as error:
        if _is_lost_race(error):
            raise ConcurrentUpdate(
                "The database stayed locked by another transaction.", transaction_lost=True
            ) from error
        if _is_missing_schema(error):
            raise SchemaMismatch(
                "The tables of standing intents are missing, damaged or older than this version.",
                "Run `intents upgrade` or call intents.upgrade(engine) first. A SQLite database in memory is another "
                "one for each connection of its pool: make its engine with poolclass=StaticPool.",
            ) from error
        raise


def _is_lost_race(error: DBAPIError) -> bool:
    original = error.orig
    code = getattr(original, "sqlite_errorcode", None)
    if code is not None:
        return (code & 0xFF) in _SQLITE_BUSY
    state = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
    if state is not None:
        return state in _POSTGRESQL_LOST
    return "is locked" in str(original)


def _is_missing_schema(error: DBAPIError) -> bool:
    message = str(error.orig)
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state == _POSTGRESQL_NO_CONFLICT_TARGET or (
            state in _POSTGRESQL_NO_SCHEMA and "standing_intent" in message
        )
    return message.startswith(_SQLITE_NO_CONFLICT_TARGET) or (
        message.startswith(("no such table", "no such column", "table ")) and "standing_intent" in message
    )


def _refuse_legacy_savepoint(session: Session) -> None:
    connection = connection_of(session)
    if not (session.in_nested_transaction() or connection.in_nested_transaction()):
        return
    raw = connection.connection.dbapi_connection
    legacy = getattr(sqlite3, "LEGACY_TRANSACTION_CONTROL", -1)
    if getattr(raw, "isolation_level", None) is not None and getattr(raw, "autocommit", legacy) in (legacy, None):
        raise UnsupportedDialect(
            "sqlite",
            "this session is inside begin_nested() and its pysqlite connection is in the legacy transaction mode, "
            "where an outer rollback would keep what is written here. Call it before begin_nested(), or make the "
            "engine emit BEGIN itself (SQLAlchemy's documentation: pysqlite, serializable isolation and savepoints).",
        )


def _refuse_autocommit(connection: Connection) -> None:
    raw = connection.connection.dbapi_connection
    # pysqlite tells whether a transaction is open; psycopg and asyncpg, through SQLAlchemy, whether one ever will be.
    if connection.dialect.name == "sqlite":
        commits_by_itself = getattr(raw, "in_transaction", True) is False
        remedy = "AUTOCOMMIT, or let an event emit BEGIN when isolation_level is None."
    else:
        commits_by_itself = getattr(raw, "autocommit", False) is True
        remedy = 'isolation_level="AUTOCOMMIT" for the sessions of this library.'
    if commits_by_itself:
        raise UnsupportedDialect(
            connection.dialect.name,
            f"this connection commits every statement by itself, so nothing could be undone. Use an engine without "
            f"{remedy}",
        )


def _pragma(raw: Any, statement: str) -> Any:
    # On the driver's own cursor: the host's engine events and statement log are for the host's statements.
    cursor = raw.cursor()
    try:
        cursor.execute(statement)
        row = cursor.fetchone()
        return row[0] if row else None
    finally:
        cursor.close()
