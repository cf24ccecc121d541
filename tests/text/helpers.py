"""What the tests of this room share."""

from __future__ import annotations

from intents.text import Analyzer
from intents.text.languages import STEMMERS, UNSTEMMED
from intents.triggers import CompiledTrigger, Decision, analyse_turn, compile_trigger, decide

EVERYTHING = Analyzer(tuple(sorted({*STEMMERS, *UNSTEMMED})))
EUROPE = Analyzer(("en", "fr", "de", "tr"))


def trigger(
    *keywords: str, language: str = "en", analyzer: Analyzer = EVERYTHING, **options: object
) -> CompiledTrigger:
    return compile_trigger(keywords, language=language, analyzer=analyzer, **options)  # type: ignore[arg-type]


def decision(keyword: str, text: str, language: str = "en", **options: object) -> Decision:
    analyzer = Analyzer((language,))
    return decide(trigger(keyword, language=language, analyzer=analyzer, **options), analyse_turn(text, analyzer))


def fires(keyword: str, text: str, language: str = "en", **options: object) -> bool:
    return decision(keyword, text, language, **options).fires
