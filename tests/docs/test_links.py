"""Links lead somewhere: files, headings, the docstrings of the reference; and every page is in the navigation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, anchors_of, documented_objects, name_of, prose_of

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def broken_links(page: Path) -> list[str]:
    """Return the targets that are not there."""
    broken = []
    for target in _LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and not _has(file, anchor)):
            broken.append(target)
    return broken


def _has(page: Path, anchor: str) -> bool:
    shown = documented_objects(page)
    return anchor in anchors_of(page) or any(anchor == name or anchor.startswith(f"{name}.") for name in shown)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two words\n[a](#two-words) [b](#three) [c](gone.md) [d](page.md#two-words) [e](https://x.y)\n")
    assert broken_links(page) == ["#three", "gone.md"]


def test_links_of_pages_stay_inside_of_the_site() -> None:
    outside = [
        (name_of(page), target)
        for page in PAGES
        if DOCS in page.parents
        for target in _LINK.findall(prose_of(page))
        if not re.match(r"[a-z]+:|#", target) and DOCS not in (page.parent / target).resolve().parents
    ]
    assert outside == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"([\w/-]+\.md)", navigation))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
