"""Every package on disk is named in the build settings; setuptools leaves out silently what is not."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_below(directory: str, name: str) -> set[str]:
    places = {path.parent.relative_to(ROOT / directory) for path in (ROOT / directory).rglob("*.py")}
    return {".".join((name, *place.parts)) for place in places}


def test_every_package_is_built() -> None:
    on_disk = packages_below("intents", "intents") | packages_below("migrations", "intents.migrations")
    listed = SETTINGS["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(on_disk)


def test_every_package_has_an_initialiser() -> None:
    for top in ("intents", "migrations"):
        for directory in {path.parent for path in (ROOT / top).rglob("*.py")}:
            assert (directory / "__init__.py").is_file(), directory
