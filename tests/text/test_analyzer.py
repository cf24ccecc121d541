"""Which languages an analyzer takes, and what it answers for others."""

from __future__ import annotations

from importlib import metadata

import pytest

from intents.errors import InvalidIntent
from intents.text import RULES, Analyzer
from intents.text.languages import STEMMERS, UNSTEMMED


def test_every_known_language_is_taken() -> None:
    codes = tuple(sorted({*STEMMERS, *UNSTEMMED}))
    assert Analyzer(codes).languages == codes


def test_english_is_the_default() -> None:
    assert Analyzer().languages == ("en",)
    assert Analyzer().require(None) == "en"


def test_tags_count_as_their_language_and_each_once() -> None:
    analyzer = Analyzer(("pt-BR", "PT", "zh_Hant", "nb"))
    assert analyzer.languages == ("pt", "zh", "no")
    assert analyzer.require("pt-PT") == "pt"
    assert analyzer.require("nn-NO") == "no"
    assert analyzer.require(None) == "pt"


def test_one_string_is_one_language() -> None:
    assert Analyzer("fr").languages == ("fr",)


@pytest.mark.parametrize("codes", [("xx",), ("en", "klingon"), ("",)])
def test_an_unknown_code_is_refused_with_the_known_ones(codes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidIntent) as refusal:
        Analyzer(codes)
    assert refusal.value.field == "language"
    assert repr(codes[-1]) in refusal.value.reason
    assert all(code in refusal.value.reason for code in ("en", "fr", "und", "zh"))


def test_no_language_at_all_is_refused() -> None:
    with pytest.raises(InvalidIntent):
        Analyzer(())


def test_a_language_that_was_not_given_is_refused_by_name() -> None:
    with pytest.raises(InvalidIntent) as refusal:
        Analyzer(("en", "de")).require("fr")
    assert "'fr'" in refusal.value.reason
    assert "en, de, und" in refusal.value.reason


def test_und_can_always_be_used() -> None:
    assert Analyzer(("de",)).require("und") == "und"


def test_the_version_names_rules_and_snowball_release_but_not_the_patch() -> None:
    major, minor, *_ = metadata.version("snowballstemmer").split(".")
    assert Analyzer().version == f"{RULES}+snowball{major}.{minor}"
    assert Analyzer(("fr", "de")).version == Analyzer().version


def test_repr_names_the_languages() -> None:
    assert repr(Analyzer(("fr", "de"))) == "Analyzer(('fr', 'de'))"
