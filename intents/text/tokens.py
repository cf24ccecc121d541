"""Tokens: words, runs of the scripts that are written without spaces, emoji; and what stands between them."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple

import regex


class Kind(IntEnum):
    """What a token is."""

    WORD = 1
    """Letters, digits and marks of a script that is written with spaces."""
    RUN = 2
    """Unbroken text of a script that is written without spaces (or, like Korean, with free ones)."""
    EMOJI = 3
    """One pictograph or flag."""


class Gap(IntEnum):
    """What stands between a token and the one before it."""

    BREAK = 0
    """Anything else: punctuation, brackets, the start of the text."""
    NONE = 1
    """Nothing at all, as in ``P0故障``."""
    SPACE = 2
    """White space only."""
    HYPHEN = 3
    """One hyphen, dash or underscore."""
    APOSTROPHE = 4
    """One apostrophe."""
    LINK = 5
    """One dot, slash or middle dot: ``node.js``, ``CI/CD``, ``ジョン・スミス``."""


class Token(NamedTuple):
    """One token of a folded text.

    Attributes:
        text: the token, folded.
        kind: word, run or emoji.
        start: index of its first character in the folded text.
        end: index after its last character.
        gap: what stands between it and the token before.
        plain: for a word with a symbol of its own (``.net``, ``notepad++``) the word without it, else empty.
    """

    text: str
    kind: Kind
    start: int
    end: int
    gap: Gap
    plain: str = ""


_UNSPACED: Final = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Yi}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Javanese}\p{Balinese}ー〆]"
)
_RUN: Final = rf"(?:[{_UNSPACED}&&[\p{{L}}\p{{N}}]]\p{{M}}*)+"
_EMOJI: Final = (
    r"\p{Regional_Indicator}{2}|\U0001f3f4[\U000e0030-\U000e007f]+|[\#*]\u20e3"
    r"|[[\p{Extended_Pictographic}\p{Regional_Indicator}\u2600-\u27bf\u2b00-\u2bff]--[\p{L}\p{N}\p{P}]]\p{M}*"
)
_NOTHING: Final = "(?!)"


def _pattern(letter: str, in_word: str, run: str, emoji: str) -> str:
    """Return the pattern of one token.

    Groups: 1 the name of one letter with its symbol (c++, c#), 2 a name that begins with a dot (.net), 3 a word and
    4 the symbol after it (notepad++), 5 a run, 6 an emoji.
    """
    return rf"""
        ((?<!{in_word})[a-z](?:\+\+|\#)(?!{letter}(?<![0-9])|[+\#]))
        | ((?<![\w.)\]}}>])\.(?=(?![0-9]){letter}){in_word}+)
        | ({letter}(?:{in_word}|(?<=[0-9])[.,](?=[0-9]))*)(\+\+(?!{letter}|\+))?
        | ({run})
        | ({emoji})
        """


# The same pattern three times: set arithmetic on scripts is slow, and most messages need none of it.
_ANY_UNSPACED: Final = regex.compile(rf"{_UNSPACED}", regex.V1)
_ASCII: Final = re.compile(_pattern("[a-z0-9]", "[a-z0-9]", _NOTHING, _NOTHING), re.X)
_SPACED: Final = regex.compile(_pattern(r"[\p{L}\p{N}]", r"[\p{L}\p{N}\p{M}]", _NOTHING, _EMOJI), regex.V1 | regex.X)
_MIXED: Final = regex.compile(
    _pattern(rf"[[\p{{L}}\p{{N}}]--{_UNSPACED}]", rf"[[\p{{L}}\p{{N}}\p{{M}}]--{_UNSPACED}]", _RUN, _EMOJI),
    regex.V1 | regex.X,
)

_WORD: Final = Kind.WORD  # to look up a member of an enumeration costs more than anything else in the loop
_GAPS: Final = {
    "": Gap.NONE,
    " ": Gap.SPACE,
    "\n": Gap.SPACE,
    "'": Gap.APOSTROPHE,
    **dict.fromkeys("-_‐‒–—―−", Gap.HYPHEN),
    **dict.fromkeys("./·・‧=゠", Gap.LINK),
}


def tokenise(folded: str) -> list[Token]:
    """Cut a folded text into its tokens, in one pass that is linear in the length of the text.

    Hyphens, dashes, underscores, slashes, apostrophes, and dots and colons between letters separate words; dots and
    commas inside numbers do not (``v2.0``). ``C++``, ``C#`` and ``.NET`` keep their symbols.

    Args:
        folded: what `fold` returned.
    """
    pattern = _ASCII if folded.isascii() else _MIXED if _ANY_UNSPACED.search(folded) else _SPACED
    tokens: list[Token] = []
    end = 0
    for found in pattern.finditer(folded):
        before = end
        start, end = found.span()
        between = folded[before:start]
        gap = _GAPS.get(between) or (Gap.SPACE if between.isspace() else Gap.BREAK)
        kind, plain = _WORD, ""
        group = found.lastindex
        if group != 3:
            if group == 5:
                kind = Kind.RUN
            elif group == 6:
                kind = Kind.EMOJI
            elif group == 4:
                # "alice++" is first of all about alice; only for one letter ("c++") is the symbol the whole name.
                plain = found[3]
            elif group == 2:
                plain = found[2][1:]
        tokens.append(Token(found[0], kind, start, end, gap if before else Gap.BREAK, plain))
    return tokens


_CLUSTER: Final = regex.compile(r"\P{M}\p{M}*")


def clusters(run: str) -> list[str]:
    """Return the characters of a run as a reader counts them: each with the marks that it carries."""
    return _CLUSTER.findall(run)
