"""What is done to text of other people before it is stored or shown to a model. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

#: Zero-width joiners carry meaning inside emoji and inside Persian or Indic words, and hide text anywhere else.
_STRAY_JOINER: Final = regex.compile(r"(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])")
_INVISIBLE: Final = regex.compile(r"[\p{Cc}\p{Cf}\p{Cs}--[\u200c\u200d\s\x85]]", regex.VERSION1)
#: Composing a run of marks is quadratic in its length, and no script stacks more than a handful.
_MARKS: Final = regex.compile(r"(\p{M}{30})\p{M}+")
_UNSTORABLE: Final = regex.compile(r"[\p{Cs}\x00]")
_SPACES: Final = regex.compile(r"[\s\x85\p{Z}]+")
#: Letters that show nothing (Hangul fillers, variation selectors, the blank of Braille, …) mean something among others.
_VISIBLE: Final = regex.compile(
    r"[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800\U0001D159]",
)
_FORBIDDEN_IN_ID: Final = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]")


def clean_line(text: str) -> str:
    """Make one readable line of any text.

    Control, bidirectional and other invisible characters go, lone surrogates and NUL become spaces, every run of white
    space (line breaks of any script included) becomes one space, the ends are trimmed and the rest is composed (NFC).

    Returns:
        The line; empty when nothing visible was left.
    """
    spaced = _UNSTORABLE.sub(" ", text)
    if _VISIBLE.search(spaced) is None:
        return ""
    visible = _STRAY_JOINER.sub("", _INVISIBLE.sub("", spaced))
    bounded = _MARKS.sub(r"\1", _SPACES.sub(" ", visible))
    return unicodedata.normalize("NFC", bounded).strip()


def escape_line(text: str) -> str:
    """Clean `text` to one line that can neither open nor close a tag of the block around it."""
    return clean_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def encodable(text: str) -> str:
    """Replace lone surrogates and NUL, which not every database driver can store, with spaces."""
    return _UNSTORABLE.sub(" ", text)


def has_forbidden_id_characters(text: str) -> bool:
    """Whether an id holds a control character, a line separator or a lone surrogate."""
    return _FORBIDDEN_IN_ID.search(text) is not None
