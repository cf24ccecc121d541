"""Mending what models send as tool arguments: lists as strings, numbers as strings, ``"null"``, camelCase. Pure.

Each function takes the name of an argument and its value and returns the value that was meant; None for nothing. What
it cannot mend is a `ToolInputError` with one short remedy.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import regex

#: Longest text that is tried as a time, a number or a name.
LONGEST_VALUE: Final = 200
_DEEPEST_LIST: Final = 3
_LARGEST_NUMBER: Final = 10**15
_NULLS: Final = frozenset({"", "null", "none", "undefined", "nil"})


class ToolInputError(ValueError):
    """A call of the tool cannot be carried out.

    Attributes:
        code: what kind of mistake, for programs.
        message: one short remedy, for the model.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def refuse(message: str) -> NoReturn:
    """Raise `ToolInputError` for arguments that cannot be mended."""
    raise ToolInputError("invalid_arguments", message)


def shown(text: str) -> str:
    """Quote a text for a message, shortened."""
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def unwrap(arguments: object) -> Mapping[object, object]:
    """Return the arguments as a mapping; JSON text of one will do, encoded twice or not."""
    for _ in range(2):
        if not isinstance(arguments, str):
            break
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            refuse('The arguments are not JSON; send one object, such as {"action": "list"}.')
    if not isinstance(arguments, Mapping):
        refuse('Send the arguments as one object, such as {"action": "list"}.')
    return arguments


def snake_case(name: str) -> str:
    """Return the name of an argument in our spelling: ``triggerKeywords`` is ``trigger_keywords``."""
    if len(name) > LONGEST_VALUE:
        return ""
    return regex.sub(r"[\s\-]+", "_", regex.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())).lower()


def as_text(name: str, value: object) -> str | None:
    """Return text as it is; None when nothing visible is in it."""
    if value is None:
        return None
    if not isinstance(value, str):
        refuse(f"{name} must be text.")
    return value if value.strip() else None


def as_word(name: str, value: object) -> str | None:
    """Return a short text, trimmed."""
    if value is None or (isinstance(value, str) and _is_null(value)):
        return None
    if not isinstance(value, str):
        refuse(f"{name} must be text.")
    if len(value) > LONGEST_VALUE:
        refuse(f"{name} is far too long.")
    return value.strip()


def as_choice(name: str, value: object) -> str | None:
    """Return one of a few fixed words, in lower case."""
    word = as_word(name, value)
    return None if word is None else word.casefold()


def as_length(name: str, value: object) -> str | None:
    """Return a length of time; a bare number other than 0 has no unit and is refused."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "0" if value == 0 else refuse(f'{name} needs its unit, such as "24h" or "2 weeks".')
    return as_word(name, value)


def as_id(name: str, value: object) -> str | None:
    """Return an id of the host's channel; ids may look like numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _digits(name, value)
    if isinstance(value, str):
        return None if _is_null(value) else value.strip()
    return as_word(name, value)


def as_number(name: str, value: object) -> int | None:
    """Return a whole number, also from its digits as text."""
    if isinstance(value, str):
        if _is_null(value):
            return None
        if regex.fullmatch(r"\s*[+-]?[0-9]{1,9}(?:\.0+)?\s*", value):
            return int(float(value))
    elif isinstance(value, float) and value.is_integer():
        return int(value)
    elif value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    refuse(f"{name} must be a whole number, or null for the default.")


def as_list(name: str, value: object) -> list[str] | None:
    """Return a list of texts, also from one text or from a list that was written as text; None when it is empty."""
    if value is None:
        return None
    entries = [entry.strip() for entry in _entries(name, value, depth=0)]
    return list(dict.fromkeys(entry for entry in entries if entry)) or None


def _entries(name: str, value: object, *, depth: int) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, str):
        nested = _list_in(value)
        if nested is not None and depth < _DEEPEST_LIST:
            yield from _entries(name, nested, depth=depth + 1)
        elif depth == 0:
            yield from _lines_of(name, value)
        else:
            yield value
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST_LIST:
        for entry in value:
            yield from _entries(name, entry, depth=depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield _digits(name, value)
    else:
        refuse(f'{name} must be a list of texts, such as ["release candidate", "RC"].')


def _list_in(text: str) -> list[Any] | None:
    """Return the list that a text spells, in JSON or as Python writes it."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list):
            return value
    return None


def _lines_of(name: str, text: str) -> Iterator[str]:
    """Take one text for one entry and lines for entries. A comma may mean "or" as well as "and", so it is refused."""
    if _is_null(text):
        return
    if '"' not in text and regex.search(r"[,;]\s", text):
        refuse(f'{name} must be a list with each phrasing as an entry of its own, such as ["release candidate", "RC"].')
    yield from text.splitlines()


def _is_null(text: str) -> bool:
    return len(text) <= LONGEST_VALUE and text.strip().casefold() in _NULLS


def _digits(name: str, value: float) -> str:
    # Longer integers cannot even be written as text.
    return str(value) if abs(value) < _LARGEST_NUMBER else refuse(f"{name} must be text.")
