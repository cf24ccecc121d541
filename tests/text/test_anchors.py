"""Under which terms a trigger is indexed."""

from __future__ import annotations

import pytest

from intents.triggers import analyse_turn, anchor_candidates, choose_anchors
from tests.text.helpers import EVERYTHING, trigger


def anchors(*keywords: str, usage: dict[str, int] | None = None, language: str = "en") -> set[str]:
    return set(choose_anchors(trigger(*keywords, language=language), usage or {}))


def test_each_keyword_has_its_own() -> None:
    assert anchors("alpha", "beta") == {"alpha", "beta"}


def test_the_word_with_the_fewest_rows_is_chosen() -> None:
    assert anchors("zeta alphabet", usage={"alphabet": 3, "zeta": 1}) == {"zeta", "zetaalphabet"}
    assert anchors("zeta alphabet", usage={"zeta": 1}) == {"alphabet", "zetaalphabet"}


def test_among_equals_the_longer_and_then_the_first_in_code_point_order() -> None:
    assert "alphabet" in anchors("zeta alphabet")
    assert "beta" in anchors("zeta beta")


def test_a_function_word_is_never_chosen_when_there_is_another() -> None:
    assert anchors('"of it all x1"', usage={"x1": 10_000}) == {"x1"}
    assert anchors("on-call", usage={"call": 9}) == {"call", "oncall", "oncal"}
    assert anchors("IT sla", usage={"sla": 9}) == {"sla"}


def test_a_function_word_is_chosen_when_there_is_no_other() -> None:
    assert anchors("the") == {"the"}


def test_all_forms_of_the_word_and_its_joined_ones_are_chosen() -> None:
    assert anchors("déployer", language="fr") == {"deploi", "deployer"}
    assert anchors("roll-back") == {"back", "rollback"}
    assert anchors("roll-back", usage={"back": 1}) == {"roll", "rollback"}


def test_a_run_is_indexed_by_its_rarest_pair_and_a_single_character_by_itself() -> None:
    assert anchors("检查清单", usage={"检查": 5, "查清": 2, "清单": 3}, language="zh") == {"查清"}
    assert anchors("税", language="zh") == {"税"}


def test_the_candidates_are_all_terms_that_may_be_chosen() -> None:
    assert anchor_candidates(trigger("roll-back plan", "检查清单")) == {
        "roll", "back", "rollback", "plan", "检查", "查清", "清单",
    }  # fmt: skip


def test_exclusions_have_none() -> None:
    assert choose_anchors(trigger("launch", exclude=["rocket"]), {}) == {"launch"}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("上海", {"上", "海", "上海"}),
        ("上 海", {"上", "海"}),
        ("세금 계산", {"세", "금", "계", "산", "세금", "계산", "금계"}),
        ("ที่นี่", {"ที่", "นี่", "ที่นี่"}),
        ("🚀", {"🚀"}),
        ("", set()),
        ("...", set()),
    ],
)
def test_terms_of_a_message(text: str, terms: set[str]) -> None:
    assert analyse_turn(text, EVERYTHING).terms == terms


def test_a_message_has_the_terms_of_all_languages() -> None:
    assert {"launches", "launch", "déployés", "rollback", "roll"} - analyse_turn(
        "launches déployés roll-back", EVERYTHING
    ).terms == {"déployés"}
