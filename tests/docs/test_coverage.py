"""Whatever the library offers is documented, or this fails."""

from __future__ import annotations

import inspect
import re
import tomllib

import pytest

import intents
import intents.contrib
from intents import doctor, errors, testing
from tests.docs.pages import DOCS, ROOT, documented_objects, prose_of
from tools.reference.schema import MEANINGS, ordered_tables

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
SHOWN = set().union(*(documented_objects(page) for page in REFERENCE))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md")))
#: Names without a docstring of their own; the reference tells about them in words.
IN_WORDS = {"__version__", "metadata"}
ERRORS = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.IntentsError)]


@pytest.mark.parametrize("name", intents.__all__)
def test_a_public_name_is_in_the_reference(name: str) -> None:
    if name in IN_WORDS:
        assert any(f"`intents.{name}`" in prose_of(page) for page in REFERENCE)
    else:
        assert f"intents.{name}" in SHOWN
        assert inspect.getdoc(getattr(intents, name))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_is_shown_and_says_what_to_do(error: type[Exception]) -> None:
    page = DOCS / "reference" / "errors.md"
    assert documented_objects(page) & {f"intents.{error.__name__}", f"intents.errors.{error.__name__}"}
    remedies = prose_of(page).partition("## What to do")[2].partition("\n## ")[0]
    assert error is errors.IntentsError or f"`{error.__name__}`" in remedies


@pytest.mark.parametrize(
    "name",
    [*(f"doctor.{name}" for name in doctor.__all__), *(f"testing.{name}" for name in testing.__all__)],
)
def test_a_helper_of_a_public_module_is_mentioned(name: str) -> None:
    assert re.search(rf"\b{name.partition('.')[2]}\b", TEXT)


def test_every_adapter_has_its_page() -> None:
    modules = {path.stem for path in (ROOT / "intents" / "contrib").glob("[a-z]*.py")}
    assert {module for module in modules if f"intents.contrib.{module}" not in TEXT} == set()


def test_every_extra_is_mentioned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"dev", "docs", "test"}
    pages = " ".join(f"{TEXT} {(ROOT / 'README.md').read_text(encoding='utf-8')}".split())
    assert {extra for extra in extras if f"[{extra}]" not in pages and f"extra `{extra}`" not in pages} == set()


def test_every_column_is_explained() -> None:
    for table in ordered_tables():
        assert set(MEANINGS[table.name]) == set(table.columns.keys())
