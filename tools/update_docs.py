"""Renew what the documents show of the program: the demo in README.md, the diagram and tables of docs/lifecycle.md.

    python tools/update_docs.py

Tests fail while either is stale.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from intents import diagram
from intents.cli import demo

ROOT = Path(__file__).parent.parent
START = "<!-- the output of `intents demo`: begin -->"
END = "<!-- the output of `intents demo`: end -->"


def transcript() -> str:
    """Return what ``intents demo`` prints into a pipe, without the spaces at the ends of lines."""
    written = io.StringIO()
    demo.play(Console(file=written, width=demo.WIDTH, highlight=False, force_terminal=False, color_system=None))
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def with_transcript(document: str) -> str:
    """Return a document with the transcript between its two marks."""
    before, start, rest = document.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"README.md lacks {START} or {END}")
    return f"{before}{start}\n```text\n{transcript()}```\n{end}{after}"


def main() -> None:
    """Renew both documents."""
    for path, renew in ((ROOT / "README.md", with_transcript), (ROOT / "docs" / "lifecycle.md", diagram.updated)):
        path.write_text(renew(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"renewed {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
