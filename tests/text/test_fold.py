"""Texts that a reader takes for the same are equal once folded."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intents.text import fold
from intents.text.fold import MAX_MARKS, strip_accents

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=40)


@pytest.mark.parametrize(
    ("typed", "folded"),
    [
        ("RollBack", "rollback"),
        ("ｒｏｌｌｂａｃｋ", "rollback"),
        ("ﾘﾘｰｽ", "リリース"),
        ("cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("ΟΔΟΣ", "οδοσ"),
        ("οδος", "οδοσ"),
        ("roll\u00adback", "rollback"),
        ("ro\u200bll\u200dba\ufeffck", "rollback"),
        ("Kubernetes™ upgrade", "kubernetes  upgrade"),
        ("Acme®Cloud", "acme cloud"),
        ("don’t", "don't"),
        ("don´t", "don't"),
        ("don`t", "don't"),
        ("Hawaiʻi", "hawai'i"),
        ("a\0b", "a b"),
        ("a\ud800b\udfff", "a b "),
        ("👍🏽", "👍"),
        ("❤\ufe0f", "❤"),
        ("٣ ४ ๕", "3 4 5"),
        ("كتـــاب", "كتاب"),
        ("可‍能", "可能"),
    ],
)
def test_spellings_fold_to_one(typed: str, folded: str) -> None:
    assert fold(typed) == folded


def test_the_tags_of_a_regional_flag_stay_and_other_tags_go() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
    assert fold(f"\U0001f3f4{tags}") == f"\U0001f3f4{tags}"
    assert fold(f"hidden{tags}") == "hidden"


def test_a_long_run_of_marks_is_cut() -> None:
    assert len(fold("e" + "\u0323\u0301" * 5_000)) <= MAX_MARKS + 1


def test_folding_every_character_twice_is_folding_it_once() -> None:
    characters = (chr(code) for code in range(sys.maxunicode + 1) if chr(code) != "\n")
    once = fold("\n".join(f"x{character}x" for character in characters))
    twice = fold(once)
    assert [pair for pair in zip(once.split("\n"), twice.split("\n"), strict=True) if pair[0] != pair[1]] == []


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(ANY_TEXT)
def test_unicode_form_makes_no_difference(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == fold(text)


@given(ANY_TEXT)
def test_nothing_unprintable_is_left(text: str) -> None:
    folded = fold(text)
    folded.encode("utf-8")
    assert "\0" not in folded


@pytest.mark.parametrize(
    ("word", "stripped"),
    [
        ("déployé", "deploye"),
        ("łódź", "lodz"),
        ("smørrebrød", "smorrebrod"),
        ("đặng", "dang"),
        ("ılık", "ilik"),
        ("œuvre", "oeuvre"),
        ("συνάντηση", "συναντηση"),
        ("ёлка", "елка"),
    ],
)
def test_accents_of_latin_greek_and_cyrillic_letters_are_stripped(word: str, stripped: str) -> None:
    assert strip_accents(word) == stripped


@pytest.mark.parametrize("word", ["हिन्दी", "ประชุม", "المورّد", "שָׁלוֹם", "ガギグ", "தமிழ்", "မြန်မာ"])
def test_marks_of_other_scripts_are_left_alone(word: str) -> None:
    assert strip_accents(fold(word)) == fold(word)
