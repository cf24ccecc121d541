"""The database that a command works on."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import URL, Engine, create_engine, inspect, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import sessionmaker

from intents import ddl
from intents.cli.errors import USAGE, CommandError
from intents.migrate import check_schema
from intents.policy import OwnerPolicy
from intents.sanitize import has_forbidden_id_characters
from intents.schemas import Admin
from intents.service import IntentService
from intents.text import Analyzer
from intents.text.languages import STEMMERS, UNDETERMINED, UNSTEMMED

#: Shortest beginning of an id that stands for the whole.
_SHORTEST: Final = 8
#: How many ids are named where a beginning fits several.
_SHOWN: Final = 5


def admin() -> Admin:
    """Who works at this command line, as the audit log names them."""
    try:
        return Admin(name=getpass.getuser())
    except (OSError, KeyError, ImportError):
        return Admin(name=f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown")


def url_of(database: str | None) -> URL:
    """Read ``--database``: a plain path is a SQLite file, and drivers are the ones that a command can use.

    Raises:
        CommandError: nothing was given, or another kind of database.
        ArgumentError: it is no URL.
    """
    if database is None or not database.strip():
        raise CommandError("Say which database: --database FILE|URL, or set INTENTS_DATABASE_URL.", USAGE)
    if "://" not in database:
        return URL.create("sqlite", database=database)
    url = make_url(database)
    backend = url.get_backend_name()
    if backend == "sqlite":
        return url.set(drivername="sqlite")
    if backend != "postgresql":
        raise CommandError(f"--database names {backend}; standing intents live in SQLite or PostgreSQL.", USAGE)
    if url.drivername.partition("+")[2] in ("", "asyncpg"):
        return url.set(drivername="postgresql+psycopg")
    return url


def shown(url: URL) -> str:
    """The database's name for messages, without a password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def has_tables(engine: Engine) -> bool:
    """Whether the table of intents is there, whatever its version."""
    return inspect(engine).has_table(ddl.INTENTS)


@contextmanager
def engine_for(database: str | None, *, create: bool = False) -> Iterator[Engine]:
    """Open the database.

    Args:
        database: what ``--database`` says.
        create: True lets SQLite make the file; otherwise a missing one is refused and nothing is made.

    Raises:
        CommandError: no database was given, or the SQLite file is not there.
    """
    url = url_of(database)
    if not create:
        _require_file(url)
    try:
        engine = create_engine(url)
    except ModuleNotFoundError as error:
        extra = 'pip install "standing-intents[postgresql]"' if error.name == "psycopg" else f"install {error.name}"
        raise CommandError(f"The database driver {error.name} is not installed: {extra}") from None
    try:
        yield engine
    except DBAPIError as error:
        reason = str(error.orig)
        if reason.startswith(("unable to open", "file is not a database")):
            raise CommandError(f"{shown(url)}: {reason}; name a SQLite file.") from error
        raise
    finally:
        engine.dispose()


@contextmanager
def checked_engine(database: str | None) -> Iterator[Engine]:
    """Open an existing database whose schema is this version's.

    Raises:
        CommandError: see `engine_for`.
        SchemaMismatch: the tables are missing, older, newer or damaged.
    """
    with engine_for(database) as engine:
        check_schema(engine)
        yield engine


@contextmanager
def service_for(
    database: str | None, agent: str, *, every_language: bool = False, clock: Callable[[], datetime] | None = None
) -> Iterator[IntentService]:
    """Set a service up on an existing database; see `checked_engine`.

    Args:
        database: what ``--database`` says.
        agent: whose intents.
        every_language: True reads turns in every language, as hosts may have given their analyzer any.
        clock: the service's clock; the machine's when None.

    Raises:
        CommandError: see `engine_for`; or the agent id is not one.
        SchemaMismatch: see `checked_engine`.
    """
    with checked_engine(database) as engine:
        yield make_service(engine, agent, analyzer=_polyglot() if every_language else None, clock=clock)


def whole_id(service: IntentService, given: str) -> str:
    """Complete an id that was cut short; one that no intent has is returned as it is, for the service to refuse.

    Raises:
        CommandError: it is shorter than 8 characters, or several ids begin with it.
    """
    beginning = given.strip().lower()
    if has_forbidden_id_characters(given):
        return given
    if len(beginning) < _SHORTEST:
        raise CommandError(
            f"{given!r} is no id: give at least its first {_SHORTEST} characters, as `intents list` shows them.", USAGE
        )
    ids = service._read(lambda repository: repository._ids_beginning_with(beginning, most=_SHOWN + 1))
    if len(ids) > 1:
        listed = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
        raise CommandError(f"{beginning!r} begins several ids: {listed}. Give more of the one you mean.", USAGE)
    return ids[0] if ids else given


def make_service(
    engine: Engine,
    agent: str,
    *,
    owners: OwnerPolicy | None = None,
    analyzer: Analyzer | None = None,
    clock: Callable[[], datetime] | None = None,
) -> IntentService:
    """Set a service up on an engine; nobody is an owner unless said.

    Raises:
        CommandError: the agent id is not one.
    """
    try:
        return IntentService(
            sessionmaker(engine), agent_id=agent, owners=owners or OwnerPolicy(), analyzer=analyzer, clock=clock
        )
    except ValueError as error:
        raise CommandError(f"--agent: {error}", USAGE) from None


def makes_a_file(database: str) -> bool:
    """Whether opening the database with ``create`` makes a SQLite file that is not there yet."""
    url = url_of(database)
    return url.get_backend_name() == "sqlite" and not _is_there(url)


def _is_there(url: URL) -> bool:
    name = url.database or ""
    return name not in ("", ":memory:") and _path_of(name).exists()


def _path_of(name: str) -> Path:
    return Path(urlsplit(name).path if name.startswith("file:") else name)


def _require_file(url: URL) -> None:
    if url.get_backend_name() != "sqlite":
        return
    name = url.database or ""
    path = _path_of(name)
    if not _is_there(url):
        raise CommandError(
            "A database in memory is always empty; give a file."
            if name in ("", ":memory:")
            else f"There is no database {str(path)!r}; make one with `intents upgrade --database {path}`."
        )


def _polyglot() -> Analyzer:
    return Analyzer(("en", *sorted({*STEMMERS, *UNSTEMMED} - {"en", UNDETERMINED})))


def give_way() -> None:
    """Pause between two batches, so that turns which wait for the write lock get it.

    SQLite does not queue them: each asks again after a while of its own, at most after this time
    (``sqliteDefaultBusyCallback``).
    """
    time.sleep(0.1)
