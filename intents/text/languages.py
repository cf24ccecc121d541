"""What is known of each language: its code, its stemmer, its elisions."""

from __future__ import annotations

from typing import Final

UNDETERMINED: Final = "und"
"""Code of "no language in particular": words are compared as they are written, accents and case aside."""

STEMMERS: Final = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""ISO 639-1 code to the name of its Snowball algorithm."""

UNSTEMMED: Final = frozenset({UNDETERMINED, "zh", "ja", "ko", "th", "lo", "km", "my"})
"""Languages whose words are compared as they are written."""

# Codes in use for a language that has another code above: the two written forms of Norwegian, and old codes.
_ALIASES: Final = {"nb": "no", "nn": "no", "in": "id", "ji": "yi"}

ELISIONS: Final = {
    language: frozenset(words.split())
    for language, words in {
        "ca": "d l m n s t",
        "el": "σ τ θ μ ν απ γι κι αλλ κατ μετ παρ υπ",
        "eo": "l",
        "fr": "c d j l m n s t qu jusqu lorsqu puisqu quoiqu",
        "ga": "b d m",
        "it": "l d c m t s v n un gl agl all dagl dall degl dell negl nell sugl sull coll pell quell quest dov com",
        "pt": "d",
    }.items()
}
"""Words that lose their vowel before the next word (``l'équipe``): by language, without the apostrophe."""

POSSESSIVE: Final = frozenset({"en", "nl", "de", "da", "no", "sv"})
"""Languages in which ``'s`` after a word is an ending of it."""

SUFFIX_AFTER_APOSTROPHE: Final = frozenset({"tr"})
"""Languages that put an apostrophe between a name and its endings (``İstanbul'da``)."""


def canonical(code: str) -> str:
    """Return the bare, lower-case code of a language tag: ``pt-BR`` → ``pt``, ``nb`` → ``no``."""
    primary = code.strip().replace("_", "-").partition("-")[0].lower()
    return _ALIASES.get(primary, primary)
