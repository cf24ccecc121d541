"""Copies of a SQLite database, made while matching goes on, verified, and put back.

A copy is the whole file: the tables of a host that share it are in it too. On PostgreSQL use ``pg_dump``.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from intents import ddl
from intents.errors import ConcurrentUpdate, SchemaMismatch, UnsupportedDialect
from intents.migrate import check_schema

#: Called with the pages left and the pages in all.
Progress = Callable[[int, int], None]

#: Pages copied between two looks at other connections: small enough that a writer never waits long.
_PAGES_PER_STEP: Final = 256
#: Seconds that a copy waits for other connections without getting on.
_PATIENCE: Final = 10.0
#: Result codes https://sqlite.org/rescode.html: SQLITE_BUSY and SQLITE_LOCKED.
_SQLITE_BUSY: Final = (5, 6)
_PREFIX: Final = "intents-"
_SUFFIX: Final = ".db"


def backup(engine: Engine, target: str | Path, *, progress: Progress | None = None) -> Path:
    """Copy the database to a file, through SQLite's online backup, and verify the copy.

    The file appears under its name only when it is whole and sound; an existing one is replaced then.

    Args:
        engine: the database.
        target: the file to write; its directory must exist.
        progress: told how far the copy is.

    Returns:
        The path of the copy.

    Raises:
        UnsupportedDialect: the engine is not on a SQLite file.
        SchemaMismatch: the copy is damaged or its schema is not this version's.
        ConcurrentUpdate: other connections kept the database locked.
        ValueError: the target is the database itself.
        OSError: the file cannot be written.
    """
    path = Path(target)
    database = _require_sqlite(engine)
    if path.exists() and path.samefile(database):
        raise ValueError("The target of a backup is the database itself; name another file.")
    with _beside(path) as unfinished:
        with engine.connect() as connection, closing(_open(engine, unfinished)) as copy:
            _copy(_driver_connection(connection), copy, progress)
        verify(unfinished)
        os.replace(unfinished, path)
    return path


def snapshot(
    engine: Engine, directory: str | Path, *, keep: int, now: datetime | None = None, progress: Progress | None = None
) -> Path:
    """Write a dated copy into a directory and remove all but the newest `keep` of them, for a daily job.

    Args:
        engine: the database.
        directory: made when missing; files of other names are left alone.
        keep: how many snapshots stay, at least one.
        now: the moment in the file's name; the machine's when None.
        progress: told how far the copy is.

    Returns:
        The path of the new snapshot, ``intents-YYYYMMDDTHHMMSSZ.db``.

    Raises:
        ValueError: `keep` is below one.
        UnsupportedDialect, SchemaMismatch, OSError: as for `backup`; then no older snapshot is removed.
    """
    if keep < 1:
        raise ValueError("keep must be at least 1: a rotation that keeps nothing is no backup.")
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    path = backup(engine, folder / f"{_PREFIX}{moment:%Y%m%dT%H%M%SZ}{_SUFFIX}", progress=progress)
    for old in sorted(folder.glob(f"{_PREFIX}[0-9]*T[0-9]*Z{_SUFFIX}"))[:-keep]:
        old.unlink()
    return path


def restore(engine: Engine, source: str | Path, *, progress: Progress | None = None) -> Path | None:
    """Put a copy back in place of the database; what was there is kept beside it.

    The copy is verified first. The pages are written in one transaction of SQLite's, so other connections see the old
    database or the new one, and a crash leaves the old.

    Args:
        engine: the database to replace; it need not exist yet.
        source: a file that `backup` or `snapshot` wrote.
        progress: told how far the copy is.

    Returns:
        Where the old database is kept (``NAME.before-restore-…``); None when there was none.

    Raises:
        FileNotFoundError: there is no such copy.
        SchemaMismatch: the copy is damaged, or its schema is newer or older than this version's.
        UnsupportedDialect: the engine is not on a SQLite file.
        ConcurrentUpdate: other connections kept the database locked.
        ValueError: the backup is the database itself.
    """
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "There is no such backup", str(path))
    verify(path)
    database = _require_sqlite(engine)
    if database.exists() and path.samefile(database):
        raise ValueError("The backup to restore is the database itself; name another file.")
    kept = None
    if database.exists() and database.stat().st_size > 0:
        kept = _unused(database.with_name(f"{database.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"))
        with engine.connect() as connection, closing(_open(engine, kept)) as copy:
            _copy(_driver_connection(connection), copy, None)
    with closing(_open(engine, path)) as copy, engine.connect() as connection:
        # All pages in one step: the destination stays locked and is committed as a whole.
        _copy(copy, _driver_connection(connection), progress, pages=-1)
    return kept


def verify(path: str | Path) -> None:
    """Check that a file is a sound SQLite database with this version's schema and a sound full-text index.

    Raises:
        SchemaMismatch: it is not; the message says what is wrong.
    """
    remedy = "Take another backup; this file cannot be used."
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)
    try:
        with closing(sqlite3.connect(path)) as connection:
            answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if answer != "ok":
                raise SchemaMismatch(f"{Path(path).name} is damaged ({answer}).", remedy)
        check_schema(engine)
        # SQLite's own check does not look inside a full-text index; that one is a write, and the file may be read-only.
        with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect("")) as scratch:
            connection.backup(scratch)
            scratch.execute(f"INSERT INTO {ddl.FTS} ({ddl.FTS}) VALUES ('integrity-check')")
    except (sqlite3.DatabaseError, DatabaseError) as error:
        raise SchemaMismatch(f"{Path(path).name} is not a sound SQLite database ({error}).", remedy) from error
    finally:
        engine.dispose()


def _require_sqlite(engine: Engine) -> Path:
    if engine.dialect.name != "sqlite":
        raise UnsupportedDialect(engine.dialect.name, "backups are made with the database's own tool, such as pg_dump.")
    with engine.connect() as connection:
        # Asked of SQLite itself: the URL may be one of SQLite's own, with options.
        files = {row.name: row.file for row in connection.exec_driver_sql("PRAGMA database_list")}
    if not files["main"]:
        raise UnsupportedDialect("sqlite", "a database in memory has no file to copy or replace.")
    return Path(files["main"])


def _unused(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _open(engine: Engine, path: Path) -> Any:
    # With the engine's own driver: one driver's connection cannot be copied into another's.
    return engine.dialect.loaded_dbapi.connect(str(path))


def _driver_connection(connection: Any) -> Any:
    return connection.connection.driver_connection


def _copy(source: Any, target: Any, progress: Progress | None, *, pages: int = _PAGES_PER_STEP) -> None:
    give_up = time.monotonic() + _PATIENCE

    def step(status: int, remaining: int, total: int) -> None:
        nonlocal give_up
        # The driver itself tries a locked database again for ever.
        if status not in _SQLITE_BUSY:
            give_up = time.monotonic() + _PATIENCE
        elif time.monotonic() >= give_up:
            raise ConcurrentUpdate("The database is in use and stayed locked.", transaction_lost=False)
        if progress is not None:
            progress(remaining, total)

    source.backup(target, pages=pages, progress=step, sleep=0.01)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new file in the same directory, so that the final rename is atomic; gone when it was not used."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        for leftover in ("-journal", "-wal", "-shm"):
            Path(name + leftover).unlink(missing_ok=True)
