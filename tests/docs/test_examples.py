"""Every example can be run as it is written, page by page, and prints what the page says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contrib import test_docs as adapters
from tests.docs.pages import DOCS, PAGES, blocks_of, name_of
from tests.docs.running import DOCUMENTED_POSTGRESQL, Reader

#: Blocks that a page may leave unrun, over all pages.
EXCERPTS = 6

#: Run by the tests of the adapters, which need what they adapt to.
ADAPTERS = {DOCS / "how-to" / f"{name}.md" for name in adapters.NAMES}
#: The commands of CONTRIBUTING are for the checkout itself.
RUNNABLE = [
    page
    for page in PAGES
    if page not in ADAPTERS
    and page.name != "CONTRIBUTING.md"
    and any(block.language in ("python", "sh") for block in blocks_of(page))
]


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Pages may export variables; afterwards all is as it was."""
    before = dict(os.environ)
    os.environ.pop("INTENTS_DATABASE_URL", None)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_a_page_can_be_followed(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    blocks = blocks_of(page)
    needs_postgresql = any(DOCUMENTED_POSTGRESQL.search(block.code) for block in blocks if block.remark != "excerpt")
    url = request.getfixturevalue("postgresql_url") if needs_postgresql else None
    reader = Reader(tmp_path, url)
    try:
        reader.follow(blocks)
    finally:
        reader.close()


def test_few_blocks_are_left_unrun() -> None:
    excerpts = [block for page in PAGES for block in blocks_of(page) if block.remark == "excerpt"]
    assert all(block.value for block in excerpts), "an excerpt says why it is not run"
    assert len(excerpts) <= EXCERPTS, [block.place for block in excerpts]


def test_no_block_is_of_a_language_that_nobody_checks() -> None:
    known = {"python", "sh", "text", "sql", "ini", "json", "mermaid", "toml"}
    unknown = [block.place for page in PAGES for block in blocks_of(page) if block.language not in known]
    assert unknown == []
