"""Renew what the documents show of the program: the demo in README.md and its picture, the tables of docs/lifecycle.md.

    python tools/update_docs.py

Tests fail while any of them is stale.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from intents import diagram
from intents.cli import demo

ROOT = Path(__file__).parent.parent
START = "<!-- the output of `intents demo`: begin -->"
END = "<!-- the output of `intents demo`: end -->"
PICTURE = ROOT / "docs" / "assets" / "demo.svg"
#: The picture ends before this scene; the transcript has all.
LAST_SCENE = "It cools down"


def transcript() -> str:
    """Return what ``intents demo`` prints into a pipe, without the spaces at the ends of lines."""
    written = io.StringIO()
    demo.play(Console(file=written, width=demo.WIDTH, highlight=False, force_terminal=False, color_system=None))
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def picture() -> str:
    """Return the first scenes as they look in a terminal, as SVG that loads nothing from elsewhere."""
    written = io.StringIO()
    demo.play(Console(file=written, width=demo.WIDTH, highlight=False, force_terminal=True, color_system="truecolor"))
    screen = Console(record=True, file=io.StringIO(), width=demo.WIDTH, highlight=False)
    lines = written.getvalue().splitlines()
    end = next(number for number, line in enumerate(lines) if LAST_SCENE in line)
    screen.print(Text.from_ansi("\n".join(lines[:end]).rstrip()))
    local = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    svg = screen.export_svg(title="intents demo", code_format=local, unique_id="demo")
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def with_transcript(document: str) -> str:
    """Return a document with the transcript between its two marks."""
    before, start, rest = document.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"README.md lacks {START} or {END}")
    return f"{before}{start}\n```text\n{transcript()}```\n{end}{after}"


def main() -> None:
    """Renew the documents and the picture."""
    for path, renew in ((ROOT / "README.md", with_transcript), (ROOT / "docs" / "lifecycle.md", diagram.updated)):
        path.write_text(renew(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"renewed {path.relative_to(ROOT)}")
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"renewed {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
