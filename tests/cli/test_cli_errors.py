"""Every error is one clear line on stderr with an exit code, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from intents.cli import errors
from tests.cli.conftest import Run

#: What each command needs besides the database.
COMMANDS = {
    "list": [],
    "show": ["x"],
    "history": ["x"],
    "explain": ["x", "--provider", "slack"],
    "stats": [],
    "cancel": ["x"],
    "sweep": [],
    "doctor": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_refused_and_not_made(run: Run, command: str) -> None:
    result = run(command, *COMMANDS[command], "-d", "nowhere.db")
    assert result.code == 1
    assert "intents upgrade --database nowhere.db" in result.error
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("command", [*COMMANDS, "upgrade"])
def test_no_database_is_wrong_usage(run: Run, command: str) -> None:
    result = run(command, *COMMANDS.get(command, []))
    assert result.code == 2
    assert "INTENTS_DATABASE_URL" in result.error


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "doctor"])
def test_missing_tables_are_told_what_makes_them(run: Run, command: str) -> None:
    Path("empty.db").touch()
    result = run(command, *COMMANDS[command], "-d", "empty.db")
    assert result.code == 1
    assert "intents upgrade" in result.error
    assert Path("empty.db").read_bytes() == b""


@pytest.mark.parametrize("command", [*COMMANDS, "upgrade"])
def test_a_file_that_is_no_database(run: Run, command: str) -> None:
    Path("letter.txt").write_text("Dear Sir or Madam,\n" * 100)
    result = run(command, *COMMANDS.get(command, []), "-d", "letter.txt")
    assert result.code == 1
    assert "not a database" in result.error


@pytest.mark.parametrize("command", ["show", "history", "cancel"])
def test_an_unknown_id(run: Run, database: str, command: str) -> None:
    result = run(command, "no-such-id", "-d", database)
    assert result.code == 1
    assert "'no-such-id'" in result.error


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["upgrade", "-d", "no/such/folder/x.db"], 1, "unable to open"),
        (["upgrade", "-d", "."], 1, "unable to open"),
        (["list", "-d", "mysql://host/name"], 2, "SQLite or PostgreSQL"),
        (["list", "-d", "nonsense://x"], 2, "SQLite or PostgreSQL"),
        (["list", "-d", "://"], 2, "neither a file nor a URL"),
        (["list", "-d", "postgresql+nonsense://x/y"], 2, "driver"),
        (["list", "-d", "postgresql+pg8000://x/y"], 1, "pg8000"),
        (["list", "-d", "sqlite://"], 1, "in memory"),
        (["list", "-d", ":memory:"], 1, "in memory"),
        (["list", "-d", "  "], 2, "INTENTS_DATABASE_URL"),
        (["list", "--nonsense"], 2, "--nonsense"),
        (["lits"], 2, "'lits'"),
        (["list", "extra"], 2, "extra"),
        (["show"], 2, "ID"),
        (["list", "-d", "x.db", "--limit", "0"], 2, "--limit"),
        (["list", "-d", "x.db", "--limit", "many"], 2, "--limit"),
        (["list", "-d", "x.db", "--status", "open"], 2, "'armed'"),
        (["explain", "hi", "-d", "x.db"], 2, "--provider"),
        (["explain", "hi", "-d", "x.db", "--provider", " "], 2, "--provider"),
        (["explain", "hi", "-d", "x.db", "--provider", "slack", "--sender", "a\nb"], 2, "--sender-id"),
        (["explain", "hi", "-d", "x.db", "--provider", "slack", "--intent", "a", "--after", "b"], 2, "--after"),
        (["diagram", "-f", "gif"], 2, "gif"),
        (["diagram", "-f", "svg"], 2, "--output"),
        (["diagram", "-o", "no/such/folder/x.mmd"], 1, "no/such/folder"),
        (["diagram", "--update", "nowhere.md"], 1, "nowhere.md"),
        (["sweep", "-d", "x.db", "--limit", "0"], 2, "--limit"),
    ],
)
def test_errors(run: Run, arguments: list[str], code: int, word: str) -> None:
    result = run(*arguments)
    assert result.code == code
    assert word in result.error
    assert not Path("x.db").exists()


def test_a_bad_agent_id(run: Run, database: str) -> None:
    result = run("list", "-d", database, "--agent", "a\nb")
    assert result.code == 2
    assert "--agent" in result.error


def test_a_document_without_a_place_for_the_diagram(run: Run) -> None:
    Path("mine.md").write_text("# Mine\n")
    result = run("diagram", "--update", "mine.md")
    assert result.code == 1
    assert "mine.md" in result.error
    assert Path("mine.md").read_text() == "# Mine\n"


def test_a_database_that_nobody_serves_and_its_password(run: Run) -> None:
    pytest.importorskip("psycopg")
    result = run("list", "-d", "postgresql://somebody:secret@127.0.0.1:1/name")
    assert result.code == 1
    assert "secret" not in result.error


def test_a_file_that_cannot_be_opened(run: Run) -> None:
    Path("folder.db").mkdir()
    assert "unable to open" in run("list", "-d", "folder.db").error


def test_a_defect_is_not_hidden(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from intents.cli import inspecting

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(inspecting.output, "print_json", broken)
    with pytest.raises(ZeroDivisionError):
        run("list", "-d", database, "--json")
    assert errors.describe(ZeroDivisionError()) is None


def test_no_command_shows_the_help(run: Run) -> None:
    bare, asked = run(), run("--help")
    assert bare.code == asked.code == 0
    for command in [*COMMANDS, "demo", "chat", "upgrade", "diagram"]:
        assert f" {command} " in bare.out
        assert run(command, "--help").code == 0


def test_version(run: Run) -> None:
    from intents import __version__

    assert run("--version").out == f"standing-intents {__version__}\n"
