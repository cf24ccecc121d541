"""From keywords to a compiled trigger."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import regex

from intents.errors import InvalidIntent, InvalidTrigger
from intents.text import Analyzer, Kind, fold, tokenise
from intents.text.stopwords import PARTICLES
from intents.triggers.joining import drop_affixes, is_compound, joined_words
from intents.triggers.model import Clause, CompiledTrigger, Entry, Join, Part

_QUOTED: Final = regex.compile('["“”„‟«»〝〞〟「」『』]([^"“”„‟«»〝〞〟「」『』]*)["“”„‟«»〝〞〟「」『』]')
_CAPITALS: Final = regex.compile(r"(?<!\w)\p{Lu}{2,}(?!\w)")
# Written in capitals they are meant as operators or for emphasis, not as abbreviations.
_OPERATORS: Final = frozenset({"and", "or", "not"})
# A long katakana word keeps or loses its final lengthening sign at the writer's taste (サーバー, サーバ).
_LENGTHENED: Final = regex.compile(r"(?<=[\u30a1-\u30fa][\u30a1-\u30faー][\u30a1-\u30faー])ー$")


def compile_trigger(
    keywords: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    language: str,
    within: int | None = None,
    analyzer: Analyzer,
) -> CompiledTrigger:
    """Compile trigger and exclude keywords.

    The words of a keyword may stand anywhere in a message; text in double quotes, and several words without a space
    between them (``INC-4821``), must stand side by side. Function words are left out of a keyword unless it has no
    others, and except in quotes and compounds.

    Args:
        keywords: the trigger keywords; one completed keyword is enough.
        exclude: keywords of the same form; a completed one keeps the intent silent.
        language: code of a language that the analyzer was given, or ``und``.
        within: a keyword's words lie within this many positions of a message; every word counts as one, every character
            of a run as one. None: anywhere. Counts for both kinds of keywords.
        analyzer: must have been given the language.

    Raises:
        InvalidTrigger: a keyword holds nothing that could be compared, or there is none.
        InvalidIntent: the language is not the analyzer's, or `within` is less than one.
    """
    code = analyzer.require(language)
    if within is not None and within < 1:
        raise InvalidIntent("within", f"{within} positions hold no word; give 1 or more, or leave it out.")
    if not keywords:
        raise InvalidTrigger("", "Give at least one trigger keyword.")
    return CompiledTrigger(
        code,
        within,
        _compile_all(keywords, code, analyzer, "trigger_keywords"),
        _compile_all(exclude, code, analyzer, "exclude_keywords"),
    )


def canonical_keywords(keywords: Iterable[str], analyzer: Analyzer) -> list[str]:
    """Return keywords in the one spelling by which two intents are found identical: folded, sorted, each once.

    Args:
        keywords: trigger or exclude keywords.
        analyzer: folds them.
    """
    return sorted({" ".join(_QUOTED.sub(r'"\1"', analyzer.fold(keyword)).split()) for keyword in keywords})


def _compile_all(keywords: Sequence[str], language: str, analyzer: Analyzer, field: str) -> tuple[Entry, ...]:
    entries: dict[tuple[Clause, ...], Entry] = {}
    for keyword in keywords:
        clauses = _EntryCompiler(keyword, language, analyzer).clauses()
        if not clauses:
            reason = f"{keyword!r} has no letters, digits or emoji to look for; use words that a message would contain."
            raise InvalidTrigger(keyword, reason, field=field)
        entries.setdefault(clauses, Entry(keyword, clauses))
    return tuple(entries.values())


class _Chunk(NamedTuple):
    """Tokens that stand together in a keyword: between two spaces, or in quotes."""

    first: int
    last: int
    quoted: bool


class _EntryCompiler:
    """One keyword on its way to clauses."""

    def __init__(self, keyword: str, language: str, analyzer: Analyzer) -> None:
        self._language = language
        self._analyzer = analyzer
        self._folded = fold(keyword)
        self._tokens = drop_affixes(tokenise(self._folded), language)
        self._joins = [joined for joined in joined_words(self._tokens) if is_compound(joined, language, analyzer)]
        self._kept = _abbreviations(keyword) | PARTICLES.get(language, frozenset())

    def clauses(self) -> tuple[Clause, ...]:
        """Return the conditions of the keyword; none if it has no terms."""
        chunks = self._chunks()
        free = {chunk.first for chunk in chunks if self._is_free_word(chunk)}
        meaning: list[Clause] = []
        filler: list[Clause] = []
        for chunk in chunks:
            target = filler if self._is_filler(chunk) else meaning
            if chunk.first in free:
                target.append(self._free_word(chunk.first, free))
                continue
            indexes = range(chunk.first, chunk.last + 1)
            # Without quotes, a chunk of several kinds ("P0故障") is an AND of its parts.
            kinds = groupby(indexes, key=lambda index: None if chunk.quoted else self._tokens[index].kind)
            target += [self._phrase(list(group)) for _, group in kinds]
        return tuple(dict.fromkeys(meaning or filler))

    def _chunks(self) -> list[_Chunk]:
        quotes = [found.span() for found in _QUOTED.finditer(self._folded)]
        chunks: list[_Chunk] = []
        before: int | None = None
        for index, token in enumerate(self._tokens):
            quote = next((at for at, (start, end) in enumerate(quotes) if start < token.start < end), None)
            together = bool(chunks) and quote == before
            if together and quote is None:
                between = self._folded[self._tokens[index - 1].end : token.start]
                together = not any(character.isspace() for character in between)
            first = chunks.pop().first if together else index
            chunks.append(_Chunk(first, index, quote is not None))
            before = quote
        return chunks

    def _is_free_word(self, chunk: _Chunk) -> bool:
        return chunk.first == chunk.last and not chunk.quoted and self._tokens[chunk.first].kind is Kind.WORD

    def _is_filler(self, chunk: _Chunk) -> bool:
        """Tell whether a chunk is a function word, contractions like *don't* included."""
        first, last = self._tokens[chunk.first], self._tokens[chunk.last]
        return (
            not chunk.quoted
            and first.text not in self._kept
            and self._analyzer.is_stop_word(self._folded[first.start : last.end], self._language)
        )

    def _phrase(self, indexes: Sequence[int]) -> Clause:
        first, last = indexes[0], indexes[-1]
        parts = [self._part(index) for index in indexes]
        if not parts[-1].terms:
            parts[-1] = parts[-1]._replace(text=_LENGTHENED.sub("", parts[-1].text))
        return Clause(
            tuple(parts),
            tuple(
                Join(joined.first - first, joined.last - first, self._forms(joined.word))
                for joined in self._joins
                if first <= joined.first and joined.last <= last
            ),
        )

    def _free_word(self, index: int, free: Container[int]) -> Clause:
        """Return the clause of a word that may stand anywhere; it is also there where it is joined to its neighbour."""
        part = self._part(index)
        terms = dict.fromkeys(part.terms)
        for joined in self._joins:
            if index in (joined.first, joined.last) and joined.first in free and joined.last in free:
                terms.update(dict.fromkeys(self._forms(joined.word)))
        return Clause((part._replace(terms=tuple(terms)),))

    def _part(self, index: int) -> Part:
        token = self._tokens[index]
        if token.kind is Kind.RUN:
            return Part(token.text, ())
        return Part(token.text, self._forms(token.text), self._analyzer.is_stop_word(token.text, self._language))

    def _forms(self, word: str) -> tuple[str, ...]:
        return self._analyzer.forms(word, self._language)


def _abbreviations(keyword: str) -> frozenset[str]:
    """Return the words that stand out by their capitals: the *IT* of "IT support" is no pronoun."""
    if not any(character.islower() for character in keyword):
        return frozenset()
    return frozenset(word.lower() for word in _CAPITALS.findall(keyword)) - _OPERATORS
