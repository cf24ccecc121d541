"""What fires and what does not, as real people write."""

from __future__ import annotations

import unicodedata

import pytest

from intents.errors import InvalidIntent, InvalidTrigger
from intents.text import Analyzer
from intents.triggers import analyse_turn, compile_trigger, decide
from tests.text.helpers import EVERYTHING, fires, trigger

ODDITIES = [
    "POL-358", "don't", "v2.0.1", 'a"b', "NEAR(", "AND", "OR NOT", "*", "^", "rel:cand", "-x", "", "   ", "\0\0",
    "\ud800", '"', '""', "release", "candidate\0", "'; DROP TABLE x; --",
]  # fmt: skip


@pytest.mark.parametrize("text", ODDITIES)
def test_odd_text_is_no_error_and_hides_nothing(text: str) -> None:
    assert not fires("release candidate", text)
    assert fires("release candidate", f"{text} release candidate")
    assert fires("release candidate", f"release candidate {text}")


@pytest.mark.parametrize(
    ("language", "keyword", "text"),
    [
        # emoji and scripts without spaces
        ("en", "🚀", "🚀 it is"),
        ("en", "👍", "done 👍🏿"),
        ("en", "❤️", "we ❤ it"),
        ("en", "🇫🇷 launch", "launch in 🇩🇪🇫🇷"),
        ("zh", "上海", "我家在上海东边"),
        ("zh", "发布检查清单", "我们来看一下发布检查清单吧"),
        ("zh", "税", "报税的事"),
        ("zh", "P0故障", "判定为P0故障"),
        ("zh", "P0故障", "故障定级：P0"),
        ("zh", "iPhone 充电器", "iPhone充电器"),
        ("zh", "海鲜 不新鲜", "今早的海鲜又不新鲜了"),
        ("ja", "リリース候補", "リリース候補を確認"),
        ("ja", "リリース候補", "ﾘﾘｰｽ候補を確認"),
        ("ja", "佐々木", "佐々木さんです"),
        ("ja", "サーバー", "サーバが落ちた"),
        ("ja", "サーバ", "サーバーが落ちた"),
        ("ja", "ジョンスミス", "ジョン・スミスさん"),
        ("ko", "릴리즈", "오늘 릴리즈를 확인"),
        ("ko", "배포", "배포를 시작"),
        ("ko", "세금계산서", "세금 계산서 발행했어요"),
        ("ko", "학부모 상담", "학부모상담 일정"),
        ("th", "ประชุม", "วันนี้มีประชุมใหญ่ตอนบ่าย"),
        ("lo", "ປະຊຸມ", "ມື້ນີ້ມີປະຊຸມໃຫຍ່"),
        ("km", "ប្រជុំ", "ថ្ងៃនេះមានប្រជុំធំ"),
        ("my", "အစည်းအဝေး", "ဒီနေ့အစည်းအဝေးရှိတယ်"),
        # spelling
        ("en", "rollback", "the ｒｏｌｌｂａｃｋ"),
        ("en", "rollback", "roll\u00adback"),
        ("en", "rollback", "r\u200boll\u2060back"),
        ("en", "café", "the cafe"),
        ("en", "cafe", "the café"),
        ("de", "Straße", "STRASSE"),
        ("tr", "İstanbul", "istanbul'da"),
        ("tr", "istanbul", "İSTANBUL"),
        ("el", "ΟΔΟΣ", "η οδος"),
        ("und", "ΟΔΟΣ", "οδός"),
        ("en", "release candidate", "release, candidate"),
        ("en", "release candidate", "Release-Candidate!"),
        ("en", "release candidate", "the release candidate's owner"),
        ("en", "release candidate", "RELEASE  CANDIDATE"),
        ("en", "Kubernetes™ upgrade", "kubernetes upgrade"),
        ("en", "kubernetes upgrade", "Kubernetes™ upgrade"),
        ("en", "candidate release", "the candidate's release"),
        # names with symbols
        ("en", "RC", "the RC is out"),
        ("en", "C++", "we write C++ here"),
        ("en", "C++", "C++17 or C++20"),
        ("en", "F#", "some F#."),
        ("en", ".NET", "the .NET runtime"),
        ("en", ".NET", "“.NET”"),
        ("en", "net", "wait .net it is"),
        ("en", "alice", "alice++"),
        ("en", "#launch", "launch"),
        ("en", "launch", "#launch @bob $launch"),
        # compounds
        ("en", "roll-back plan", "the rollback plan"),
        ("en", "roll-back plan", "roll back the plan"),
        ("en", "roll-back plan", "plan: roll_back"),
        ("en", "rollback", "roll-back"),
        ("en", "rollback", "roll back"),
        ("en", "rollbacks", "two roll-backs"),
        ("en", "roll back", "the rollback"),
        ("en", '"roll back"', "the rollback"),
        ("en", '"release roll back"', "a release rollback"),
        ("en", '"rollback plan"', "a roll-back plan"),
        ("en", "state-of-the-art", "stateoftheart"),
        ("en", "login", "you must log in"),
        ("en", "check in", "the checkin desk"),
        ("en", "INC-4821", "inc4821 again"),
        ("en", "INC-4821", "INC 4821"),
        ("en", "INC4821", "INC-4821"),
        ("en", "sev2", "a sev 2"),
        ("en", "sev 2", "a sev2"),
        ("en", "Node.js", "nodejs"),
        ("en", "nodejs", "Node.js"),
        ("en", "CI/CD", "our CICD"),
        ("en", "USA", "the U.S.A."),
        ("en", "don't", "dont"),
        ("en", "O'Reilly", "oreilly"),
        ("en", "ops@example.com", "mail ops@example.com."),
        ("en", "#HarborGala", "the Harbor Gala"),
        # word forms
        ("en", "launch checklist", "both launch checklists"),
        ("en", "launch checklist", "launching with a checklist"),
        ("fr", "déployer", "on a déployé hier"),
        ("fr", "déployer", "on a deploye hier"),
        ("fr", "équipe", "l'équipe"),
        ("fr", "l'équipe", "une équipe"),
        ("fr", '"production d’énergie"', "la production énergie"),
        ("it", "allergia", "un'allergia"),
        ("en", "the launch", "a launch"),
        ("en", "the", "the end"),
        ("en", "IT support", "it support"),
        ("en", "back up the database", "I'll back the database up"),
        ("en", "back up the database", "a database backup"),
    ],
)
def test_fires(language: str, keyword: str, text: str) -> None:
    assert fires(keyword, text, language)
    for form in ("NFC", "NFD"):
        assert fires(unicodedata.normalize(form, keyword), text, language)
        assert fires(keyword, unicodedata.normalize(form, text), language)


