"""The Markdown pages as tests see them: blocks of code, the comments that say how to treat them, headings, links."""

from __future__ import annotations

import re
import shlex
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
#: Pages whose code is run and whose links are followed.
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(
    r"(?:^(?P<comment> *<!--[^\n]*-->)\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"<!-- (?P<word>[a-z]+)(?:: (?P<value>.+?))? -->")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: the file that it stands in.
        line: where it begins, for messages.
        language: what stands after the fence; empty for none.
        title: the file that it is the content of; empty for none.
        remark: the word of the comment right before it: ``excerpt`` (not run), ``output`` (what the block before
            prints), ``folder`` (what follows works in a folder of its own); empty for none.
        value: what the remark says after its colon.
        code: the code, dedented.
    """

    page: Path
    line: int
    language: str
    title: str
    remark: str
    value: str
    code: str

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """A page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        comment = _COMMENT.search(fence["comment"] or "")
        title = _TITLE.search(fence["info"])
        found.append(
            Block(
                page=page,
                line=text.count("\n", 0, fence.start("indent")) + 1,
                language=fence["language"],
                title=title[1] if title else "",
                remark=comment["word"] if comment else "",
                value=(comment["value"] or "") if comment else "",
                code=textwrap.dedent(fence["code"]),
            )
        )
    return found


def prose_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def shell_lines(code: str) -> Iterator[list[str]]:
    """Yield each command of a shell block as words: comments, prompts and variables before it are left out."""
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set("|&;"):
                words.append(word)
                continue
            while words and re.fullmatch(r"\w+=.*", words[0]):
                del words[0]
            if words:
                yield words
            words = []


def headings_of(page: Path) -> list[str]:
    """Return the headings of a page, without their marks."""
    return [line.lstrip("#").strip() for line in prose_of(page).splitlines() if re.match(r"#{1,6} ", line)]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page's headings get on the site."""
    anchors: set[str] = set()
    for heading in headings_of(page):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        number = 1
        unique = slug
        while unique in anchors:
            unique = f"{slug}_{number}"
            number += 1
        anchors.add(unique)
    return anchors


def documented_objects(page: Path) -> set[str]:
    """Return the dotted names whose docstrings a page shows."""
    return set(re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
