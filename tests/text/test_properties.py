"""What holds for all triggers and messages."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from intents.errors import InvalidTrigger
from intents.text import fold
from intents.text.stemming import LONGEST
from intents.triggers import (
    CompiledTrigger,
    advise,
    analyse_turn,
    anchor_candidates,
    canonical_keywords,
    choose_anchors,
    compile_trigger,
    decide,
    describe,
)
from tests.text.helpers import EUROPE

LANGUAGES = st.sampled_from([*EUROPE.languages, "und"])
WORDS = st.sampled_from(
    [
        *(
            "release",
            "candidate",
            "launches",
            "roll",
            "back",
            "rollback",
            "the",
            "of",
            "in",
            "a",
            "s",
            "don",
            "t",
            "RC",
        ),
        *("C++", "c#", ".NET", "notepad++", "v2.0", "INC", "4821", "10,000", "IT", "don't", "x", "7", "candidate's"),
        *("déployé", "l'équipe", "Straße", "İstanbul'da", "ILIK", "ılık", "οδός", "прививок", "हिन्दी", "कि", "المورّد"),
        *("上海", "海", "リリース候補", "サーバー", "ー", "릴리즈를", "세금", "ประชุม", "ที่", "P0故障", "🚀", "🇫🇷", "❤️"),
    ]
)
PIECES = WORDS | st.text(st.sampled_from("abcé1上ー릴ท.'-#+"), min_size=1, max_size=4)
CHUNKS = st.lists(PIECES, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from(["-", "_", "", ".", "/", "'", ":"]).map(lambda sign: sign.join(parts))
)
PHRASES = st.lists(PIECES, min_size=1, max_size=3).map(lambda parts: f'"{" ".join(parts)}"')
KEYWORDS = st.lists(CHUNKS | PHRASES, min_size=1, max_size=4).map(" ".join)
TEXTS = st.lists(CHUNKS | st.text(max_size=5), max_size=8).map(" ".join)


def compiled(keywords: list[str], language: str, **options: object) -> CompiledTrigger | None:
    try:
        return compile_trigger(keywords, language=language, analyzer=EUROPE, **options)  # type: ignore[arg-type]
    except InvalidTrigger:
        return None


def full_width(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


SPELLINGS = st.sampled_from(
    [
        str,
        str.upper,
        str.lower,
        str.swapcase,
        full_width,
        lambda text: unicodedata.normalize("NFC", text),
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFKD", text),
        "\u200b".join,
        "\u00ad".join,
        lambda text: text.replace("'", "’").replace("-", "\u2011").replace(" ", " \n\t"),
    ]
)


@given(
    KEYWORDS,
    LANGUAGES,
    SPELLINGS,
    st.sampled_from(["", "(", "“", "*", "¿", "- "]),
    st.sampled_from(["", ")", "!", "…", ", ", "?"]),
    TEXTS,
    TEXTS,
)
def test_a_message_that_says_a_keyword_completes_it(keyword, language, spell, opening, closing, before, after) -> None:
    trigger = compiled([keyword], language)
    if trigger is None:
        return
    text = f"{before} {opening}{spell(keyword)}{closing} {after}"
    assert decide(trigger, analyse_turn(text, EUROPE)).entry == keyword


@given(st.lists(KEYWORDS, min_size=1, max_size=3), LANGUAGES, TEXTS, st.booleans(), TEXTS, TEXTS)
def test_more_words_never_take_a_completion_back(keywords, language, text, said, before, after) -> None:
    trigger = compiled(keywords, language)
    text = f"{text} {keywords[-1]}" if said else text
    if trigger is None or not decide(trigger, analyse_turn(text, EUROPE)).fires:
        return
    assert decide(trigger, analyse_turn(f"{before} {text} {after}", EUROPE)).fires


@given(TEXTS)
def test_analysing_the_folded_text_gives_the_same_terms(text: str) -> None:
    assert analyse_turn(fold(text), EUROPE).terms == analyse_turn(text, EUROPE).terms


@given(
    st.text(st.characters(exclude_categories=[]), max_size=60), st.lists(KEYWORDS, min_size=1, max_size=2), LANGUAGES
)
def test_any_text_at_all_is_analysed_and_decided(text, keywords, language) -> None:
    turn = analyse_turn(text, EUROPE)
    assert all(0 < len(term) <= 2 * LONGEST for term in turn.terms)
    trigger = compiled([*keywords, text], language, exclude=["zzz"], within=5)
    if trigger is not None:
        decide(trigger, turn)


@settings(max_examples=200)
@given(st.data(), st.lists(KEYWORDS, min_size=1, max_size=3), LANGUAGES)
def test_every_completing_message_has_an_anchor(data, keywords, language) -> None:
    trigger = compiled(keywords, language, within=data.draw(st.none() | st.integers(1, 9)))
    if trigger is None:
        return
    candidates = anchor_candidates(trigger)
    usage = data.draw(st.dictionaries(st.sampled_from(sorted(candidates)), st.integers(0, 3))) if candidates else {}
    anchors = choose_anchors(trigger, usage)
    assert anchors
    # The usage of a term that was not asked for decides nothing.
    assert choose_anchors(trigger, {**dict.fromkeys(anchors - candidates, 9), **usage}) == anchors
    # Take the keyword apart and put it together again in some other way: most such messages complete it.
    pieces = fold(" ".join(keywords)).replace("-", " ").replace('"', " ").split()
    glue = st.sampled_from([" ", "", "-", " the ", "_", "'", ".", "s "])
    text = "".join(piece + data.draw(glue) for piece in data.draw(st.permutations(pieces) | st.just(pieces)))
    turn = analyse_turn(text, EUROPE)
    if decide(trigger, turn).entry is not None:
        assert not anchors.isdisjoint(turn.terms)


@given(st.lists(KEYWORDS, min_size=1, max_size=3), LANGUAGES, TEXTS)
def test_json_loses_nothing(keywords, language, text) -> None:
    trigger = compiled(keywords, language, exclude=keywords[1:], within=None)
    if trigger is None:
        return
    again = CompiledTrigger.from_json(json.loads(json.dumps(trigger.to_json())))
    assert again == trigger
    assert hash(again) == hash(trigger)
    turn = analyse_turn(text, EUROPE)
    assert decide(again, turn) == decide(trigger, turn)


@given(st.lists(KEYWORDS, min_size=1, max_size=3), LANGUAGES, TEXTS, st.none() | st.integers(1, 5))
def test_the_report_says_what_the_decision_says(keywords, language, text, within) -> None:
    trigger = compiled(keywords, language, exclude=["release"], within=within)
    if trigger is None:
        return
    for said in (text, f"{keywords[0]} {text}"):
        turn = analyse_turn(said, EUROPE)
        found, report = decide(trigger, turn), describe(trigger, turn)
        assert (report.fires, report.keyword, report.excluded_by) == (found.fires, found.entry, found.excluded_by)
        assert report.detail
        assert "\n" not in report.detail
        assert all(isinstance(sentence, str) for sentence in advise(trigger, EUROPE))


@given(st.lists(KEYWORDS, max_size=4), st.randoms())
def test_canonical_keywords_ignore_order_case_and_repetition(keywords, dice) -> None:
    canonical = canonical_keywords([keyword.replace("ı", "x") for keyword in keywords], EUROPE)
    # Dotless i has no capital of its own.
    shuffled = [keyword.replace("ı", "x").swapcase().replace(" ", "  ") for keyword in keywords + keywords[:1]]
    dice.shuffle(shuffled)
    assert canonical_keywords(shuffled, EUROPE) == canonical
    assert canonical_keywords(canonical, EUROPE) == canonical
