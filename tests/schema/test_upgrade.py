"""`intents.upgrade`: once, by many at a time, and nothing of the host's touched."""

from __future__ import annotations

import logging
import multiprocessing
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.pool import NullPool

from intents import doctor
from intents.errors import SchemaMismatch
from intents.migrate import check_schema, downgrade, upgrade
from intents.models import metadata
from tests.schema.snapshot import snapshot
from tests.schema.support import MIGRATIONS, installed_with_a_stray_revision

MakeEngine = Callable[..., Engine]


def recorded(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(text("SELECT version_num FROM intents_alembic_version")))


def statements_of(engine: Engine) -> list[str]:
    """Collect what is sent from now on."""
    seen: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _cur, statement, *_: seen.append(statement))
    return seen


def writes(statements: list[str]) -> list[str]:
    reads = ("SELECT", "PRAGMA", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "WITH")
    return [s for s in statements if not s.lstrip().upper().startswith(reads) and "schema_lock" not in s]


def test_a_second_upgrade_does_nothing(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    seen = statements_of(empty_engine)
    upgrade(empty_engine)
    assert writes(seen) == []
    assert recorded(empty_engine) == ["intents_0001"]


def test_a_start_up_does_not_wait_for_a_writer(engine_factory: MakeEngine) -> None:
    engine = engine_factory(connect_args={"timeout": 0.05})
    upgrade(engine)
    holder = engine.connect()
    holder.exec_driver_sql("BEGIN IMMEDIATE")
    upgrade(engine)
    check_schema(engine)
    holder.close()


def test_revisions_may_be_named(empty_engine: Engine) -> None:
    for revision in ("+1", "intents_0001", "heads", "intents@head"):
        upgrade(empty_engine, revision)
        assert recorded(empty_engine) == ["intents_0001"]
    downgrade(empty_engine, "-1")
    assert snapshot(empty_engine) == {}
    with pytest.raises(ValueError, match="intents_9999"):
        upgrade(empty_engine, "intents_9999")
    assert snapshot(empty_engine) == {}


def test_downgrading_an_empty_database_does_nothing(empty_engine: Engine) -> None:
    downgrade(empty_engine, "base")
    assert snapshot(empty_engine) == {}


def test_a_schema_of_create_all_is_taken_over(engine: Engine, fill: Callable[..., int]) -> None:
    with engine.begin() as connection:
        key = fill(connection)
    before = snapshot(engine)
    upgrade(engine)
    assert recorded(engine) == ["intents_0001"]
    assert snapshot(engine) == before
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT key FROM standing_intents")).all() == [key]


def test_a_damaged_schema_of_create_all_is_not_recorded_as_whole(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE standing_intent_turns DROP COLUMN session_id"))
    with pytest.raises(SchemaMismatch, match=r"session_id.*missing"):
        upgrade(engine)


def test_a_newer_schema_is_left_alone(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    with empty_engine.begin() as connection:
        connection.execute(text("UPDATE intents_alembic_version SET version_num = 'intents_0999'"))
    before = snapshot(empty_engine)
    for call in (upgrade, lambda engine: downgrade(engine, "base"), check_schema):
        with pytest.raises(
            SchemaMismatch, match=r"newer version: intents_0999.*pip install --upgrade standing-intents"
        ):
            call(empty_engine)
    assert snapshot(empty_engine) == before


def test_a_schema_in_the_hosts_history_is_left_to_it(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('intents_0001'), ('a1b2c3')"))
    upgrade(engine)
    with engine.connect() as connection:
        assert not connection.dialect.has_table(connection, "intents_alembic_version")
    check_schema(engine)
    with pytest.raises(SchemaMismatch, match="alembic downgrade"):
        downgrade(engine, "base")


@pytest.mark.parametrize("name", ["1f0c_first.py", "2026_07_27_first.py", "intents_first.py"])
def test_a_revision_of_somebody_elses_in_the_installed_package_is_refused_by_name(
    empty_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stray = installed_with_a_stray_revision(tmp_path, monkeypatch, name)
    calls: list[Callable[[], None]] = [
        lambda: upgrade(empty_engine),
        lambda: upgrade(empty_engine, "intents_0001"),
        lambda: downgrade(empty_engine, "base"),
    ]
    for call in calls:
        with pytest.raises(SchemaMismatch, match=rf"{re.escape(str(stray))}.*--head .*@head --version-path"):
            call()
    assert snapshot(empty_engine) == {}
    stray.unlink()
    upgrade(empty_engine)
    check_schema(empty_engine)


# ---- many at once --------------------------------------------------------------------------------


def _upgrade_in_a_process(url: str, barrier: Any, outcome: Any) -> None:
    engine = create_engine(url, poolclass=NullPool)
    seen = statements_of(engine)
    barrier.wait(60)
    try:
        upgrade(engine)
        check_schema(engine)
        outcome.put(("ok", any("CREATE TABLE standing_intents " in statement for statement in seen)))
    except BaseException as error:
        outcome.put((f"{type(error).__name__}: {error}", False))


@pytest.mark.parametrize("kind", ["sqlite", "sqlite, WAL", "postgresql"])
def test_four_processes_upgrade_an_empty_database_at_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgresql_url") if kind == "postgresql" else f"sqlite:///{tmp_path / 'four.db'}"
    if kind == "sqlite, WAL":
        with sqlite3.connect(tmp_path / "four.db") as raw:
            raw.execute("PRAGMA journal_mode = WAL")
        raw.close()
    spawn = multiprocessing.get_context("spawn")
    barrier, outcome = spawn.Barrier(4), spawn.Queue()
    processes = [spawn.Process(target=_upgrade_in_a_process, args=(url, barrier, outcome)) for _ in range(4)]
    for process in processes:
        process.start()
    outcomes = [outcome.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(30)
    assert [message for message, _ in outcomes] == ["ok"] * 4
    assert sorted(did for _, did in outcomes) == [False, False, False, True]


def test_threads_of_one_process_upgrade_at_once(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'threads.db'}", poolclass=NullPool)
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            barrier.wait()
            upgrade(engine)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    check_schema(engine)


# ---- the host's things stay the host's -----------------------------------------------------------


@pytest.fixture
def logging_state() -> Iterator[Callable[[], dict[str, Any]]]:
    def state() -> dict[str, Any]:
        loggers = [
            logging.getLogger(name) for name in ("", "host", "alembic", "alembic.runtime.migration", "sqlalchemy")
        ]
        return {each.name: (each.level, list(each.handlers), each.disabled, each.propagate) for each in loggers}

    logging.getLogger("host").setLevel(logging.DEBUG)
    yield state
    logging.getLogger("host").setLevel(logging.NOTSET)


def test_loggers_and_levels_stay_as_they_were(
    empty_engine: Engine, logging_state: Callable[[], dict[str, Any]], repository_config: Config
) -> None:
    before = logging_state()
    upgrade(empty_engine)
    check_schema(empty_engine)
    downgrade(empty_engine, "base")
    with empty_engine.connect() as connection:
        repository_config.attributes["connection"] = connection
        command.upgrade(repository_config, "head")
    assert logging_state() == before


@pytest.fixture
def repository_config() -> Config:
    config = Config(str(Path(__file__).resolve().parents[2] / "alembic.ini"))
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def test_alembic_commands_run_in_a_given_connection(empty_engine: Engine, repository_config: Config) -> None:
    with empty_engine.connect() as connection:
        host = connection.begin()
        repository_config.attributes["connection"] = connection
        command.upgrade(repository_config, "head")
        check_schema(connection)
        host.rollback()
    assert snapshot(empty_engine) == {}


def test_no_pragma_is_set(sqlite_empty_engine: Engine) -> None:
    seen = statements_of(sqlite_empty_engine)
    upgrade(sqlite_empty_engine)
    assert [s for s in seen if s.upper().startswith("PRAGMA") and "=" in s] == []


def test_something_else_than_an_engine_is_refused_with_the_remedy() -> None:
    calls: list[Callable[[Any], Any]] = [
        upgrade,
        lambda target: upgrade(target, "intents_0001"),
        lambda target: downgrade(target, "base"),
        check_schema,
        doctor.examine,
        doctor.repair,
    ]
    for call in calls:
        with pytest.raises(TypeError, match="run_sync"):
            call("sqlite://")


def test_create_all_twice_and_upgrade_twice(empty_engine: Engine) -> None:
    metadata.create_all(empty_engine)
    metadata.create_all(empty_engine)
    upgrade(empty_engine)
    upgrade(empty_engine)
    check_schema(empty_engine)
