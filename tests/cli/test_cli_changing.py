"""upgrade, cancel, sweep, doctor; and that the command line is an admin."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import sessionmaker

from intents import IntentCreate, IntentService, OwnerPolicy
from intents.cli import database as databases
from tests.cli.conftest import OWNER, Run


def test_there_is_no_create(run: Run) -> None:
    assert run("create", "x").code == 2
    assert "create" not in {line.split()[1] for line in run("--help").out.splitlines() if line.startswith("│ ")}


def test_upgrade_makes_the_file_and_the_tables_and_is_done_when_called_again(run: Run) -> None:
    assert "Made the tables in new.db" in run("upgrade", "-d", "new.db").out
    assert "new.db is up to date" in run("upgrade", "-d", "new.db").out
    with sqlite3.connect("new.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert {"standing_intents", "standing_intents_fts", "intents_alembic_version"} <= tables
    assert run("upgrade", "-d", "new.db", "--json").json == {"database": "new.db", "up_to_date": True}


def test_cancel_is_the_admins_with_a_reason(run: Run, database: str, ids: dict[str, str]) -> None:
    cancelled = run("cancel", ids["armed"], "--reason", "no\nlonger \x1b[31mneeded", "-d", database, "--json").json
    assert (cancelled["id"], cancelled["status"]) == (ids["armed"], "cancelled")
    last = run("history", ids["armed"], "-d", database, "--json").json[-1]
    assert last["event"] == "cancel"
    assert last["actor"] == f"admin:{databases.admin().name}"
    assert last["detail"] == "no longer [31mneeded"


def test_cancelling_twice_is_nothing_to_do(run: Run, database: str, ids: dict[str, str]) -> None:
    first, second = (run("cancel", ids["armed"], "-d", database, "--json").json for _ in range(2))
    assert first == second
    assert len(run("history", ids["armed"], "-d", database, "--json").json) == 3


@pytest.mark.parametrize("name", ["done", "expired"])
def test_a_finished_intent_is_not_cancelled(run: Run, database: str, ids: dict[str, str], name: str) -> None:
    result = run("cancel", ids[name], "-d", database)
    assert result.code == 1
    assert name in result.error


def test_an_intent_of_another_agent_is_not_cancelled(run: Run, database: str, ids: dict[str, str]) -> None:
    assert run("cancel", ids["elsewhere"], "-d", database).code == 1
    assert run("cancel", ids["elsewhere"], "-d", database, "--agent", "other").code == 0


def test_an_admin_without_a_name_is_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(databases.getpass, "getuser", nameless)
    assert databases.admin().name.startswith(("uid ", "unknown"))


def test_sweep_writes_down_what_is_due(run: Run, database: str, ids: dict[str, str]) -> None:
    assert run("sweep", "-d", database, "--json").json == {"expired": 1, "rearmed": 0, "released": 0, "more": False}
    assert run("history", ids["expired"], "-d", database, "--json").json[-1]["event"] == "expire"
    assert run("sweep", "-d", database).out == "0 expired, 0 rearmed, 0 released.\n"


def test_sweep_goes_on_until_nothing_is_due_or_stops_after_one_transaction(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("upgrade", "-d", "due.db")
    engine = create_engine("sqlite:///due.db")
    past = datetime.now(UTC) - timedelta(days=2)
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), clock=lambda: past)
    for number in range(5):
        draft = IntentCreate(
            description=f"x{number}", trigger_keywords=["x"], expires_at=datetime.now(UTC) - timedelta(days=1)
        )
        service.create(draft, by=OWNER)
    engine.dispose()
    assert run("sweep", "-d", "due.db", "--limit", "2", "--once").out == (
        "2 expired, 0 rearmed, 0 released. More is due.\n"
    )
    pauses: list[float] = []
    monkeypatch.setattr(databases.time, "sleep", pauses.append)
    assert run("sweep", "-d", "due.db", "--limit", "2", "--json").json["expired"] == 3
    assert pauses == [0.1], "turns that wait for the lock get it between two batches"


def test_doctor_sends_a_database_without_tables_to_upgrade(run: Run) -> None:
    Path("empty.db").touch()
    ill = run("doctor", "-d", "empty.db")
    assert ill.code == 1
    assert "standing_intents is missing" in ill.out
    assert "`intents upgrade` makes the tables" in ill.out
    assert "doctor --repair" not in ill.out
    refused = run("doctor", "--repair", "-d", "empty.db")
    assert refused.code == 1
    assert "intents upgrade" in refused.error
    assert run("upgrade", "-d", "empty.db").code == 0
    assert run("doctor", "-d", "empty.db").out == "All is well.\n"


def test_doctor_does_repair_where_one_table_is_missing(run: Run, database: str) -> None:
    engine = create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE standing_intent_events"))
    engine.dispose()
    assert "`intents doctor --repair` mends" in run("doctor", "-d", database).out
    assert run("doctor", "--repair", "-d", database).code == 0


def test_doctor_finds_what_is_missing_and_repairs_it(run: Run, database: str) -> None:
    assert run("doctor", "-d", database).out == "All is well.\n"
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TRIGGER standing_intents_index_insert")
    connection.close()
    ill = run("doctor", "-d", database)
    assert ill.code == 1
    assert "standing_intents_index_insert" in ill.out
    assert "--repair" in ill.out
    refused = run("list", "-d", database)
    assert refused.code == 1
    assert "intents doctor --repair" in refused.error
    assert run("doctor", "--repair", "-d", database).code == 0
    assert run("doctor", "-d", database, "--json").json == {"repaired": [], "findings": []}
    assert run("list", "-d", database).code == 0


def test_diagram_prints_mermaid(run: Run) -> None:
    assert run("diagram").out.startswith("---\ntitle: ")
    assert "ARMED --> FIRED: fire [has_budget" in run("diagram", "--format", "mermaid").out


def test_diagram_writes_a_file(run: Run) -> None:
    assert run("diagram", "-o", "l.mmd").out == ""
    assert Path("l.mmd").read_text(encoding="utf-8") == run("diagram").out


def test_diagram_updates_a_document(run: Run) -> None:
    mark = "<!-- generated by `intents diagram --update`: {} -->\n"
    Path("doc.md").write_text(f"# Mine\n{mark.format('begin')}STALE\n{mark.format('end')}rest\n", encoding="utf-8")
    assert run("diagram", "--update", "doc.md").code == 0
    text = Path("doc.md").read_text(encoding="utf-8")
    assert text.startswith("# Mine\n")
    assert text.endswith("rest\n")
    assert "```mermaid" in text
    assert "STALE" not in text
