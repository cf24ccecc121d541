"""Copies of a SQLite database: made while others write, verified, rotated, put back whole."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from intents import ConcurrentUpdate, IntentService, SchemaMismatch, UnsupportedDialect
from intents.backup import backup, restore, snapshot, verify
from tests.operations.conftest import remind, say

ON_FILES = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
ON_A_FILE = pytest.mark.parametrize("engine", ["sqlite-file"], indirect=True)


@ON_FILES
def test_an_intent_armed_before_the_backup_is_armed_after_the_restore(
    engine: Engine, service: IntentService, tmp_path: Path
) -> None:
    intent = remind(service, max_fires=1)
    copy = backup(engine, tmp_path / "copy.db")
    assert service.match(say("the release candidate", "m1"))
    assert service.get(intent.id).status == "done"

    kept = restore(engine, copy)

    assert service.get(intent.id).status == "armed"
    assert [match.intent.id for match in service.match(say("the release candidate", "m2"))] == [intent.id]
    assert kept is not None
    old = create_engine(f"sqlite:///{kept}")
    with old.connect() as connection:
        assert connection.exec_driver_sql("SELECT status FROM standing_intents").scalar_one() == "done"
    old.dispose()


@ON_A_FILE
def test_a_backup_is_whole_while_others_write(
    engine: Engine, service: IntentService, service_on: Callable[..., IntentService], tmp_path: Path
) -> None:
    for number in range(150):
        remind(service, f"topic{number}zz")
    stop = threading.Event()
    made: list[str] = []

    def keep_writing() -> None:
        while not stop.is_set():
            made.append(remind(service, f"later{len(made)}zz").id)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    told: list[tuple[int, int]] = []
    try:
        copies = [backup(engine, tmp_path / f"{n}.db", progress=lambda *done: told.append(done)) for n in range(3)]
    finally:
        stop.set()
        writer.join()
    assert told[-1][0] == 0, "the last word is that no page is left"
    assert made, "the writer was not kept out"
    for path in copies:
        verify(path)
        copied = create_engine(f"sqlite:///{path}")
        assert len(service_on(copied).list(limit=1000)) >= 150
        copied.dispose()


@ON_A_FILE
def test_snapshots_are_dated_and_only_the_newest_are_kept(
    engine: Engine, service: IntentService, tmp_path: Path
) -> None:
    remind(service)
    folder = tmp_path / "snapshots"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(10):
        snapshot(engine, folder, keep=7, now=start + timedelta(days=day))
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"intents-202601{day:02}T000000Z.db" for day in range(4, 11)] + ["notes.txt"]
    with pytest.raises(ValueError, match="at least 1"):
        snapshot(engine, folder, keep=0)


@ON_A_FILE
def test_a_damaged_copy_is_refused_and_the_database_stays(
    engine: Engine, service: IntentService, tmp_path: Path
) -> None:
    intent = remind(service)
    copy = backup(engine, tmp_path / "copy.db")
    damaged = bytearray(copy.read_bytes())
    damaged[4096 * 3 : 4096 * 6] = b"\xa5" * (4096 * 3)
    copy.write_bytes(damaged)
    (tmp_path / "text.db").write_text("no database at all, only a text that somebody renamed")
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    for bad in (copy, tmp_path / "text.db", empty):
        with pytest.raises(SchemaMismatch):
            restore(engine, bad)
    with pytest.raises(FileNotFoundError):
        restore(engine, tmp_path / "absent.db")
    assert service.get(intent.id).status == "armed"


@ON_A_FILE
def test_a_copy_with_a_corrupt_full_text_index_is_refused(
    engine: Engine, service: IntentService, tmp_path: Path
) -> None:
    remind(service)
    copy = backup(engine, tmp_path / "copy.db")
    connection = sqlite3.connect(copy)
    connection.execute("DELETE FROM standing_intents_fts_data WHERE id > 10")
    connection.commit()
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), "SQLite alone does not see it"
    connection.close()
    with pytest.raises(SchemaMismatch):
        verify(copy)


@ON_A_FILE
def test_a_copy_of_a_newer_schema_is_refused(engine: Engine, service: IntentService, tmp_path: Path) -> None:
    remind(service)
    copy = backup(engine, tmp_path / "copy.db")
    connection = sqlite3.connect(copy)
    connection.execute("CREATE TABLE intents_alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.execute("INSERT INTO intents_alembic_version VALUES ('intents_9999')")
    connection.commit()
    connection.close()
    with pytest.raises(SchemaMismatch, match="newer"):
        restore(engine, copy)


@ON_A_FILE
def test_a_failed_backup_leaves_the_older_file(engine: Engine, service: IntentService, tmp_path: Path) -> None:
    remind(service)
    target = backup(engine, tmp_path / "copy.db")
    before = target.read_bytes()
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER standing_intents_index_insert")
    with pytest.raises(SchemaMismatch):
        backup(engine, target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.glob(".copy.db*")] == []


@ON_A_FILE
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_restore_into_a_database_that_stays_locked_gives_up(
    engine: Engine, service: IntentService, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intents.backup._PATIENCE", 0.3)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA journal_mode = {mode}")
    intent = remind(service)
    copy = backup(engine, tmp_path / "copy.db")
    engine.dispose()
    rival = sqlite3.connect(str(engine.url.database), isolation_level=None)
    rival.execute("BEGIN IMMEDIATE")
    with pytest.raises(ConcurrentUpdate):
        restore(engine, copy)
    rival.close()
    assert service.get(intent.id).status == "armed"


@ON_A_FILE
def test_every_old_database_is_kept(engine: Engine, service: IntentService, tmp_path: Path) -> None:
    copy = backup(engine, tmp_path / "empty.db")
    intent = remind(service)
    first = restore(engine, copy)
    second = restore(engine, copy)
    assert first != second
    kept = sqlite3.connect(str(first))
    assert kept.execute("SELECT id FROM standing_intents").fetchall() == [(intent.id,)]
    kept.close()


@ON_A_FILE
def test_a_database_given_by_a_uri_is_kept_too(
    engine: Engine, service_on: Callable[..., IntentService], tmp_path: Path
) -> None:
    by_uri = create_engine(f"sqlite:///file:{engine.url.database}?uri=true")
    copy = backup(by_uri, tmp_path / "odd?name%20.db")
    remind(service_on(by_uri))
    kept = restore(by_uri, copy)
    by_uri.dispose()
    assert kept is not None
    assert kept.exists()


@ON_A_FILE
def test_a_read_only_copy_is_sound(engine: Engine, service: IntentService, tmp_path: Path) -> None:
    remind(service)
    copy = backup(engine, tmp_path / "copy.db")
    copy.chmod(0o444)
    verify(copy)


@ON_A_FILE
def test_a_database_is_not_its_own_backup(engine: Engine, service: IntentService) -> None:
    remind(service)
    for call in (backup, restore):
        with pytest.raises(ValueError, match="itself"):
            call(engine, str(engine.url.database))


@pytest.mark.parametrize("engine", ["sqlite-memory", "postgresql"], indirect=True)
def test_what_has_no_file_is_refused_with_the_tool_to_use(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedDialect):
        backup(engine, tmp_path / "copy.db")
