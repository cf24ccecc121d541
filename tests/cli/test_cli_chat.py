"""The chat: type as the owner or as somebody else, and watch."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

CREATE = "/create Confirm the rollback owner = release candidate | RC"

Talk = Callable[..., list[str]]


@pytest.fixture
def talk(run: Run) -> Talk:
    """Type lines and return what the chat answered to each of them."""

    def call(*lines: str, options: tuple[str, ...] = ()) -> list[str]:
        result = run("chat", *options, text="".join(f"{line}\n" for line in lines), COLUMNS="200")
        assert (result.code, result.err) == (0, "")
        _, *answers = re.split(r"^\w+> .*\n", result.out, flags=re.MULTILINE)
        assert len(answers) == len(lines)
        return ["\n".join(" ".join(line.split()) for line in answer.splitlines()) for answer in answers]

    return call


def test_a_reminder_fires_for_whoever_says_it(talk: Talk) -> None:
    created, hit, again, _, cooling = talk(CREATE, "the release candidate is up", "/again", "/as ben", "RC!")
    assert "#1 is armed" in created
    assert "#1 fires 1/3" in hit
    assert "Standing intent" in hit
    assert "nothing is spent" in again
    assert "silent" in cooling
    assert "#1 cooldown" in cooling


def test_time_moves_on(talk: Talk) -> None:
    *_, fired = talk(CREATE, "the RC", "/time +24h", "the RC again")
    assert "#1 fires 2/3" in fired


def test_only_the_owner_creates_and_cancels(talk: Talk) -> None:
    _, _, created, cancelled, _, really = talk(
        CREATE, "/as ben", "/create x = y", "/cancel #1", "/as owner", "/cancel #1"
    )
    assert "refused" in created
    assert "refused" in cancelled
    assert "#1 cancelled" in really


def test_why_writes_nothing(talk: Talk) -> None:
    _, why, listed = talk(CREATE, "/why the release candidate", "/list")
    assert "fires" in why
    assert "armed 0/3" in listed


def test_list_and_history(talk: Talk) -> None:
    _, _, listed, history = talk(CREATE, "RC", "/list", "/history #1")
    assert "#1 fired 1/3 Confirm the rollback owner" in listed
    assert "create" in history
    assert "fire" in history


@pytest.mark.parametrize(
    "line", ["/nonsense", "/create x", "/cancel #9", "/history 9", "/time soon", "/as", "/as a\x01b", "/again"]
)
def test_a_mistake_is_one_line_and_the_chat_goes_on(talk: Talk, line: str) -> None:
    wrong, help_text = talk(line, "/help")
    assert wrong.startswith("system refused: ")
    assert "\n" not in wrong
    assert "/create WHAT" in help_text


def test_a_clock_time_is_refused(talk: Talk) -> None:
    (refused,) = talk("/create Call Ben = Friday 9am")
    assert "clock_time" in refused


def test_it_ends_with_quit_and_with_the_input(run: Run) -> None:
    assert "never" not in run("chat", text="/quit\nnever\n").out
    assert run("chat", text="").code == 0


def test_a_database_keeps_the_chats_own_intents(talk: Talk, run: Run) -> None:
    talk(CREATE, options=("-d", "chat.db"))
    (listed,) = run("list", "-d", "chat.db", "--agent", "chat", "--json").json
    assert listed["description"] == "Confirm the rollback owner"
    (hit,) = talk("the RC", options=("-d", "chat.db"))
    assert "fires 1/3" in hit


def test_a_new_file_is_said_to_be_new(run: Run) -> None:
    assert "Made chat.db" in run("chat", "-d", "chat.db", text="/quit\n").out
    assert Path("chat.db").exists()
    assert "Made" not in run("chat", "-d", "chat.db", text="/quit\n").out
    assert "Made" not in run("chat", text="/quit\n").out


def test_other_agents_are_only_watched(talk: Talk, database: str, ids: dict[str, str], run: Run) -> None:
    before = Path(database).read_bytes()
    _, hit, miss, created, _ = talk(
        "/as slack:U7",
        "the release candidate",
        "hello",
        "/create x = y",
        "/time +1 day",
        options=("-d", database, "-a", "main"),
    )
    assert "#1 would fire" in hit
    assert "silent" in miss
    assert "never creates" in created
    assert Path(database).read_bytes() == before
    assert run("show", ids["armed"], "-d", database, "--json").json["fire_count"] == 0


def test_watching_needs_a_database_that_is_there(run: Run) -> None:
    result = run("chat", "-d", "nowhere.db", "-a", "main", text="hello\n")
    assert result.code == 1
    assert "intents upgrade" in result.error
    assert not Path("nowhere.db").exists()


def test_the_first_message_tells_how_to_store_something(run: Run) -> None:
    typed = "When someone mentions the launch, ask for the press kit.\nAnd now?\n/create Ask = launch\nThe launch!\n"
    told = run("chat", text=typed).out
    assert told.count("Nothing is stored yet") == 1
    assert told.index("Nothing is stored yet") < told.index("And now?")
