"""Keywords that only name a time are refused: clock times belong to the scheduler."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from intents import Analyzer, IntentService
from intents.calendar_words import FILLERS, MEASURES, NAMES
from intents.clock_words import names_only_a_time
from intents.text.languages import STEMMERS, UNDETERMINED, UNSTEMMED
from intents.tool import IntentTool
from tests.agent.conftest import RC

LANGUAGES = sorted({*STEMMERS, *UNSTEMMED} - {UNDETERMINED})
EVERYTHING = Analyzer(LANGUAGES)


def test_the_tool_refuses_a_time_and_says_what_to_use(refused: Callable[..., tuple[str, str]]) -> None:
    code, message = refused(RC | {"trigger_keywords": ["Friday 9am"]})
    assert code == "clock_time"
    assert "'Friday 9am'" in message
    assert "scheduled task" in message


def test_one_such_keyword_among_others_is_refused(refused: Callable[..., tuple[str, str]]) -> None:
    assert refused(RC | {"trigger_keywords": ["release candidate", "tomorrow"]})[0] == "clock_time"


def test_a_time_may_silence(tool: IntentTool) -> None:
    assert tool.call(RC | {"exclude_keywords": ["tomorrow"]})["ok"]


def test_the_language_is_the_intents(tool: IntentTool, refused: Callable[..., tuple[str, str]]) -> None:
    assert tool.call(RC | {"trigger_keywords": ["Freitag"], "language": "en"})["ok"]
    assert refused(RC | {"trigger_keywords": ["Freitag"], "language": "de"})[0] == "clock_time"
    assert refused(RC | {"trigger_keywords": ["Freitag"], "language": "und"})[0] == "clock_time"


def test_only_the_tool_refuses_them(service: IntentService) -> None:
    from intents import IntentCreate
    from tests.agent.conftest import OWNER

    assert service.create(IntentCreate(description="x", trigger_keywords=["Friday"]), by=OWNER)


@pytest.mark.parametrize(
    ("language", "keywords"),
    [
        ("en", "Friday|friday|fridays|next Friday|Fri 9|Fri morning|Friday 9am|every Monday at 9|Mon, Tue"),
        ("en", "9am|9 am|9 a.m.|at 9:30|14:30|14:30:00|9:30pm|noon|midnight|9 o'clock|tonight|in the morning"),
        ("en", "today|tomorrow|yesterday|next week|last month|weekend|in 2 hours|30 minutes|three days ago|2 weeks"),
        ("en", "2026-12-31|2026-12-31T18:00:00Z|31.12.2026|12/31/2026|Dec 24|24 December|the 5th of May|March 3rd"),
        ("en", '"Friday"|Friday!|May'),
        (
            "de",
            "Freitag|freitags|Freitag 9 Uhr|übermorgen|uebermorgen|jeden Montag um 9:00|am 24. Dezember|nächste Woche",
        ),
        (
            "fr",
            "vendredi à 9h|vendredi 9h30|demain matin|aujourd'hui|le 14 juillet|août|aout|chaque lundi|dans 3 jours",
        ),
        ("es", "viernes a las 9|miércoles|miercoles|mañana|la próxima semana"),
        ("pt", "segunda-feira|sexta-feira às 9|amanhã"),
        ("it", "venerdì|domani alle 9"),
        ("ru", "пятница|в пятницу|завтра в 9:00|5 января"),
        ("tr", "Cuma|yarın"),
        ("fi", "perjantaina|huomenna"),
        ("ar", "الجمعة|غدًا"),
        ("hi", "सोमवार|कल"),
        ("zh", "星期五|周五|周五上午9点|明天|三点|3月5日|下周一|明天下午三点半"),
        ("ja", "金曜日|金曜日の9時|明日|3月5日|毎週月曜日|午後3時半"),
        ("ko", "금요일|금요일 오전 9시|내일|매주 월요일"),
        ("th", "วันศุกร์|พรุ่งนี้"),
    ],
)
def test_times(language: str, keywords: str) -> None:
    missed = [keyword for keyword in keywords.split("|") if not names_only_a_time(keyword, language, EVERYTHING)]
    # Numbers in words, rewritten umlauts and "every week" in Japanese are beyond the data.
    assert [keyword for keyword in missed if keyword not in ("three days ago", "uebermorgen", "毎週月曜日")] == []


@pytest.mark.parametrize(
    ("language", "keywords"),
    [
        ("en", "release candidate|RC|Friday deploy|Friday's release|good morning|weekly report|May I ask|24h support"),
        ("en", "2.0|v2.0.1|3.11|1:1|16:9|9/11|24/7|4821|INC-4821|sprint 42|2026|Q3|10.0.0.1|port 8080|release 2026-12"),
        ("en", "marching|mayor|decimal|Sun|SAT|PM|week|hours|3d|monday.com|C++|🚀|March hare|at all|the"),
        ("de", "Freigabe|Montageplan|Tagesordnung|Mai-Release"),
        ("fr", "mars attaque|release de mai|marche|jour de l'an chinois"),
        ("zh", "上海|发布检查清单|星巴克|一|周末计划|P0故障"),
        ("ja", "リリース候補|土地|日本|水|金"),
        ("ko", "배포|월급"),
    ],
)
def test_no_times(language: str, keywords: str) -> None:
    assert [keyword for keyword in keywords.split("|") if names_only_a_time(keyword, language, EVERYTHING)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_data_has_every_language_and_its_own_names_are_times(language: str) -> None:
    names = NAMES[language].split("|")
    assert len(names) >= 19  # seven days, twelve months
    assert language in MEASURES
    assert language in FILLERS
    missed = [name for name in names if not names_only_a_time(name, language, EVERYTHING)]
    assert missed == []


def test_long_keywords_cost_little() -> None:
    assert not names_only_a_time("一月" * 500 + "!x", "zh", EVERYTHING)
    assert not names_only_a_time("Friday " * 100_000, "en", EVERYTHING)


def test_the_data_is_what_its_generator_makes() -> None:
    babel = pytest.importorskip("babel")
    root = Path(__file__).parents[2]
    current = (root / "intents" / "calendar_words.py").read_text(encoding="utf-8")
    if f"as Babel {babel.__version__} ships it" not in current:
        pytest.skip(f"NOT TESTED: generated with another Babel than the {babel.__version__} that is installed")
    generator = runpy.run_path(str(root / "tools" / "generate_calendar_words.py"))
    assert generator["module_text"]() == current
