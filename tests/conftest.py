"""Databases for the tests.

``engine`` runs a test on every database that the library supports, the schema made by ``metadata.create_all()``:

* ``sqlite-file``: the SQLite of the running Python, in a file;
* ``sqlite-memory``: the same in memory, with SQLAlchemy's default pool (sessions of one thread share one connection);
* ``sqlite-new``: a newer SQLite (pysqlite3-binary), in a file;
* ``postgresql``: a fresh database on one server for the whole test run.

A test that means only some of them says so: ``@pytest.mark.parametrize("engine", ["sqlite-file"], indirect=True)``.
``empty_engine`` is the same without the schema. ``postgresql_url`` is the URL of an empty database.
"""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import URL, Engine, create_engine

from intents.models import metadata
from tests import postgresql

ENGINES = ("sqlite-file", "sqlite-memory", "sqlite-new", "postgresql")
_HOME = pytest.StashKey[Path]()


# One server for all workers: the process that starts them names its directory, and stops it when all are done.


def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, str] | None = getattr(config, "workerinput", None)
    config.stash[_HOME] = Path(worker_input["postgresql_home"]) if worker_input else postgresql.new_home()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["postgresql_home"] = str(node.config.stash[_HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    home = config.stash.get(_HOME, None)
    if home is not None and not hasattr(config, "workerinput"):
        postgresql.stop(home)


@pytest.fixture(scope="session")
def postgresql_server(pytestconfig: pytest.Config) -> URL:
    """The maintenance database of the run's PostgreSQL server."""
    return postgresql.start(pytestconfig.stash[_HOME])


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: URL) -> Iterator[URL]:
    """A database with the schema, to be copied; nobody may stay connected to it."""
    with postgresql.database(postgresql_server) as url:
        _create_schema(create_engine(url))
        yield url


@pytest.fixture
def postgresql_url(postgresql_server: URL) -> Iterator[str]:
    """The URL of a fresh, empty PostgreSQL database."""
    with postgresql.database(postgresql_server) as url:
        yield url.render_as_string(hide_password=False)


def newer_sqlite() -> ModuleType:
    """The driver with a newer SQLite; skips by name only where no wheel of it exists."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        if sys.platform == "linux" and platform.machine() == "x86_64":
            raise
        pytest.skip(
            f"NOT TESTED on a newer SQLite: pysqlite3-binary has no wheel for {sys.platform} {platform.machine()}"
        )


def _create_schema(engine: Engine) -> None:
    metadata.create_all(engine)
    engine.dispose()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the schema, to be copied: cheaper than making it again for each test."""
    path = tmp_path_factory.mktemp("template") / "intents.db"
    _create_schema(create_engine(f"sqlite:///{path}"))
    return path


def _make_engine(kind: str, request: pytest.FixtureRequest, *, schema: bool) -> Iterator[Engine]:
    if kind == "postgresql":
        server = request.getfixturevalue("postgresql_server")
        template = request.getfixturevalue("postgresql_template") if schema else None
        with postgresql.database(server, template) as url:
            yield from _disposed(create_engine(url))
        return
    if kind == "sqlite-memory":
        engine = create_engine("sqlite://")
        if schema:
            metadata.create_all(engine)
        yield from _disposed(engine)
        return
    path = request.getfixturevalue("tmp_path") / ("intents.db" if schema else "empty.db")
    if schema:
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    options = {"module": newer_sqlite()} if kind == "sqlite-new" else {}
    yield from _disposed(create_engine(f"sqlite:///{path}", **options))


def _disposed(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.dispose()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a database that has the schema."""
    yield from _make_engine(request.param, request, schema=True)


@pytest.fixture(params=ENGINES)
def empty_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a database that has nothing."""
    yield from _make_engine(request.param, request, schema=False)


@pytest.fixture
def sqlite_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a SQLite file that has the schema."""
    yield from _make_engine("sqlite-file", request, schema=True)


@pytest.fixture
def sqlite_empty_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on an empty SQLite file."""
    yield from _make_engine("sqlite-file", request, schema=False)


@pytest.fixture
def postgresql_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a PostgreSQL database that has the schema."""
    yield from _make_engine("postgresql", request, schema=True)


@pytest.fixture
def engine_factory(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """``create_engine`` whose engines are disposed of at the end of the test."""
    made: list[Engine] = []

    def make(url: str | URL | None = None, **options: Any) -> Engine:
        made.append(create_engine(url if url is not None else f"sqlite:///{tmp_path / 'intents.db'}", **options))
        return made[-1]

    yield make
    for each in made:
        each.dispose()