@pytest.mark.parametrize(
    ("language", "keyword", "text"),
    [
        ("en", "🚀", "hello"),
        ("en", "🇫🇷", "🇩🇪"),
        ("en", "RC", "March research"),
        ("en", "C++", "C and B"),
        ("en", "C", "C++"),
        ("en", ".NET", "our net revenue"),
        ("en", "art", "start the party"),
        ("en", "INC-4821", "INC-4812"),
        ("en", "INC-4821", "4821"),
        ("en", "v2.0", "v2 0"),
        ("en", '"release candidate"', "release the other candidate"),
        ("en", '"release candidate"', "candidate release"),
        ("en", "roll-back", "back on a roll"),
        ("en", "award", "in a ward"),
        ("en", "notable", "not able"),
        ("en", "QA", "a Q&A session"),
        ("en", "1012", "10/12"),
        ("en", "1012", "10 12"),
        ("en", "IT support", "support"),
        ("en", "time off", "what time is it"),
        ("en", "Petersen", "Mr Peterson"),
        ("und", "launch checklist", "launching a checklist"),
        ("und", "login", "log in"),
        ("zh", "上海", "海上"),
        ("zh", "上海", "上 海"),
        ("ko", "회식", "사회 식당"),
        ("ko", "세금계산서", "세금, 계산서"),
        ("th", "ที", "ที่นี่"),
        ("ja", "コピー", "コピペ"),
    ],
)
def test_stays_silent(language: str, keyword: str, text: str) -> None:
    assert not fires(keyword, text, language)


