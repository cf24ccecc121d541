"""Forms: two words match when they share one."""

from __future__ import annotations

import importlib
import random
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intents.text import fold, stemming
from intents.text.fold import strip_accents
from intents.text.languages import STEMMERS
from intents.text.stemming import LONGEST, forms
from intents.text.stopwords import stop_words


def match(language: str, one: str, other: str) -> bool:
    return not set(forms(language, fold(one))).isdisjoint(forms(language, fold(other)))


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "checklist", "checklists"),
        ("en", "launch", "launching"),
        ("en", "migrate", "migration"),
        ("en", "PR", "PRs"),
        ("en", "CVE", "CVEs"),
        ("en", "GPU", "GPUs"),
        ("en", "menu", "menus"),
        ("en", "lens", "lenses"),
        ("en", "analysis", "analyses"),
        ("en", "send", "sent"),
        ("en", "break", "broken"),
        ("en", "child", "children"),
        ("en", "salesman", "salesmen"),
        ("en", "10,000", "10000"),
        ("en", "boiler", "boilerrrr"),
        ("en", "free", "freeeee"),
        ("fr", "déployer", "déployé"),
        ("fr", "déployer", "deploye"),
        ("fr", "travail", "travaux"),
        ("fr", "local", "locaux"),
        ("de", "kündigen", "kündigt"),
        ("de", "Verspätung", "Verspaetung"),
        ("de", "Straße", "STRASSE"),
        ("de", "reservieren", "reserviert"),
        ("es", "realizar", "realice"),
        ("es", "juez", "jueces"),
        ("es", "buscar", "busqué"),
        ("pt", "reunião", "reuniões"),
        ("pt", "reunião", "reunioes"),
        ("pt", "jornal", "jornais"),
        ("pt", "papel", "papéis"),
        ("it", "lago", "laghi"),
        ("nl", "betalen", "betaald"),
        ("ru", "прививка", "прививок"),
        ("ru", "рынок", "рынка"),
        ("ru", "ёлка", "елки"),
        ("pl", "zniżka", "zniżek"),
        ("pl", "klient", "klienci"),
        ("sr", "састанак", "sastanka"),
        ("tr", "toplantı", "toplantılar"),
        ("tr", "İstanbul", "ISTANBUL"),
        ("ar", "فاتورة", "الفاتورة"),
        ("el", "ΟΔΟΣ", "οδοί"),
        ("und", "café", "CAFE"),
    ],
)
def test_inflections_match(language: str, one: str, other: str) -> None:
    assert match(language, one, other)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "art", "start"),
        ("en", "hi", "his"),
        ("en", "new", "news"),
        ("en", "thesis", "these"),
        ("en", "leave", "left"),
        ("en", "find", "found"),
        ("de", "Mark", "Markt"),
        ("de", "Punk", "Punkt"),
        ("und", "launch", "launches"),
        ("zh", "launch", "launches"),
    ],
)
def test_other_words_do_not(language: str, one: str, other: str) -> None:
    assert not match(language, one, other)


def words_of(language: str) -> list[str]:
    """Words in the letters of a language: its function words, and made-up ones with their syllables."""
    function_words = sorted(stop_words(language))
    letters = sorted(set("".join(function_words)))
    dice = random.Random(language)
    ends = [word[-3:] for word in function_words]
    made_up = ["".join(dice.choices(letters, k=dice.randint(1, 12))) + dice.choice(ends) for _ in range(300)]
    return function_words + made_up


@pytest.mark.parametrize(("language", "algorithm"), sorted(STEMMERS.items()))
def test_both_stemmers_give_the_same_stems(language: str, algorithm: str) -> None:
    fast: Any = pytest.importorskip("Stemmer").Stemmer(algorithm)
    module = importlib.import_module(f"snowballstemmer.{algorithm}_stemmer")
    pure = getattr(module, f"{algorithm.title()}Stemmer")()
    for word in words_of(language):
        for variant in (word, strip_accents(word)):
            assert pure.stemWord(variant) == fast.stemWord(variant), variant


@pytest.mark.parametrize("language", ["en", "fr", "ru", "hi"])
def test_without_the_fast_stemmer_the_forms_are_the_same(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of(language)[:150]
    expected = [forms(language, word) for word in words]
    monkeypatch.setattr(stemming, "_FAST", None)
    monkeypatch.setattr(stemming, "_local", threading.local())
    stemming._short_forms.cache_clear()
    assert [forms(language, word) for word in words] == expected
    stemming._short_forms.cache_clear()


def test_a_fast_stemmer_of_another_release_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stemming, "SNOWBALL", "0.0")
    assert stemming._fast() is None


def test_threads_do_not_disturb_each_other() -> None:
    words = words_of("en")
    stemming._short_forms.cache_clear()
    expected = [stemming._short_forms.__wrapped__("en", word) for word in words]
    wrong: list[str] = []

    def work() -> None:
        for word, right in zip(words, expected, strict=True):
            if stemming._short_forms.__wrapped__("en", word) != right:
                wrong.append(word)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@given(st.sampled_from([*STEMMERS, "und"]), st.text(min_size=1, max_size=20))
def test_a_word_always_has_forms_and_none_is_empty(language: str, word: str) -> None:
    word = fold(word)
    assert strip_accents(word) in forms(language, word)
    assert all(forms(language, word)) or not strip_accents(word)


def test_a_word_longer_than_any_has_one_short_form() -> None:
    one, other = "é" * LONGEST * 1_000, "e" * LONGEST * 1_000
    (form,) = forms("en", one)
    assert len(form) <= LONGEST
    assert forms("fr", other) == (form,)
    assert forms("en", other + "s") != (form,)


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_stemmed_language_has_function_words(language: str) -> None:
    assert 30 <= len(stop_words(language)) <= 320


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["new", "us", "inc", "back"]), ("es", ["estado"]), ("hu", ["új"]), ("ru", ["человек"]), ("de", ["weg"])],
)
def test_words_with_a_meaning_are_not_function_words(language: str, words: list[str]) -> None:
    assert stop_words(language).isdisjoint(words)
