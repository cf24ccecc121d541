"""Doing damage to a schema, and looking at what is left."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from intents import ddl, doctor

#: The migrations as installed: in the repository, or in a wheel when the sources are out of reach.
MIGRATIONS = Path(importlib.import_module("intents.migrations").__path__[0])
Fill = Callable[..., int]
SQLITE = ("sqlite-file", "sqlite-memory", "sqlite-new")
on_sqlite = pytest.mark.parametrize("engine", SQLITE, indirect=True)
on_sqlite_files = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
on_postgresql = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)


#: What `alembic revision` writes beside the only head that it sees.
STRAY = '"""First."""\n\nrevision = "1f0c"\ndown_revision = "intents_0001"\n\n\ndef upgrade():\n    pass\n'


def installed_with_a_stray_revision(
    directory: Path, monkeypatch: pytest.MonkeyPatch, name: str = "1f0c_first.py"
) -> Path:
    """Make the library believe that it is installed in a directory, where somebody's revision lies beside its own."""
    package = directory / "installed"
    shutil.copytree(MIGRATIONS, package, ignore=shutil.ignore_patterns("__pycache__"))
    stray = package / "versions" / name
    stray.write_text(STRAY)
    monkeypatch.setattr(importlib.import_module("intents.migrations"), "__path__", [str(package)])
    return stray


def run(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def indexed(engine: Engine) -> list[int]:
    """The keys that the search index knows."""
    query = (
        f"SELECT rowid FROM {ddl.FTS} ORDER BY rowid"
        if engine.dialect.name == "sqlite"
        else f"SELECT DISTINCT intent_key FROM {ddl.ANCHORS} ORDER BY 1"
    )
    with engine.connect() as connection:
        return list(connection.scalars(text(query)))


def found_by(engine: Engine, term: str = "a0000000000636f") -> list[int]:
    with engine.connect() as connection:
        return list(
            connection.scalars(text(f"SELECT rowid FROM {ddl.FTS} WHERE {ddl.FTS} MATCH :term"), {"term": term})
        )


def messages(engine: Engine) -> str:
    return "; ".join(finding.message for finding in doctor.examine(engine))


def live(rows: dict[str, int]) -> list[int]:
    return sorted(rows[status] for status in ("pending", "armed", "fired"))


def run_script(engine: Engine, script: str) -> None:
    """Execute a whole SQL script as the database's own shell would."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        if engine.dialect.name == "sqlite":
            raw.executescript(script)
        else:
            raw.autocommit = True
            raw.execute(script)
            raw.autocommit = False  # the connection goes back to the pool
