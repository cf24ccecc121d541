"""A Griffe extension for the site: docstrings are written for people at a prompt, and the site is Markdown."""

from __future__ import annotations

import re
from typing import Any, Final

from griffe import Extension, Object

import intents

#: Classes all of whose public methods have a heading on the site.
_LINKED: Final = ("AsyncIntentService", "IntentRepository", "IntentService", "IntentTool", "Invocation", "PromptHook")
_NAME: Final = re.compile(r"(?<![`\[\w])`(\w+)(?:\.(\w+))?`(?![`\]])")
_LITERAL: Final = re.compile(r"::$", re.MULTILINE)
_NESTED: Final = re.compile(r"^  (?=- |  \S)", re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """Return a docstring as Markdown: literal blocks, nested lists, and links from names of the package."""
    text = _LITERAL.sub(":", docstring)
    if re.search(r"^\* ", text, re.MULTILINE):
        text = _NESTED.sub("    ", text)
    return _NAME.sub(_linked, text)


def _linked(found: re.Match[str]) -> str:
    owner, member = found[1], found[2]
    known = owner in intents.__all__ and not owner.startswith("__") and owner != "metadata"
    if not known or (member is not None and owner not in _LINKED):
        return found[0]
    return f"[{found[0]}][intents.{owner}{f'.{member}' if member else ''}]"


class Docstrings(Extension):
    """Turns every docstring into Markdown before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Handle one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
