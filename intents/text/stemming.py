"""The Snowball stemmers, behind one function that any thread may call."""

from __future__ import annotations

import hashlib
import importlib
import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from typing import Any, Final

from intents.text.fold import strip_accents
from intents.text.languages import STEMMERS
from intents.text.variants import variants

LONGEST: Final = 64
"""Longest word that is stemmed, in characters: no word of a language is longer, and some stemmers are quadratic."""

_LONG: Final = "…"  # begins no word
_UNSTEMMABLE: Final = re.compile(r"[0-9.+#]")


def _release(version: str) -> str:
    return ".".join(version.split(".")[:2])


SNOWBALL: Final = _release(metadata.version("snowballstemmer"))
"""Major and minor version of Snowball; stems differ between them."""


def _fast() -> Any | None:
    """Return PyStemmer, a hundred times faster, if it is installed and made from the same release of Snowball."""
    try:
        module = importlib.import_module("Stemmer")
    except ImportError:
        return None
    return module if _release(module.version()) == SNOWBALL else None


_FAST: Final = _fast()
_local = threading.local()


def _new_stemmer(algorithm: str) -> Any:
    if _FAST is not None:
        return _FAST.Stemmer(algorithm, 0)
    # Not by the package's own factory: with a PyStemmer of another release installed, that hands out this one.
    module = importlib.import_module(f"snowballstemmer.{algorithm}_stemmer")
    return getattr(module, f"{algorithm.title()}Stemmer")()


def stem(language: str, word: str) -> str:
    """Return the stem of a folded word; the word itself where stemming does not apply or would leave nothing.

    Args:
        language: ISO 639-1 code.
        word: one folded word.
    """
    algorithm = STEMMERS.get(language)
    if algorithm is None or len(word) > LONGEST or _UNSTEMMABLE.search(word):
        return word
    # Stemmers keep their working state in the object: each thread has its own.
    stemmers: dict[str, Any] = _local.__dict__
    stemmer = stemmers.get(algorithm)
    if stemmer is None:
        stemmer = stemmers[algorithm] = _new_stemmer(algorithm)
    stemmed: str = stemmer.stemWord(word)
    return stemmed or word


@lru_cache(maxsize=65_536)
def _short_forms(language: str, word: str) -> tuple[str, ...]:
    plain = strip_accents(word)
    if language not in STEMMERS:
        return (plain,)
    found: dict[str, None] = {}
    for variant in (word, *variants(language, word)):
        bare = strip_accents(variant)
        found.update(dict.fromkeys((strip_accents(stem(language, variant)), stem(language, bare), bare)))
    return tuple(found)


def forms(language: str, word: str) -> tuple[str, ...]:
    """Return the forms under which a folded word is compared; two words match when they share one.

    These are the stem without accents, the stem of the word without accents, and the word without accents. Neither
    order of stemming and stripping is enough alone: the first splits *déployer* from *deploye*, the second *déployer*
    from *déployé*. In a language without stemmer it is the last one only. A word of more than `LONGEST` characters has
    its digest for its only form: no form is longer than twice that many characters.

    Args:
        language: code of the language.
        word: one folded word.
    """
    if len(word) <= LONGEST:
        return _short_forms(language, word)
    # Only machines write such words. The digest keeps index terms short, and is not worth a place in the cache.
    digest = hashlib.blake2b(strip_accents(word).encode(), digest_size=16)
    return (f"{_LONG}{digest.hexdigest()}",)


def forms_of(language: str, words: Iterable[str]) -> set[str]:
    """Return all forms of several folded words; `forms` for a whole message at once."""
    found: set[str] = set()
    for word in words:
        found.update(_short_forms(language, word) if len(word) <= LONGEST else forms(language, word))
    return found