@pytest.mark.parametrize("keyword", ["???", "", "   ", "...", "™", "\u0301", "\0", "\ud800", "🏽", '""', "\u200b"])
def test_a_keyword_without_terms_is_refused_with_a_reason(keyword: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        trigger("launch", keyword)
    assert (refusal.value.keyword, refusal.value.field) == (keyword, "trigger_keywords")
    assert refusal.value.reason
    with pytest.raises(InvalidTrigger) as refusal:
        trigger("launch", exclude=[keyword])
    assert refusal.value.field == "exclude_keywords"


def test_without_keywords_there_is_no_trigger() -> None:
    with pytest.raises(InvalidTrigger):
        compile_trigger([], language="en", analyzer=EVERYTHING)


def test_a_language_that_the_analyzer_lacks_is_refused() -> None:
    with pytest.raises(InvalidIntent, match="'fr'"):
        compile_trigger(["launch"], language="fr", analyzer=Analyzer(("en",)))


def test_one_of_several_keywords_is_enough_and_the_first_is_named() -> None:
    compiled = trigger("alpha beta", "gamma", "Delta")
    turn = analyse_turn("delta and gamma", EVERYTHING)
    assert decide(compiled, turn).entry == "gamma"


def test_all_words_of_a_keyword_are_needed() -> None:
    assert not fires("release candidate", "the release")
    assert fires("release candidate", "a candidate for the next release")


class TestExclusions:
    def test_a_completed_one_keeps_silent(self) -> None:
        compiled = trigger("launch", exclude=["rocket launch", "乾杯"])
        for text, excluded_by in [
            ("the launch", None),
            ("a rocket is launched", "rocket launch"),
            ("launch, 乾杯", "乾杯"),
            ("the rocket", None),
        ]:
            found = decide(compiled, analyse_turn(text, EVERYTHING))
            assert found.excluded_by == excluded_by
            assert found.fires == (text == "the launch")


class TestWithin:
    @pytest.mark.parametrize(
        ("text", "within", "expected"),
        [
            ("alpha beta", 2, True),
            ("beta alpha", 2, True),
            ("alpha x beta", 2, False),
            ("alpha x beta", 3, True),
            ("alpha the beta", 2, False),  # function words count
            ("alpha x x beta x alpha", 3, True),
            ("alpha, x! beta", 3, True),
            ("alphabeta", 1, True),
            ("alpha 上海 beta", 3, False),  # each character of a run counts
            ("alpha 上海 beta", 4, True),
        ],
    )
    def test_the_words_lie_in_so_many_positions(self, text: str, within: int, expected: bool) -> None:
        assert fires("alpha beta", text, within=within) is expected

    def test_runs_and_phrases_count_whole(self) -> None:
        assert fires('上海 "alpha beta"', "上海 alpha beta", within=4)
        assert not fires('上海 "alpha beta"', "上海 alpha beta", within=3)

    def test_three_words_need_one_stretch(self) -> None:
        assert not fires("alpha beta gamma", "alpha beta x x beta gamma", within=3)
        assert fires("alpha beta gamma", "alpha beta x gamma beta alpha", within=3)

    def test_it_counts_for_exclusions_too(self) -> None:
        compiled = trigger("launch", exclude=["launch rocket"], within=2)
        assert decide(compiled, analyse_turn("rocket launch", EVERYTHING)).excluded_by == "launch rocket"
        assert decide(compiled, analyse_turn("the rocket people at our launch", EVERYTHING)).fires

    @pytest.mark.parametrize("within", [0, -1])
    def test_less_than_one_position_is_refused(self, within: int) -> None:
        with pytest.raises(InvalidIntent) as refusal:
            trigger("launch", within=within)
        assert refusal.value.field == "within"


class TestPhrases:
    @pytest.mark.parametrize("quotes", ['""', "“”", "„“", "«»", "「」", "＂＂"])
    def test_any_double_quotes_will_do(self, quotes: str) -> None:
        keyword = f"{quotes[0]}release candidate{quotes[1]} plan"
        assert fires(keyword, "a plan for the release candidate")
        assert not fires(keyword, "plan the release of a candidate")

    def test_a_single_quote_sign_means_nothing(self) -> None:
        assert fires('27" monitor', "monitor of 27 inches")

    def test_function_words_count_in_a_phrase(self) -> None:
        assert fires('"statute of limitations"', "the statute of limitations")
        assert not fires('"statute of limitations"', "statute limitations")

    def test_words_runs_and_emoji_stand_side_by_side(self) -> None:
        assert fires('"P0 故障 🚨"', "判定为P0故障🚨")
        assert not fires('"P0 故障 🚨"', "P0的故障🚨")

    def test_runs_in_a_phrase_do_not_care_about_spaces(self) -> None:
        assert fires('"海鲜 不新鲜"', "海鲜不新鲜", "zh")

    def test_it_may_begin_anywhere(self) -> None:
        assert fires('"a1 b1 c1"', "a1 b1 a1 b1 c1")
        assert fires('"a1 a1 b1"', "a1 a1 a1 b1")


def test_a_language_does_not_borrow_the_forms_of_another() -> None:
    analyzer = Analyzer(("en", "und"))
    turn = analyse_turn("both launches", analyzer)
    assert decide(trigger("launch", language="en", analyzer=analyzer), turn).fires
    assert not decide(trigger("launch", language="und", analyzer=analyzer), turn).fires
