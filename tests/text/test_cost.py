"""The cost of a message is linear in its length, whatever it is made of."""

from __future__ import annotations

import random
import time

import pytest

from intents.text import Analyzer, stemming
from intents.triggers import analyse_turn, decide
from tests.text.helpers import trigger

ANALYZER = Analyzer(("en", "fr"))
DICE = random.Random(7)
SYLLABLES = ["ba", "co", "di", "fu", "ge", "hi", "jo", "ku", "le", "mo"]
MANY_WORDS = ["".join(DICE.choices(SYLLABLES, k=5)) + str(number) for number in range(40_000)]


def words(count: int) -> str:
    return " ".join(MANY_WORDS[:count])


# Each makes a message of about so many characters.
SHAPES = {
    "common words": lambda n: "release candidate " * (n // 18),
    "different words": lambda n: words(n // 14),
    "one word": lambda n: "a" * n,
    "one accented word": lambda n: "é" * n,
    "marks only": lambda n: "\u0301" * n,
    "marks on one letter": lambda n: "e" + "\u0301\u0323" * (n // 2),
    "a hyphenated chain": lambda n: "a-" * (n // 2),
    "a dotted chain": lambda n: ".a" * (n // 2),
    "apostrophes": lambda n: "l'a" * (n // 3),
    "numbers": lambda n: "1.2," * (n // 4),
    "a run": lambda n: "上海东边" * (n // 4),
    "short runs": lambda n: "세금 " * (n // 3),
    "emoji": lambda n: "🚀" * n,
    "flags": lambda n: "\U0001f3f4" + "\U000e0067" * n,
    "symbols": lambda n: "c++" * (n // 3),
    "punctuation": lambda n: ".'\"-" * (n // 4),
    "nothing": lambda n: "\0\ud800" * (n // 2),
    "ligatures": lambda n: "\ufdfa" * (n // 18),
}


def cost(text: str) -> float:
    """Processor time, the lesser of two."""
    found = []
    for _ in range(2):
        started = time.process_time()
        analyse_turn(text, ANALYZER)
        found.append(time.process_time() - started)
    return min(found)


@pytest.mark.parametrize("shape", SHAPES)
def test_eight_times_the_length_costs_far_less_than_sixty_four_times(shape: str) -> None:
    make = SHAPES[shape]
    assert cost(make(80_000)) < 30 * max(cost(make(10_000)), 0.002)


@pytest.mark.parametrize("shape", SHAPES)
def test_terms_are_no_more_than_the_characters(shape: str) -> None:
    text = SHAPES[shape](20_000)
    terms = analyse_turn(text, ANALYZER).terms
    assert len(terms) <= len(text) + 20
    assert max(map(len, terms), default=0) <= 2 * stemming.LONGEST


def test_each_different_word_is_stemmed_once_a_language(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    stem = stemming.stem

    def counting(language: str, word: str) -> str:
        nonlocal calls
        calls += 1
        return stem(language, word)

    monkeypatch.setattr(stemming, "stem", counting)
    stemming._short_forms.cache_clear()
    analyse_turn(words(5_000), ANALYZER)
    once = calls
    calls = 0
    stemming._short_forms.cache_clear()
    analyse_turn(words(5_000) * 4, ANALYZER)
    # Where one copy meets the next, two words stand together that did not before.
    assert 0 < calls <= once + 20
    assert once <= 5_000 * len(ANALYZER.languages) * 4


@pytest.mark.parametrize(
    "filler",
    [
        "x" * 1_000_000,
        words(20_000),
        "a" * 100_000,
        "🚀" * 10_000,
        "e" + "\u0301" * 1_000_000,
        "上海" * 100_000,
        "\ud800\0" * 100_000,
    ],
)
def test_a_trigger_at_the_very_end_still_fires(filler: str) -> None:
    compiled = trigger("release-candidate", "检查清单", analyzer=ANALYZER)
    assert decide(compiled, analyse_turn(f"{filler} release candidate", ANALYZER)).fires
    assert not decide(compiled, analyse_turn(f"{filler} release 检查", ANALYZER)).fires


def test_phrases_in_a_long_message_of_their_own_words_are_decided_at_linear_cost() -> None:
    compiled = trigger('"alpha alpha beta alpha alpha"', "alpha beta gamma", within=2, analyzer=ANALYZER)

    def once(count: int) -> float:
        turn = analyse_turn("alpha alpha beta " * count + "gamma", ANALYZER)
        started = time.process_time()
        decide(compiled, turn)
        return time.process_time() - started

    assert once(16_000) < 30 * max(min(once(2_000) for _ in range(2)), 0.002)


def test_long_words_are_not_kept() -> None:
    stemming._short_forms.cache_clear()
    analyse_turn(" ".join(letter * 10_000 for letter in "abcdefgh"), ANALYZER)
    assert stemming._short_forms.cache_info().currsize <= 8 * len(ANALYZER.languages) + 16
