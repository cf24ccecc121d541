"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; bars inside cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Mark a text as code; one with a bar is written so that it may stand in a table everywhere."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def fenced(text: str, language: str) -> str:
    """Write a block of code."""
    return f"```{language}\n{text.strip()}\n```"
