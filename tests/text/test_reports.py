"""What an author is told: why a message fires or not, and what the trigger may not have meant."""

from __future__ import annotations

import pytest

from intents.text import Analyzer
from intents.triggers import TriggerReport, advise, analyse_turn, compile_trigger, describe
from tests.text.helpers import EVERYTHING, trigger


def report(text: str, *keywords: str, **options: object) -> TriggerReport:
    return describe(trigger(*keywords, **options), analyse_turn(text, EVERYTHING))


def test_a_completed_keyword_is_named() -> None:
    found = report("both launch checklists", "rollback", "launch checklist")
    assert (found.fires, found.rule, found.keyword) == (True, None, "launch checklist")
    assert found.detail == "'launch checklist' is complete."
    assert [entry.completed for entry in found.entries] == [False, True]


def test_missing_words_are_named_for_the_nearest_keyword() -> None:
    found = report("the checklist", "rollback plan", "launch checklist", "launch day")
    assert (found.fires, found.rule, found.keyword) == (False, "keywords", None)
    assert found.detail == "Nearest is 'launch checklist': the message has 'checklist' and lacks 'launch'."
    assert [(entry.seen, entry.missing) for entry in found.entries] == [
        ((), ("rollback", "plan")),
        (("checklist",), ("launch",)),
        ((), ("launch", "day")),
    ]


def test_a_message_with_nothing_of_it() -> None:
    assert report("hello", "launch").detail == "The message lacks 'launch'."
    assert report("hello", "release candidate").detail == (
        "Nearest is 'release candidate': the message lacks 'release', 'candidate'."
    )


def test_a_message_with_none_of_several_words() -> None:
    assert report("hello", "launch", "Rollbacks").detail == "The message lacks 'launch' and every other keyword."
    assert (
        report("hello", "release candidate", "launch").detail == "The message lacks 'launch' and every other keyword."
    )
    assert report("a candidate", "launch", "release candidate").detail == (
        "Nearest is 'release candidate': the message has 'candidate' and lacks 'release'."
    )


def test_words_too_far_apart_are_named() -> None:
    found = report("launch x x x checklist", "launch checklist", within=3)
    assert (found.rule, found.keyword) == ("within", None)
    assert found.detail == "'launch checklist' is there, but not within 3 positions."
    assert found.entries[0].too_far
    assert not found.entries[0].completed


def test_the_exclusion_is_named() -> None:
    found = report("rocket launch", "launch", exclude=["moon", "rocket"])
    assert (found.fires, found.rule, found.keyword, found.excluded_by) == (False, "excluded", "launch", "rocket")
    assert found.detail == "'launch' is complete, but so is the exclusion 'rocket'."


def test_a_phrase_is_missing_as_a_whole() -> None:
    assert report("the candidate's release", '"release candidate"').entries[0].missing == ("release candidate",)


def test_a_report_is_one_line_whatever_the_keyword_holds() -> None:
    assert "\n" not in report("x", "launch\nday").detail


@pytest.mark.parametrize(
    ("keywords", "options", "sentence"),
    [
        (["the"], {}, "'the' is made of very common words only; add one that tells its messages from others."),
        (["税"], {"language": "zh"}, "'税' is a single character and is found inside many words; add another."),
        (["on call"], {}, "Of 'on call' only 'call' is looked for; in double quotes all of it would be."),
        (
            ["launch", "launch party"],
            {},
            "'launch party' adds nothing: every message that completes it completes 'launch'.",
        ),
        (["launch", "launches"], {}, "'launches' adds nothing: every message that completes it completes 'launch'."),
        (["上海", "上海浦东"], {}, "'上海浦东' adds nothing: every message that completes it completes '上海'."),
        (
            ["rocket launch"],
            {"exclude": ["launch"]},
            "'rocket launch' stays silent: a message that completes it completes 'launch'.",
        ),
        (["alpha beta gamma"], {"within": 2}, "'alpha beta gamma' takes 3 positions, but within allows 2."),
        (
            ["launch"],
            {"language": "und"},
            "Other forms of 'launch' do not match: in language 'und' words are compared as written.",
        ),
    ],
)
def test_advice(keywords: list[str], options: dict[str, object], sentence: str) -> None:
    assert advise(trigger(*keywords, **options), EVERYTHING) == (sentence,)


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        (["release candidate", "rollback"], {}),
        (['"on call"'], {}),
        (["on-call rotation"], {}),
        (["INC-4821"], {"language": "und"}),
        (["上海"], {"language": "zh"}),
        (["launch"], {"exclude": ["rocket launch"], "within": 3}),
        (['"launch party"', '"party launch"'], {}),
    ],
)
def test_no_advice_where_nothing_is_amiss(keywords: list[str], options: dict[str, object]) -> None:
    assert advise(trigger(*keywords, **options), EVERYTHING) == ()


@pytest.mark.parametrize(
    ("keyword", "language"),
    [
        ("Friday 9am", "en"),
        ("on Monday", "en"),
        ("2026-12-31", "en"),
        ("in 3 days", "en"),
        ("17:30", "und"),
        ("vendredi", "fr"),
    ],
)
def test_a_keyword_that_only_names_a_time_is_pointed_out(keyword: str, language: str) -> None:
    analyzer = Analyzer(("en", "fr"))
    compiled = compile_trigger([keyword, "release candidate"], language=language, analyzer=analyzer)
    assert any(f"{keyword!r} only names a time" in sentence for sentence in advise(compiled, analyzer))


@pytest.mark.parametrize("keyword", ["Friday release", "march route", "v2.0", "9am standup"])
def test_a_keyword_with_a_word_beside_the_time_is_not(keyword: str) -> None:
    assert not any("only names a time" in sentence for sentence in advise(trigger(keyword), EVERYTHING))
