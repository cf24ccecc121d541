"""An id may be cut short at the command line, where one intent is left that it can mean."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text

from tests.cli.conftest import Run

COMMANDS = ["show", "history", "cancel"]


@pytest.fixture
def twins(database: str, ids: dict[str, str]) -> list[str]:
    """The ids of two intents that begin alike in their first twelve characters."""
    engine = create_engine(f"sqlite:///{database}")
    copied = [ids["armed"], ids["armed"][:12] + ids["pending"][12:]]
    with engine.begin() as connection:
        columns = [row[1] for row in connection.execute(text("PRAGMA table_info(standing_intents)"))]
        kept = ", ".join(name for name in columns if name not in ("key", "id", "fingerprint"))
        connection.execute(
            text(
                f"INSERT INTO standing_intents (id, fingerprint, {kept})"
                f" SELECT :new, 'another', {kept} FROM standing_intents WHERE id = :old"
            ),
            {"new": copied[1], "old": copied[0]},
        )
    engine.dispose()
    return sorted(copied)


@pytest.mark.parametrize("length", [8, 13, 35, 36])
def test_the_beginning_of_an_id_is_enough(run: Run, database: str, ids: dict[str, str], length: int) -> None:
    wanted, cut = ids["armed"], ids["armed"][:length]
    assert run("show", cut, "-d", database, "--json").json["id"] == wanted
    assert [line["event"] for line in run("history", cut, "-d", database, "--json").json] == ["create", "arm"]
    assert run("cancel", cut, "-d", database, "--json").json["id"] == wanted
    assert run("show", wanted, "-d", database, "--json").json["status"] == "cancelled"


def test_capitals_and_spaces_around_make_no_difference(run: Run, database: str, ids: dict[str, str]) -> None:
    assert run("show", f" {ids['armed'][:10].upper()} ", "-d", database, "--json").json["id"] == ids["armed"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_beginning_that_two_intents_share_is_refused_with_both(
    run: Run, database: str, twins: list[str], command: str
) -> None:
    result = run(command, twins[0][:12], "-d", database)
    assert result.code == 2
    assert result.error.startswith(f"{twins[0][:12]!r} begins several ids: {twins[0]}, {twins[1]}.")
    assert run("show", twins[1], "-d", database, "--json").json["id"] == twins[1]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("length", [1, 7])
def test_a_shorter_beginning_is_refused_even_if_it_is_unique(
    run: Run, database: str, ids: dict[str, str], command: str, length: int
) -> None:
    result = run(command, ids["armed"][:length], "-d", database)
    assert result.code == 2
    assert "8 characters" in result.error


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("unknown", ["00000000", "%%%%%%%%", "________", "00000000-0000-4000-8000-000000000000"])
def test_the_beginning_of_no_id_is_not_found(run: Run, database: str, command: str, unknown: str) -> None:
    result = run(command, unknown, "-d", database)
    assert result.code == 1
    assert f"No intent {unknown!r}" in result.error


def test_other_agents_ids_do_not_count(run: Run, database: str, ids: dict[str, str]) -> None:
    cut = ids["elsewhere"][:10]
    assert run("show", cut, "-d", database).code == 1
    assert run("show", cut, "-d", database, "--agent", "other", "--json").json["id"] == ids["elsewhere"]


def test_explain_takes_the_beginning_too(run: Run, database: str, ids: dict[str, str]) -> None:
    options = ("--provider", "slack", "--sender", "U1", "--conversation", "C1", "-d", database, "--json")
    (explained,) = run("explain", "hello", "--intent", ids["armed"][:8], *options).json
    assert explained["intent"]["id"] == ids["armed"]
