"""The hidden block that tells the model what fired: one escaped line an intent."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from intents.sanitize import escape_line

OPENING: Final = "<standing_intents>"
CLOSING: Final = "</standing_intents>"


@dataclass(frozen=True, slots=True)
class Wording:
    """The words around a reminder; replace them for another language, the escaping stays.

    Attributes:
        line: a format string with ``{description}`` and, if wanted, ``{created}`` (the date in UTC, ``YYYY-MM-DD``).

    Raises:
        ValueError: the line lacks ``{description}``, names another field, or formats one in a way that fails.
    """

    line: str = "Standing intent (created {created}): {description}"

    def __post_init__(self) -> None:
        try:
            fields = [field for field in string.Formatter().parse(self.line) if field[1] is not None]
            names = {name for _, name, _, _ in fields}
            # A format that holds a field of its own depends on what people write, and would fail on some of it only.
            fits = "description" in names <= {"description", "created"} and not any("{" in str(f[2]) for f in fields)
            self.line.format(description="", created="") if fits else None
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                "Wording.line needs {description} and may use {created}, both as text; no other field exists."
            )

    def render(self, description: str, created_at: datetime) -> str:
        """Write one line of the block, escaped so that it can neither close the tag nor add a line."""
        created = created_at.astimezone(UTC).date().isoformat()
        return escape_line(self.line.format(description=description, created=created))


class Block:
    """The block as it grows; it never exceeds its bound.

    Args:
        limit: most characters of the whole block, tags and line breaks included.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: list[str] = []

    def add(self, line: str) -> bool:
        """Add a line if the block still holds it; tell whether it did."""
        if len(render_block([*self._lines, line])) > self._limit:
            return False
        self._lines.append(line)
        return True

    def text(self) -> str | None:
        """Return the block; None when it has no line."""
        return render_block(self._lines) if self._lines else None


def render_block(lines: Sequence[str]) -> str:
    """Put the tags around lines that are escaped already."""
    return "\n".join([OPENING, *lines, CLOSING])
