"""What the documentation says of the program, generated from the program.

    python -m tools.reference            # renew the pages and pictures under docs/
    python -m tools.reference --check    # name what is stale, change nothing

A page is written by hand; between ``<!-- generated: NAME -->`` and ``<!-- /generated -->`` it holds the part of that
name. Tests fail while a part or a picture is stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from intents import schemas
from tools.reference import commands, lifecycle, pictures, schema, values

ROOT: Final = Path(__file__).parent.parent.parent
DOCS: Final = ROOT / "docs"

_VALUES: Final = (
    schemas.Admin,
    schemas.Explanation,
    schemas.Identity,
    schemas.IntentCreate,
    schemas.IntentEventRead,
    schemas.IntentRead,
    schemas.Match,
    schemas.Matches,
    schemas.PruneResult,
    schemas.ReindexResult,
    schemas.Statistics,
    schemas.SweepResult,
    schemas.Turn,
)
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands.reference,
    "entity diagram": schema.entity_diagram,
    "error tree": values.error_tree,
    "explanation rules": values.explanation_rules,
    "guards in SQL": lifecycle.guards_in_sql,
    "hard bounds": values.hard_bounds,
    "languages": values.languages,
    "limits": values.limits,
    "schema tables": schema.tables,
    "search index": schema.search_index,
    "skip reasons": values.skip_reasons,
    "tool arguments": values.tool_arguments,
    "triggers of PostgreSQL": lifecycle.postgresql_triggers,
    "triggers of SQLite": lifecycle.sqlite_triggers,
    "who moves a row": lifecycle.bulk_moves,
    **{f"fields of {model.__name__}": partial(values.fields_of, model) for model in _VALUES},
}
PICTURES: Final[Mapping[str, Callable[[], str]]] = {
    "assets/entities.svg": pictures.entities,
    "assets/lifecycle.svg": pictures.lifecycle,
}

_PART: Final = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- /generated -->)", re.DOTALL)


def parts_in(document: str) -> list[str]:
    """Return the names of a document's generated parts, in their order."""
    return [found["name"] for found in _PART.finditer(document)]


def renewed(document: str) -> str:
    """Return a document with its generated parts made anew.

    Raises:
        KeyError: there is no part of a name that it asks for.
    """
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found['name']]().strip()}\n\n{found[3]}", document)


def files() -> dict[Path, str]:
    """Return every generated file as it should be: pages with parts, and pictures."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
    wanted = {path: renewed(text) for path, text in pages.items() if parts_in(text)}
    return wanted | {DOCS / name: draw() for name, draw in PICTURES.items()}


def stale() -> dict[Path, str]:
    """Return the generated files that are not as they should be."""
    return {
        path: text for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }
