"""Folding: texts that a reader takes for the same become equal."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

MAX_MARKS: Final = 30
"""Combining marks kept on one letter; Unicode's own limit for text that streams ("Stream-Safe")."""

# Not text at all (U+001C to U+001F are white space to some libraries only), or signs that compatibility folding would
# glue to the word before ("Kubernetes™" → "kubernetestm").
_BLANKS: Final = regex.compile("[\0\x1c-\x1f\ud800-\udfff™®©℠]")
# Spacing accents and modifier letters that people type for an apostrophe. Compatibility folding would turn the spacing
# accents into a space and a combining mark, so this comes first.
_APOSTROPHES: Final = regex.compile("[`´‘’‛ʹʻʼʽˈ′＇᾽᾿´῾ꞌ]")
# Format characters carry no text: zero-width and bidirectional controls, soft hyphens, variation selectors, fillers,
# skin tones, the Arabic stretching line. Only the tag letters that make a regional flag mean something.
_STRETCH: Final = "\u0640"
_FORMAT: Final = regex.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|[\\p{Cf}\\p{Default_Ignorable_Code_Point}"
    + _STRETCH
    + "\U0001f3fb-\U0001f3ff]"
)
# Normalising a run of marks is quadratic in its length: 256 KB of them took 16 seconds.
_MARKS: Final = regex.compile(rf"(\p{{M}}{{{MAX_MARKS}}})\p{{M}}+")
_ASCII: Final = str.maketrans(dict.fromkeys("\0\x1c\x1d\x1e\x1f", " ") | {"`": "'"})
_DIGITS: Final = regex.compile(r"[\p{Nd}--[0-9]]", regex.V1)


def fold(text: str) -> str:
    """Return the text in the one spelling in which triggers and messages are compared.

    Compatibility forms, case, width, digits of other scripts, apostrophes and invisible characters are folded; marks
    and accents stay (`strip_accents` removes those of some scripts later). NUL and lone surrogates become spaces.
    Folding a folded text changes nothing, and the cost is linear in the length of the text.

    Args:
        text: any string, lone surrogates included.
    """
    if text.isascii():
        return text.lower().translate(_ASCII)
    text = _BLANKS.sub(" ", text)
    text = _APOSTROPHES.sub("'", text)
    text = _FORMAT.sub(r"\1", text)
    text = _MARKS.sub(r"\1", text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # Some compatibility forms unfold to an apostrophe or to a mark on a stretching line.
    text = _APOSTROPHES.sub("'", text).replace(_STRETCH, "")
    # A digit that is newer than this Python's Unicode stays.
    return _DIGITS.sub(lambda digit: str(unicodedata.digit(digit[0], digit[0])), text)


# Letters whose diacritic is drawn into them, so that no decomposition takes it off.
_DRAWN: Final = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ß": "ss"}
)
_ACCENTED: Final = regex.compile(r"([\p{Latin}\p{Greek}\p{Cyrillic}])\p{Mn}+")


def strip_accents(word: str) -> str:
    """Return a folded word without the diacritics of its Latin, Greek and Cyrillic letters.

    Marks of other scripts are left alone: there they are vowels or tell words apart.
    """
    if word.isascii():
        return word
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", word.translate(_DRAWN)))
    return unicodedata.normalize("NFC", plain)
