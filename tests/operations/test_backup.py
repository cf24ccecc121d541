"""Copies of a SQLite database: made while others write, verified, rotated, put back whole."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from intents import IntentService, SchemaMismatch, UnsupportedDialect
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


@pytest.mark.parametrize("engine", ["sqlite-memory", "postgresql"], indirect=True)
def test_what_has_no_file_is_refused_with_the_tool_to_use(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedDialect):
        backup(engine, tmp_path / "copy.db")
