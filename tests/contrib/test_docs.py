"""The how-to pages on frameworks run as they stand, and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks_of
from tests.docs.running import Reader

NAMES = ["openai-agents", "pydantic-ai", "langchain", "mcp", "telemetry"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_can_be_followed(name: str, tmp_path: Path) -> None:
    blocks = blocks_of(DOCS / "how-to" / f"{name}.md")
    assert [block.remark for block in blocks if block.language != "sh"][:2] == ["", "output"]
    reader = Reader(tmp_path)
    try:
        reader.follow(blocks)
    finally:
        reader.close()


@pytest.mark.parametrize("name", NAMES)
def test_about_five_lines_embed_it(name: str) -> None:
    """So many lines of an agent that exists already know of standing intents, imports aside."""
    code = [line for block in blocks_of(DOCS / "how-to" / f"{name}.md")[:2] for line in block.code.splitlines()]
    ours = re.compile(
        r"IntentService\(|StandingIntents\(|\bintents\.\w+[(,]|\bTurn\(|create_server\(|instrument\($|middleware="
    )
    assert 1 <= len([line for line in code if ours.search(line)]) <= 6
