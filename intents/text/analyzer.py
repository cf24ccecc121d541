"""The analyzer: which languages a deployment matches in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from intents.errors import InvalidIntent
from intents.text.fold import fold
from intents.text.languages import STEMMERS, UNDETERMINED, UNSTEMMED, canonical
from intents.text.stemming import SNOWBALL, forms, forms_of
from intents.text.stopwords import stop_words

RULES: Final = 1
"""Version of the rules by which text becomes terms; raised whenever the same text gives other terms."""


class Analyzer:
    """The languages in which triggers and messages are compared. Immutable, and safe to share between threads.

    A message is analysed once per language, so give only those that people write in.

    Args:
        languages: ISO 639-1 codes; the first is that of intents which name none. All languages that Snowball stems,
            ``zh``, ``ja``, ``ko``, ``th``, ``lo``, ``km`` and ``my``, whose words are not stemmed, and ``und`` for "as
            written", which can always be used. Tags with a region or script (``pt-BR``) count as their language.

    Attributes:
        languages: the codes, each once, in the order given.
        version: rule version and Snowball version; equal versions give equal terms.

    Raises:
        InvalidIntent: no code was given, or one that names no known language.
    """

    def __init__(self, languages: Sequence[str] = ("en",)) -> None:
        given = (languages,) if isinstance(languages, str) else tuple(languages)
        codes = tuple(dict.fromkeys(canonical(code) for code in given))
        if not codes:
            raise InvalidIntent("language", f"The analyzer needs at least one language; available: {_available()}.")
        for code in codes:
            if code not in STEMMERS and code not in UNSTEMMED:
                raise InvalidIntent("language", f"{code!r} is not a known language; available: {_available()}.")
        self.languages: tuple[str, ...] = codes
        self.version: str = f"{RULES}+snowball{SNOWBALL}"
        self._stop_words = {code: frozenset(map(fold, stop_words(code))) for code in (*codes, UNDETERMINED)}

    def __repr__(self) -> str:
        return f"Analyzer({self.languages!r})"

    def require(self, language: str | None) -> str:
        """Return the code to use for an intent of this language.

        Args:
            language: a language tag, or None for the analyzer's first language.

        Raises:
            InvalidIntent: the analyzer was not given that language.
        """
        if language is None:
            return self.languages[0]
        code = canonical(language)
        if code != UNDETERMINED and code not in self.languages:
            configured = ", ".join(dict.fromkeys((*self.languages, UNDETERMINED)))
            raise InvalidIntent("language", f"{code!r} is not among the languages of this analyzer: {configured}.")
        return code

    def fold(self, text: str) -> str:
        """Return the text in the one spelling in which triggers and messages are compared; see `fold`."""
        return fold(text)

    def forms(self, word: str, language: str) -> tuple[str, ...]:
        """Return the forms under which a folded word is compared in a language; see `intents.text.stemming.forms`."""
        return forms(language, word)

    def forms_of(self, words: Iterable[str], language: str) -> set[str]:
        """Return the forms of several folded words together; see `intents.text.stemming.forms_of`."""
        return forms_of(language, words)

    def is_stop_word(self, word: str, language: str) -> bool:
        """Tell whether a folded word is a function word of the language."""
        return word in self._stop_words.get(language, ())


def _available() -> str:
    return ", ".join(sorted({*STEMMERS, *UNSTEMMED}))
