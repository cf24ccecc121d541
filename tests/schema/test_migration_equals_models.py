"""The migrations, the models, and the scripts that ``--sql`` writes make one and the same schema."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, text

from intents import ddl
from intents.lifecycle import TRANSITIONS, allowed_moves
from intents.migrate import check_schema, downgrade, upgrade
from intents.models import metadata
from tests.conftest import ENGINES
from tests.schema.snapshot import snapshot
from tests.schema.support import MIGRATIONS, run_script

Offline = Callable[[Path, str, Callable[..., None], str], str]
FIRST = "intents.migrations.versions.intents_0001_standing_intents"


@pytest.fixture(scope="module")
def first_revision() -> ModuleType:
    return importlib.import_module(FIRST)


def alembic(directory: Path, *arguments: str) -> str:
    """Run Alembic's command line as a person in that directory would."""
    done = subprocess.run(
        [sys.executable, "-m", "alembic", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A directory with the repository's ini file and migrations, so that no test writes into the real one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "alembic.ini").exists():
        pytest.fail("these tests need the repository's alembic.ini beside tests/")
    here = tmp_path / "repository"
    here.mkdir()
    (here / "alembic.ini").write_text((root / "alembic.ini").read_text())
    (here / "migrations").symlink_to(MIGRATIONS)
    return here


@pytest.mark.parametrize(("empty_engine", "engine"), [(kind, kind) for kind in ENGINES], indirect=True)
def test_create_all_and_upgrade_make_the_same_schema(empty_engine: Engine, engine: Engine) -> None:
    upgrade(empty_engine)
    assert snapshot(empty_engine) == snapshot(engine)


def test_the_schema_is_what_the_snapshot_sees(engine: Engine) -> None:
    found = snapshot(engine)
    names = {name for _, name in found}
    assert {"standing_intents_guard_status", ddl.FTS} <= names or {"standing_intents_guard", ddl.ANCHORS} <= {
        name.partition(".")[0] for name in names
    }
    assert len(found) > 30


def test_upgrade_then_base_then_upgrade_leaves_nothing_and_gives_the_same(empty_engine: Engine) -> None:
    before = snapshot(empty_engine)
    upgrade(empty_engine)
    made = snapshot(empty_engine)
    downgrade(empty_engine, "base")
    assert snapshot(empty_engine) == before == {}
    with empty_engine.connect() as connection:
        assert not connection.dialect.has_table(connection, "intents_alembic_version")
    upgrade(empty_engine)
    assert snapshot(empty_engine) == made
    check_schema(empty_engine)


def test_drop_all_leaves_nothing(engine: Engine) -> None:
    metadata.drop_all(engine)
    assert snapshot(engine) == {}


def test_the_frozen_triggers_are_those_of_the_lifecycle_table(first_revision: ModuleType) -> None:
    assert list(first_revision._SQLITE_TRIGGERS) == list(ddl.sqlite_triggers().values())
    assert list(first_revision._POSTGRESQL_TRIGGERS) == ddl.postgresql_triggers()
    assert first_revision._CREATE_FTS == ddl.CREATE_FTS
    assert first_revision._TUNE_FTS == ddl.TUNE_FTS
    guard = first_revision._SQLITE_TRIGGERS[0]
    for source, target in allowed_moves():
        assert f"(OLD.status = '{source.value}' AND NEW.status = '{target.value}')" in guard
    assert guard.count("OLD.status = '") == len({(s, t.target) for t in TRANSITIONS for s in t.sources})


def test_a_revision_imports_nothing_of_the_library(first_revision: ModuleType) -> None:
    versions = Path(str(first_revision.__file__)).parent
    for path in versions.glob("intents_*.py"):
        code = path.read_text()
        assert "import intents" not in code
        assert "from intents" not in code


def test_alembic_upgrade_head_from_the_repository(repository: Path) -> None:
    alembic(repository, "upgrade", "head")
    engine = create_engine(f"sqlite:///{repository / 'intents.db'}")
    check_schema(engine)
    assert "intents_0001 (head)" in alembic(repository, "current")
    alembic(repository, "downgrade", "base")
    assert snapshot(engine) == {}
    engine.dispose()


def test_the_command_line_takes_another_database(
    repository: Path, tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alembic(repository, "-x", f"url={postgresql_url}", "upgrade", "head")
    monkeypatch.setenv("INTENTS_DATABASE_URL", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    alembic(repository, "upgrade", "head")
    for url in (postgresql_url, f"sqlite:///{tmp_path / 'elsewhere.db'}"):
        engine = create_engine(url)
        check_schema(engine)
        engine.dispose()
    assert not (repository / "intents.db").exists()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Offline:
    """Write the script that ``--sql`` writes."""

    def write(repository: Path, url: str, run: Callable[..., None], revision: str) -> str:
        monkeypatch.setenv("INTENTS_DATABASE_URL", url)
        script = io.StringIO()
        run(Config(str(repository / "alembic.ini"), output_buffer=script), revision, sql=True)
        return script.getvalue()

    return write


@pytest.mark.parametrize("empty_engine", ["sqlite-file", "postgresql"], indirect=True)
def test_offline_sql_makes_the_same_schema_and_takes_it_back(
    empty_engine: Engine, repository: Path, offline: Offline
) -> None:
    url = f"{empty_engine.dialect.name}://"
    up = offline(repository, url, command.upgrade, "head")
    down = offline(repository, url, command.downgrade, "intents_0001:base")
    run_script(empty_engine, up)
    check_schema(empty_engine)
    made = snapshot(empty_engine)
    upgrade(empty_engine)  # nothing to do: the script recorded its revision
    assert snapshot(empty_engine) == made
    run_script(empty_engine, down)
    assert snapshot(empty_engine) == {}
    upgrade(empty_engine)
    assert snapshot(empty_engine) == made


def test_offline_sql_is_one_transaction(repository: Path, offline: Offline) -> None:
    for url in ("sqlite://", "postgresql://"):
        lines = [line for line in offline(repository, url, command.upgrade, "head").splitlines() if line]
        assert lines[0] == "BEGIN;"
        assert lines[-1] == "COMMIT;"
    assert "BEGIN;" in alembic(repository, "-x", "url=postgresql://", "upgrade", "head", "--sql")
    assert not (repository / "intents.db").exists()


def test_other_dialects_are_refused_by_the_revision_itself(repository: Path, offline: Offline) -> None:
    with pytest.raises(NotImplementedError, match="SQLite or PostgreSQL, not in mysql"):
        offline(repository, "mysql://", command.upgrade, "head")


def test_the_upgrade_is_one_transaction(empty_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("halfway")

    monkeypatch.setattr("alembic.operations.Operations.create_index", fail)
    with pytest.raises(RuntimeError, match="halfway"):
        upgrade(empty_engine)
    assert snapshot(empty_engine) == {}
    monkeypatch.undo()
    upgrade(empty_engine)
    check_schema(empty_engine)


def test_a_key_is_never_used_again(empty_engine: Engine, fill: Callable[..., int]) -> None:
    upgrade(empty_engine)
    with empty_engine.begin() as connection:
        first = fill(connection)
        connection.execute(text("DELETE FROM standing_intents"))
        assert fill(connection) == first + 1
