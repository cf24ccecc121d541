"""list, show, history, explain, stats: they show what is there and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

from intents import Analyzer, IntentCreate, IntentService, OwnerPolicy
from intents.cli import database as databases
from intents.text.languages import STEMMERS, UNSTEMMED
from tests.cli.conftest import OWNER, Run


def by_id(result: Any) -> dict[str, Any]:
    return {intent["id"]: intent for intent in result}


def test_list_shows_the_agents_intents_oldest_first(run: Run, database: str, ids: dict[str, str]) -> None:
    listed = run("list", "-d", database, "--json").json
    assert [intent["id"] for intent in listed] == [
        ids[name] for name in ("armed", "fired", "done", "pending", "odd", "expired")
    ]
    statuses = {name: by_id(listed)[ids[name]]["status"] for name in ids if name not in ("elsewhere", "odd")}
    assert statuses == {name: name for name in statuses}


def test_list_of_another_agent(run: Run, database: str, ids: dict[str, str]) -> None:
    assert list(by_id(run("list", "-d", database, "--agent", "other", "--json").json)) == [ids["elsewhere"]]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--status", "done"], ["done"]),
        (["--status", "expired"], ["expired"]),
        (["--live"], ["armed", "fired", "pending", "odd"]),
        (["--limit", "2"], ["armed", "fired"]),
    ],
)
def test_list_filters(run: Run, database: str, ids: dict[str, str], options: list[str], names: list[str]) -> None:
    listed = run("list", "-d", database, "--json", *options).json
    assert [intent["id"] for intent in listed] == [ids[name] for name in names]


def test_list_goes_on_where_a_page_ended(run: Run, database: str, ids: dict[str, str]) -> None:
    page = run("list", "-d", database, "--limit", "2")
    assert f"--after {ids['fired']}" in page.out
    rest = run("list", "-d", database, "--after", ids["fired"], "--json").json
    assert rest[0]["id"] == ids["done"]
    assert "--after" not in run("list", "-d", database).out


def test_list_for_people_shows_id_status_fires_reminder_and_keywords(
    run: Run, database: str, ids: dict[str, str]
) -> None:
    (line,) = [line for line in run("list", "-d", database).out.splitlines() if ids["fired"] in line]
    for word in ("fired", "1/3", "Ask for the press kit", "launch"):
        assert word in line


@pytest.mark.parametrize("width", ["20", "40", "80", "120", "300"])
def test_list_and_show_keep_ids_whole_at_any_width(run: Run, database: str, ids: dict[str, str], width: str) -> None:
    for command in (["list"], ["show", ids["armed"]], ["history", ids["armed"]]):
        result = run(*command, "-d", database, COLUMNS=width)
        assert result.code == 0
        assert max(map(len, result.out.splitlines())) <= max(int(width), 38)
    unwrapped = run("list", "-d", database, COLUMNS=width).out.replace("\n", "")
    assert ids["armed"] in unwrapped


def test_an_empty_database_has_no_intents(run: Run) -> None:
    run("upgrade", "-d", "new.db")
    assert run("list", "-d", "new.db").out == "No intents.\n"
    assert run("list", "-d", "new.db", "--json").json == []


def test_show(run: Run, database: str, ids: dict[str, str]) -> None:
    shown = run("show", ids["fired"], "-d", database, "--json").json
    assert (shown["id"], shown["status"], shown["fire_count"]) == (ids["fired"], "fired", 1)
    text = run("show", ids["fired"], "-d", database).out
    for word in (ids["fired"], "fired", "1/3", "Ask for the press kit", "launch", "slack/default", "anyone", "1d"):
        assert word in text


def test_text_of_other_people_reaches_the_terminal_as_plain_text(run: Run, database: str, ids: dict[str, str]) -> None:
    for command in (["list"], ["show", ids["odd"]]):
        for environment in ({}, {"FORCE_COLOR": "1"}):
            text = run(*command, "-d", database, **environment).out
            assert "[bold]odd[/bold]" in text
            assert "\x1b[31md" not in text


def test_history(run: Run, database: str, ids: dict[str, str]) -> None:
    events = run("history", ids["done"], "-d", database, "--json").json
    assert [event["event"] for event in events] == ["create", "arm", "fire", "complete"]
    assert (events[0]["from_status"], events[0]["actor"], events[0]["turn_id"]) == (None, "slack/default:U1", "m-1")
    assert (events[2]["actor"], events[2]["turn_id"], events[2]["detail"]) == ("turn", "m-2", "hello there")
    text = run("history", ids["done"], "-d", database).out
    assert text.index("create") < text.index("complete")
    assert "slack/default:U1" in text


def explain(run: Run, database: str, text: str, *options: str) -> dict[str, Any]:
    result = run("explain", text, "-d", database, "--provider", "slack", "--sender", "U7", "--json", *options).json
    return {explanation["intent"]["id"]: explanation for explanation in result}


def test_explain_tells_what_would_fire_and_why_the_rest_would_not(run: Run, database: str, ids: dict[str, str]) -> None:
    explained = explain(run, database, "the release candidate at the launch")
    assert explained[ids["armed"]]["fires"] is True
    assert explained[ids["armed"]]["keyword"] == "release candidate"
    assert explained[ids["fired"]]["rule"] == "cooldown"
    assert explained[ids["pending"]]["rule"] == "pending"
    assert explained[ids["odd"]]["rule"] == "keywords"
    assert ids["elsewhere"] not in explained


def test_explain_for_people(run: Run, database: str, ids: dict[str, str]) -> None:
    text = run("explain", "the release candidate", "-d", database, "--provider", "slack").out
    assert f"fires  Confirm the rollback owner  {ids['armed']}" in text
    assert "silent: keywords" in text


def test_explain_one_intent_of_any_status(run: Run, database: str, ids: dict[str, str]) -> None:
    (one,) = explain(run, database, "hello there", "--intent", ids["done"]).values()
    assert (one["fires"], one["rule"]) == (False, "budget")


def test_explain_reads_the_message_from_standard_input(run: Run, database: str, ids: dict[str, str]) -> None:
    result = run("explain", "-", "-d", database, "--provider", "slack", "--json", text="a release candidate\n").json
    assert {each["intent"]["id"]: each["fires"] for each in result}[ids["armed"]] is True


def test_explain_knows_the_other_place(run: Run, database: str, ids: dict[str, str]) -> None:
    (one,) = explain(run, database, "release candidate", "--intent", ids["armed"], "--account", "elsewhere").values()
    assert one["rule"] == "scope"


def test_explain_reads_every_language(run: Run) -> None:
    run("upgrade", "-d", "fr.db")
    engine = create_engine("sqlite:///fr.db")
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), analyzer=Analyzer(("fr", "zh")))
    for number in range(4):
        service.create(IntentCreate(description=f"x{number}", trigger_keywords=["travailler"]), by=OWNER)
    engine.dispose()
    result = run(
        "explain", "il travaillait hier", "-d", "fr.db", "--provider", "slack", "--sender", "U1", "--json"
    ).json
    assert [each["rule"] for each in result] == [None, None, None, "per_turn_limit"]
    with databases.service_for("fr.db", "main", every_language=True) as polyglot:
        assert polyglot.settings.analyzer.languages[0] == "en"
        assert set(polyglot.settings.analyzer.languages) == {*STEMMERS, *UNSTEMMED} - {"und"}


def test_stats(run: Run, database: str) -> None:
    counted = run("stats", "-d", database, "--json").json
    assert counted["by_status"] == {
        "pending": 1,
        "armed": 2,
        "fired": 1,
        "done": 1,
        "cancelled": 0,
        "expired": 1,
    }
    assert (counted["firings"], counted["turns"], counted["released"]) == (2, 1, 0)
    assert counted["last_fired_at"] is not None
    text = run("stats", "-d", database).out
    assert "total" in text
    assert "6" in text


def test_stats_of_nothing(run: Run, database: str) -> None:
    counted = run("stats", "-d", database, "--agent", "nobody", "--json").json
    assert set(counted["by_status"].values()) == {0}
    assert counted["last_fired_at"] is None


def test_looking_writes_nothing(run: Run, database: str, ids: dict[str, str]) -> None:
    before = Path(database).read_bytes()
    for command in (["list"], ["show", ids["armed"]], ["history", ids["armed"]], ["stats"]):
        assert run(*command, "-d", database).code == 0
    explain(run, database, "the release candidate at the launch", "--turn-id", "m-9")
    assert Path(database).read_bytes() == before


def test_the_database_may_come_from_the_environment(run: Run, database: str) -> None:
    for value in (database, f"sqlite:///{database}", f"sqlite+aiosqlite:///{database}"):
        assert len(run("list", "--json", INTENTS_DATABASE_URL=value).json) == 6


def test_the_option_wins_over_the_environment(run: Run, database: str) -> None:
    assert run("list", "-d", database, "--json", INTENTS_DATABASE_URL="sqlite:///nowhere.db").code == 0


@pytest.mark.parametrize("name", ["with space.db", "100%.db", "a?b.db", "ünïcode.db"])
def test_a_plain_path_is_a_file_whatever_its_characters(run: Run, name: str) -> None:
    assert run("upgrade", "-d", name).code == 0
    assert Path(name).exists()
    assert run("list", "-d", name, "--json").json == []


def test_no_color(run: Run, database: str) -> None:
    assert "\x1b" not in run("list", "-d", database).out
    assert "\x1b[" in run("list", "-d", database, FORCE_COLOR="1").out
    plain = run("list", "-d", database, FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b[3" not in plain
