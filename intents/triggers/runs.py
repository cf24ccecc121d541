"""Runs of a script without spaces: where one occurs in a message, and under which terms it is found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Final

import regex

from intents.text import Gap, Kind, Token
from intents.text.tokens import clusters

_HARD: Final = "\0"  # between two runs that have nothing to do with each other
_SOFT: Final = "\n"  # between two that the writer may have set apart at will
_HANGUL: Final = regex.compile(r"\p{Hangul}")
_MARK: Final = regex.compile(r"\p{M}")


def run_terms(run: str) -> list[str]:
    """Return the index terms by which a run of a trigger can be found: its pairs of characters, or its only one."""
    characters = clusters(run)
    if len(characters) == 1:
        return characters
    return list(dict.fromkeys(a + b for a, b in pairwise(characters)))


class Runs:
    """The runs of a message, one behind the other in one string.

    Attributes:
        terms: their characters and pairs of neighbouring characters.
    """

    def __init__(self, tokens: Iterable[Token]) -> None:
        self.terms: set[str] = set()
        self._starts: list[int] = []  # where each run begins in the string
        self._tokens: list[int] = []  # where its token begins in the folded text
        pieces: list[str] = []
        length = 0
        before: Token | None = None
        last = ""
        for token in tokens:
            if token.kind is not Kind.RUN:
                before = None
                continue
            characters = clusters(token.text)
            self.terms.update(characters)
            self.terms.update(a + b for a, b in pairwise(characters))
            if before is not None and _may_be_set_apart(before, token):
                pieces.append(_SOFT)
                self.terms.add(last + characters[0])
            else:
                pieces.append(_HARD)
            pieces.append(token.text)
            self._starts.append(length + 1)
            self._tokens.append(token.start)
            length += 1 + len(token.text)
            last = characters[-1]
            before = token
        self._text = "".join(pieces) + _HARD

    def find(self, run: str) -> Iterator[tuple[int, int]]:
        """Yield where a run occurs, as (index of its first code point, index after its last) in the string of runs.

        It must begin and end with whole characters, marks included. Where the writer may set parts of it apart, it may
        go on over the gap, if it begins at the beginning of a word: 세금계산서 is in 세금 계산서, but 회식 is not in
        사회 식당.

        Args:
            run: the run of a trigger.
        """
        if not self.terms.issuperset(run_terms(run)):
            return
        text, at = self._text, -1
        while (at := text.find(run, at + 1)) >= 0:
            end = at + len(run)
            if not _MARK.match(text, end):
                yield at, end
        if _SOFT in text:
            pattern = f"(?<=[{_HARD}{_SOFT}])" + f"{_SOFT}?".join(map(regex.escape, clusters(run)))
            for found in regex.finditer(pattern, text):
                if _SOFT in found[0] and not _MARK.match(text, found.end()):
                    yield found.span()

    def locate(self, index: int) -> tuple[int, int]:
        """Return the run to which an index of the string belongs, and how many characters of it come before.

        Args:
            index: index of a code point, from `find`.

        Returns:
            Where the run's token begins in the folded text, and the number of characters before the one at the index.
        """
        at = bisect_right(self._starts, index) - 1
        return self._tokens[at], self._ordinals[index]

    @cached_property
    def _ordinals(self) -> list[int]:
        """The number of each code point's character within its run; counted once, however often it is asked for."""
        ordinals = [0] * len(self._text)
        for start, following in zip(self._starts, [*self._starts[1:], len(self._text)], strict=True):
            at = start
            for number, character in enumerate(clusters(self._text[start : following - 1])):
                ordinals[at : at + len(character)] = [number] * len(character)
                at += len(character)
        return ordinals


def _may_be_set_apart(before: Token, token: Token) -> bool:
    """Tell whether two runs may be parts of one: Korean spaces are free, and links join the parts of a foreign name."""
    if token.gap is Gap.SPACE:
        return bool(_HANGUL.match(token.text)) and bool(_HANGUL.search(before.text, len(before.text) - 1))
    return token.gap > Gap.SPACE
