"""Whether a keyword only names a time ("Friday 9am"): such a reminder belongs to the host's scheduler. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntFlag
from functools import lru_cache
from typing import Final, NamedTuple

import regex

from intents.calendar_words import FILLERS, MEASURES, NAMES
from intents.text import Analyzer, Gap, Kind, fold, tokenise
from intents.text.languages import UNDETERMINED
from intents.text.stemming import forms

#: A longer keyword is no time, and is refused for its length anyway.
_LONGEST: Final = 1000

_TIME: Final = r"[0-9]{1,2}(?:[:h][0-9]{2}){1,2}(?:\s?[ap]\.?m\b\.?)?z?|[0-9]{1,2}\s?[ap]\.?m\b\.?"
_DATE: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:t[0-9:.]+(?:z|[+-][0-9:]{2,5})?)?|[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}){1,2}"
)
#: Clock times and dates in digits, whatever the language; not versions (``2.0.1``), ratios (``1:1``) or ticket numbers.
_IN_DIGITS: Final = regex.compile(rf"(?<![a-z0-9.:/-])(?:{_TIME}|{_DATE})(?![a-z0-9:/-]|[.][0-9])")
_NUMBER: Final = regex.compile(r"([0-9]+(?:[.,][0-9]+)*)(\p{L}*)")
_HAN_NUMERALS: Final = "〇零一二两三四五六七八九十廿半"


class _Role(IntFlag):
    FILLER = 0
    NUMBER = 1
    MEASURE = 2
    TWO_MEASURES = 4
    NAME = 8

    def beside(self, other: _Role) -> _Role:
        """The role of two pieces that stand in one keyword."""
        both = self | other
        return both | _Role.TWO_MEASURES if self & other & _Role.MEASURE else both

    @property
    def is_time(self) -> bool:
        """Whether pieces of this role make a time."""
        if self & (_Role.NAME | _Role.TWO_MEASURES):
            return True
        return bool(self & _Role.MEASURE and self & _Role.NUMBER)


class _Word(NamedTuple):
    text: str
    forms: frozenset[str]


class _Phrase(NamedTuple):
    words: tuple[_Word, ...]
    role: _Role


class _Vocabulary(NamedTuple):
    by_form: dict[str, list[_Phrase]]
    """Phrases by each form of their first word."""
    runs: dict[str, _Role]
    """The same in scripts without spaces, by their characters."""
    longest_run: int


def names_only_a_time(keyword: str, language: str, analyzer: Analyzer) -> bool:
    """Tell whether a keyword holds nothing but clock and calendar words of its language.

    Args:
        keyword: a trigger keyword as given.
        language: the intent's language; with ``und``, every language of the analyzer is asked.
        analyzer: knows the function words that do not count.
    """
    if len(keyword) > _LONGEST:
        return False
    languages = analyzer.languages if language == UNDETERMINED else (language,)
    folded = fold(keyword)
    return any(_is_time(folded, code, analyzer) for code in languages)


def _is_time(folded: str, language: str, analyzer: Analyzer) -> bool:
    rest, in_digits = _IN_DIGITS.subn(" ", folded)
    role = _Role.NAME if in_digits else _Role.FILLER
    vocabulary = _vocabulary(language)
    words: list[_Word] = []
    runs: list[str] = []
    for token in tokenise(rest):
        number = _NUMBER.fullmatch(token.text)
        if number is not None:
            role = role.beside(_Role.NUMBER)
            words += [_word(number[2], language)] if number[2] else []
        elif token.kind is Kind.WORD:
            words.append(_word(token.text, language))
        elif token.kind is Kind.RUN and runs and token.gap is Gap.SPACE:
            runs[-1] += token.text  # spaces in a run are set at the writer's taste
        else:
            runs.append(token.text)
    for run in runs:
        of_run = _role_of_run(run, vocabulary)
        if of_run is None:
            return False
        role = role.beside(of_run)
    at = 0
    while at < len(words):
        phrase = _phrase_at(words, at, vocabulary)
        if phrase is not None:
            role = role.beside(phrase.role)
            at += len(phrase.words)
        elif analyzer.is_stop_word(words[at].text, language):
            at += 1
        else:
            return False
    return role.is_time


def _phrase_at(words: Sequence[_Word], at: int, vocabulary: _Vocabulary) -> _Phrase | None:
    candidates = {id(phrase): phrase for form in words[at].forms for phrase in vocabulary.by_form.get(form, ())}
    for phrase in sorted(candidates.values(), key=lambda phrase: (-len(phrase.words), -phrase.role)):
        following = words[at : at + len(phrase.words)]
        if len(following) == len(phrase.words) and all(map(_same, following, phrase.words)):
            return phrase
    return None


def _same(word: _Word, known: _Word) -> bool:
    # A stem alone is too wide: "marching" has that of March.
    return not word.forms.isdisjoint(known.forms) and abs(len(word.text) - len(known.text)) <= 2


def _role_of_run(run: str, vocabulary: _Vocabulary) -> _Role | None:
    """Cut a run into known pieces; the roles of the cut that says most, None when there is none."""
    best: list[_Role | None] = [_Role.FILLER] + [None] * len(run)
    for end in range(1, len(run) + 1):
        for start in range(max(0, end - vocabulary.longest_run), end):
            before, piece = best[start], vocabulary.runs.get(run[start:end])
            if before is None or piece is None:
                continue
            role = before.beside(piece)
            here = best[end]
            best[end] = role if here is None else max(here, role)
    return best[-1]


@lru_cache(maxsize=4096)
def _word(text: str, language: str) -> _Word:
    return _Word(text, frozenset((*forms(language, text), *forms(UNDETERMINED, text))))


@lru_cache(maxsize=64)
def _vocabulary(language: str) -> _Vocabulary:
    by_form: dict[str, list[_Phrase]] = {}
    runs: dict[str, _Role] = dict.fromkeys(_HAN_NUMERALS, _Role.NUMBER)
    # Names come last: of two roles of one run, the stronger one stays.
    for table, role in ((FILLERS, _Role.FILLER), (MEASURES, _Role.MEASURE), (NAMES, _Role.NAME)):
        for entry in _split(table.get(language, "")):
            tokens = tokenise(entry)
            if any(token.kind is Kind.RUN for token in tokens):
                runs["".join(token.text for token in tokens)] = role
                continue
            phrase = _Phrase(tuple(_word(token.text, language) for token in tokens), role)
            for form in phrase.words[0].forms if phrase.words else ():
                by_form.setdefault(form, []).append(phrase)
    return _Vocabulary(by_form, runs, max(map(len, runs)))


def _split(joined: str) -> Iterable[str]:
    return (fold(entry) for entry in joined.split("|"))
