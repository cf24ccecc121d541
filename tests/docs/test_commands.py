"""Every command that a page or a message of the library names exists, with its options; and all are documented."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks_of, name_of, prose_of, shell_lines
from tools.reference.commands import Command, all_commands

COMMANDS = {command.name: command for command in all_commands()}
SOURCES = sorted((ROOT / "intents").rglob("*.py"))
_INLINE = re.compile(r"`(intents [a-z-][^`]*)`")


def complaints(words: list[str]) -> Iterator[str]:
    """Say what is wrong with one call of the program."""
    if words[1].startswith("-"):
        yield from (f"there is no {word}" for word in words[1:] if word not in ("--help", "-h", "--version"))
        return
    command = COMMANDS.get(words[1])
    if command is None:
        yield f"there is no command {words[1]}"
        return
    options = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
    yield from (f"{command.name} has no {option}" for option in sorted(options - command.options))


def test_a_complaint_is_made_of_what_is_not_there() -> None:
    assert list(complaints(["intents", "list", "--live", "-d", "x.db"])) == []
    assert list(complaints(["intents", "lists"])) == ["there is no command lists"]
    assert list(complaints(["intents", "list", "--alive"])) == ["list has no --alive"]
    assert list(complaints(["intents", "--verbose"])) == ["there is no --verbose"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    calls = [words for block in blocks_of(page) if block.language == "sh" for words in shell_lines(block.code)]
    calls += [inline.split() for inline in _INLINE.findall(prose_of(page))]
    wrong = [(words, list(complaints(words))) for words in calls if words[0] == "intents"]
    assert [each for each in wrong if each[1]] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_programs_that_a_page_runs_exist(page: Path) -> None:
    for block in blocks_of(page):
        for words in shell_lines(block.code) if block.language == "sh" else ():
            if words[:2] == ["python", "-m"]:
                assert importlib.util.find_spec(words[2]) is not None, f"{block.place}: {' '.join(words)}"
            elif words[0] == "python" and words[1].startswith("tools/"):
                assert (ROOT / words[1]).exists(), f"{block.place}: {' '.join(words)}"


def test_the_commands_that_messages_and_docstrings_name_exist() -> None:
    wrong = []
    for source in SOURCES:
        for inline in _INLINE.findall(source.read_text(encoding="utf-8")):
            wrong += [f"{name_of(source)}: `{inline}`: {each}" for each in complaints(inline.split())]
    assert wrong == []


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_a_command_is_documented_with_all_its_options(command: Command) -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    _, heading, rest = page.partition(f"\n## intents {command.name}\n")
    section = rest.partition("\n## ")[0]
    assert heading
    assert command.help, "a command says what it does"
    for parameter in command.parameters:
        assert parameter.help, f"{parameter.names[0]} says what it is for"
        for name in parameter.names:
            assert f"`{name}`" in section or f"<code>{name.replace('|', '&#124;')}</code>" in section
