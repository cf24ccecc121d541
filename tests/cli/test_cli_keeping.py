"""backup, restore, reindex, prune."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def statuses(run: Run, database: str) -> dict[str, str]:
    return {intent["id"]: intent["status"] for intent in run("list", "-d", database, "--json").json}


def test_a_restored_backup_is_the_database_as_it_was_and_the_old_one_is_kept(
    run: Run, database: str, ids: dict[str, str]
) -> None:
    before = statuses(run, database)
    assert "copy.db" in run("backup", "copy.db", "-d", database).out
    run("cancel", ids["armed"], "-d", database)
    assert statuses(run, database)[ids["armed"]] == "cancelled"
    kept = run("restore", "copy.db", "--yes", "-d", database, "--json").json["kept"]
    assert statuses(run, database) == before
    assert statuses(run, kept)[ids["armed"]] == "cancelled"


def test_restore_asks_first(run: Run, database: str, ids: dict[str, str]) -> None:
    run("backup", "copy.db", "-d", database)
    run("cancel", ids["armed"], "-d", database)
    for answer in ("n\n", ""):
        refused = run("restore", "copy.db", "-d", database, text=answer)
        assert refused.code == 1
        assert database in refused.out, "the question names what would be replaced"
        assert "--yes" in refused.err
    assert statuses(run, database)[ids["armed"]] == "cancelled"
    assert run("restore", "copy.db", "-d", database, text="y\n").code == 0
    assert statuses(run, database)[ids["armed"]] == "armed"


def test_a_backup_replaces_a_file_only_when_told_to(run: Run, database: str) -> None:
    Path("notes.txt").write_text("mine")
    assert "--force" in run("backup", "notes.txt", "-d", database).error
    assert Path("notes.txt").read_text() == "mine"
    assert run("backup", "notes.txt", "--force", "-d", database).code == 0
    assert run("restore", "notes.txt", "--yes", "-d", database).code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["backup", "{database}"], "is the database itself"),
        (["restore", "{database}", "--yes"], "is the database itself"),
        (["restore", ".", "--yes"], "is a directory"),
        (["backup", "no/such/place.db"], "no/such is no directory"),
    ],
)
def test_what_cannot_be_copied_is_refused_in_one_line(run: Run, database: str, arguments: list[str], told: str) -> None:
    result = run(*(each.format(database=database) for each in arguments), "-d", database)
    assert result.code == 2
    assert told in result.error


def test_snapshots_rotate(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("daily").mkdir()
    for day in range(1, 5):
        Path(f"daily/intents-2026010{day}T000000Z.db").touch()
    path = run("backup", "daily", "--keep", "2", "-d", database, "--json").json["backup"]
    assert sorted(Path("daily").iterdir()) == [Path("daily/intents-20260104T000000Z.db"), Path(path)]
    assert "--keep" in run("backup", "daily", "-d", database).error


def test_what_is_no_backup_is_refused_in_one_line(run: Run, database: str) -> None:
    Path("text.db").write_text("no database at all")
    assert run("restore", "text.db", "--yes", "-d", database).code == 1
    assert "absent.db" in run("restore", "absent.db", "--yes", "-d", database).error
    assert statuses(run, database)


def test_reindex_renews_rows_of_another_version_in_any_language(run: Run, database: str) -> None:
    connection = sqlite3.connect(database)
    connection.execute("UPDATE standing_intents SET analyzer_version = '0/en' WHERE status = 'armed'")
    connection.commit()
    connection.close()
    renewed = run("reindex", "-d", database, "--json").json
    assert renewed["renewed"] >= 1
    assert renewed["kept"] == 0
    assert run("reindex", "-d", database).out == "0 renewed.\n"


def test_prune_removes_what_ended_before(run: Run, database: str, ids: dict[str, str]) -> None:
    assert run("prune", "--before", "1d", "-d", database).out == "0 removed.\n"
    removed = run("prune", "--before", "2999-01-01", "-d", database, "--json").json
    assert removed["removed"] == 1
    assert ids["done"] not in statuses(run, database)
    for wrong in ("yesterday", "", "12"):
        result = run("prune", "--before", wrong, "-d", database)
        assert (result.code, "--before" in result.error) == (2, True)
