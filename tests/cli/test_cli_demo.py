"""The demo shows the whole idea, the same each time; the README shows it as it is."""

from __future__ import annotations

import re
import runpy
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from intents.cli.app import app
from tests.cli.conftest import Run

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def shown() -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def scene(text: str, title: str) -> str:
    """One scene of the demo, from its title to the next one, its lines joined."""
    following = text[text.index(title) :]
    return " ".join(re.split(r"\n\n.*UTC ─", following, maxsplit=1)[0].split())


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("The owner asks", ["calls intent", "#1 is armed", "creating_turn"]),
        ("A clock time", ["refused (clock_time)", "scheduled task"]),
        ("Who is no owner", ["without the tool"]),
        ("A near miss", ["silent", "keywords", "lacks 'release'"]),
        (
            "A hit",
            ["#1 fires 1/2", "<standing_intents>", "Standing intent (created 2026-07-27): Confirm the rollback owner."],
        ),
        ("The channel delivers the same message again", ["#1 fires again, nothing is spent", "<standing_intents>"]),
        ("It cools down", ["silent", "cooldown", "until 2026-07-28 09:30:00Z"]),
        ("A day after the fire", ["#1 fires 2/2", "now done", "rearm fired armed", "complete fired done"]),
        ("Cancelled", ["#2 is cancelled", "silent", "cancelled"]),
        ("15 days later", ["silent", "expired", "1 expired"]),
        ("Where they all stand", ["#1 done 2/2", "#2 cancelled 0/3", "#3 expired 0/3"]),
    ],
)
def test_every_scene(shown: str, title: str, words: list[str]) -> None:
    for word in words:
        assert word in scene(shown, title)


def test_it_is_the_same_each_time_and_plain_in_a_pipe(shown: str, run: Run) -> None:
    assert run("demo", COLUMNS="40").out == shown
    assert "\x1b" not in shown


def test_it_leaves_nothing_behind(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run("demo").code == 0
    assert list(tmp_path.iterdir()) == []


def test_it_is_coloured_in_a_terminal(run: Run) -> None:
    assert "\x1b[1;32m#1 fires" in run("demo", FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="100").out


def test_it_makes_a_picture(run: Run, shown: str) -> None:
    assert run("demo", "--svg", "demo.svg").code == 0
    picture = Path("demo.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "standing_intents" in picture


def test_a_picture_that_cannot_be_written_is_one_line(run: Run) -> None:
    result = run("demo", "--svg", "no/such/folder/demo.svg")
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "no/such/folder" in result.err


def test_the_readme_shows_it_as_it_is(shown: str) -> None:
    transcript = "".join(f"{line.rstrip()}\n" for line in shown.splitlines())
    assert f"```text\n{transcript}```" in README.read_text(encoding="utf-8"), "renew it: python tools/update_docs.py"


def words_of(picture: str) -> list[str]:
    """What a picture shows, however this release of Rich draws it."""
    return [element.text or "" for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_of_the_readme_is_current_and_loads_nothing() -> None:
    tool = runpy.run_path(str(README.parent / "tools" / "update_docs.py"))
    kept = tool["PICTURE"].read_text(encoding="utf-8")
    assert words_of(kept) == words_of(tool["picture"]()), "renew it: python tools/update_docs.py"
    assert "url(" not in kept.replace("url(#", "")
    assert "@import" not in kept
