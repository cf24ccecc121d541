"""The ``intents`` command: a demo, a place to try things, and an operator's view of a database.

It is an admin: it looks, cancels and tidies up; it never creates an intent in somebody's database.
"""

from __future__ import annotations

import sys

#: What the extra ``cli`` installs, by import name.
_NEEDED = frozenset({"click", "rich", "typer"})


def main() -> None:
    """Run the command line; ends the process with 0, 1 (refused, failed) or 2 (wrong usage)."""
    try:
        from intents.cli.app import app  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        print('error: The command line needs Typer and Rich: pip install "standing-intents[cli]"', file=sys.stderr)
        raise SystemExit(1) from None
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks must not end the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="intents")
