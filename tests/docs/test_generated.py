"""What the pages show of the program is what the program is."""

from __future__ import annotations

import pytest

from intents import diagram
from tests.docs.pages import DOCS, ROOT
from tools import reference


def test_no_generated_page_or_picture_is_stale() -> None:
    stale = [path.relative_to(ROOT).as_posix() for path in reference.stale()]
    assert stale == [], "run `python -m tools.reference`"


def test_the_diagram_of_the_lifecycle_is_current() -> None:
    page = (DOCS / "lifecycle.md").read_text(encoding="utf-8")
    assert diagram.updated(page) == page, "run `intents diagram --update docs/lifecycle.md`"


def test_every_part_is_on_a_page() -> None:
    used = {name for page in DOCS.rglob("*.md") for name in reference.parts_in(page.read_text(encoding="utf-8"))}
    assert used == set(reference.PARTS)


def test_a_stale_part_is_seen() -> None:
    page = "before\n<!-- generated: limits -->\n\nyesterday's weather\n\n<!-- /generated -->\nafter\n"
    renewed = reference.renewed(page)
    assert renewed != page
    assert "weather" not in renewed
    assert renewed.startswith("before\n")
    assert renewed.endswith("after\n")
    assert reference.renewed(renewed) == renewed


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(KeyError):
        reference.renewed("<!-- generated: weather -->\n<!-- /generated -->")
