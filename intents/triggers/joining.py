"""Compounds: which neighbouring words may also be written as one, and which words are no words of their own.

Triggers and messages follow the same rules, so that ``roll-back``, ``rollback`` and ``roll back`` all find each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from intents.text import Analyzer, Gap, Kind, Token
from intents.text.languages import ELISIONS, POSSESSIVE, STEMMERS, SUFFIX_AFTER_APOSTROPHE
from intents.text.stemming import LONGEST

# To look up a member of an enumeration costs more than the rest of a loop over many tokens.
_WORD: Final = Kind.WORD
_SPACE: Final = Gap.SPACE
_APOSTROPHE: Final = Gap.APOSTROPHE

LONGEST_COMPOUND: Final = 8
"""Most parts of a compound that are joined into one word."""


def drop_affixes(tokens: list[Token], language: str) -> list[Token]:
    """Return the tokens without possessive endings and elided words of the language.

    ``candidate's`` is *candidate* in English, ``l'équipe`` is *équipe* in French, ``İstanbul'da`` is *İstanbul* in
    Turkish. The token after a dropped one no longer counts as joined to the one before.

    Args:
        tokens: the tokens of one folded text.
        language: code of the language.
    """
    elided = ELISIONS.get(language, frozenset())
    possessive = language in POSSESSIVE
    suffix = language in SUFFIX_AFTER_APOSTROPHE
    if not (elided or possessive or suffix) or all(token.gap is not _APOSTROPHE for token in tokens):
        return tokens
    kept: list[Token] = []
    dropped = False
    last = len(tokens) - 1
    for index, token in enumerate(tokens):
        if token.kind is Kind.WORD:
            after = token.gap is Gap.APOSTROPHE and tokens[index - 1].kind is Kind.WORD
            if after and ((possessive and token.text == "s") or (suffix and len(tokens[index - 1].text) > 1)):
                dropped = True
                continue
            if (
                token.text in elided
                and not after
                and index < last
                and tokens[index + 1].gap is Gap.APOSTROPHE
                and tokens[index + 1].kind is Kind.WORD
            ):
                dropped = True
                continue
        kept.append(token._replace(gap=Gap.BREAK) if dropped else token)
        dropped = False
    return kept if len(kept) < len(tokens) else tokens


class Joined(NamedTuple):
    """Neighbouring words that may also be written as one.

    Attributes:
        first: index of the first token.
        last: index of the last one.
        left: the words before the last one, joined.
        right: the last word.
        loose: whether only a space is between the two.
    """

    first: int
    last: int
    left: str
    right: str
    loose: bool

    @property
    def word(self) -> str:
        """The words as one."""
        return self.left + self.right


def joined_words(tokens: Sequence[Token]) -> Iterator[Joined]:
    """Yield the compounds that neighbouring words make.

    Two words that a hyphen, an apostrophe or a link joins make one, and so do three, and a whole chain of up to
    `LONGEST_COMPOUND`. Two words with only a space between them make a *loose* one, unless one is a lone letter; see
    `is_compound` for those that a language does not allow.

    Args:
        tokens: tokens of one text, from `drop_affixes`.
    """
    chain = 0  # index at which the chain of tightly joined words that ends here began
    for index, (left, token) in enumerate(pairwise(tokens), start=1):
        gap = token.gap
        if gap < _SPACE or token.kind is not _WORD or left.kind is not _WORD:
            chain = index
            continue
        a, b = left.plain or left.text, token.plain or token.text
        if len(a) + len(b) > LONGEST:
            chain = index
            continue
        numbers = a[-1].isdigit() and b[0].isdigit()
        if gap is _SPACE:
            chain = index
            if not numbers and (len(a) > 1 or a.isdigit()) and (len(b) > 1 or b.isdigit()):
                yield Joined(index - 1, index, a, b, True)
            continue
        # "10-12" may be one number cut up for reading, "10/12" and "10.30" are two.
        if numbers and gap is Gap.LINK:
            chain = index
            continue
        yield Joined(index - 1, index, a, b, False)
        length = index - chain
        if length >= 2:
            before = tokens[index - 2]
            yield Joined(index - 2, index, (before.plain or before.text) + a, b, False)
        if 3 <= length < LONGEST_COMPOUND and _ends_chain(tokens, index):
            yield Joined(chain, index, "".join(part.plain or part.text for part in tokens[chain:index]), b, False)


def _ends_chain(tokens: Sequence[Token], index: int) -> bool:
    return index + 1 == len(tokens) or tokens[index + 1].gap <= Gap.SPACE or tokens[index + 1].kind is not Kind.WORD


def is_compound(joined: Joined, language: str, analyzer: Analyzer) -> bool:
    """Tell whether joined words count as one in a language.

    Args:
        joined: from `joined_words`.
        language: code of the language.
        analyzer: knows its function words.
    """
    return not joined.loose or joins_loosely(joined.left, language, analyzer)


def joins_loosely(left: str, language: str, analyzer: Analyzer) -> bool:
    """Tell whether a word and the one behind it, with only a space between them, count as one in a language.

    They do not if the first is a function word ("a ward" is not *award*), and in a language without a list of function
    words.

    Args:
        left: the first of the two.
        language: code of the language.
        analyzer: knows its function words.
    """
    return language in STEMMERS and not analyzer.is_stop_word(left, language)
