"""Renew the generated parts of the documentation, or check them."""

from __future__ import annotations

import argparse
import sys

from tools import reference


def main() -> None:
    """Run from the command line; with ``--check`` the exit code is 1 while something is stale."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="name what is stale, change nothing")
    options = parser.parse_args()
    stale = reference.stale()
    for path, text in stale.items():
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"{'stale' if options.check else 'renewed'}: {path.relative_to(reference.ROOT)}")
    if options.check and stale:
        sys.exit(1)


if __name__ == "__main__":
    main()
