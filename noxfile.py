"""The whole matrix: ``nox``; one cell: ``nox -s "tests-3.13(sqlalchemy='2.1')" -- tests/text``.

Interpreters that are not there are skipped and named. Everything after ``--`` goes to the program of the session.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests", "lint", "types", "docs", "wheel"]

PYTHONS = ("3.11", "3.12", "3.13")
SQLALCHEMYS = {"2.0": "sqlalchemy[asyncio]>=2.0.37,<2.1", "2.1": "sqlalchemy[asyncio]>=2.1,<2.2"}
EXAMPLES = ("fastapi_backend", "flask_backend")


@nox.session(python=PYTHONS)
@nox.parametrize("sqlalchemy", list(SQLALCHEMYS))
def tests(session: nox.Session, sqlalchemy: str) -> None:
    """Run the tests on one interpreter with one line of SQLAlchemy."""
    session.install("-e", ".[test]", SQLALCHEMYS[sqlalchemy])
    session.run("python", "-c", "import sqlalchemy, sqlite3; print(sqlalchemy.__version__, sqlite3.sqlite_version)")
    session.run("pytest", *(session.posargs or ("-n", "auto")))


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the tests with the oldest release of each core dependency that ``pyproject.toml`` admits.

    Agent frameworks and the admin page stay away: they need younger ones.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = [re.sub(r">=([^,]+).*", r"==\1", requirement) for requirement in project["dependencies"]]
    tools = [each for each in project["optional-dependencies"]["test"] if not each.startswith("standing-intents")]
    session.install("-e", ".[asyncio,cli,fast,graphviz,postgresql]", *tools, *oldest)
    away = [f"--ignore=tests/{each}" for each in ("admin", "contrib", "docs")]
    session.run("pytest", *(session.posargs or ("-n", "auto", *away)))


@nox.session
def lint(session: nox.Session) -> None:
    """Look for slips of style and for code that is not formatted."""
    session.install("ruff>=0.6")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package and of the examples."""
    session.install("-e", ".[dev]")
    session.run("mypy")
    for example in EXAMPLES:
        # A type checker does not follow an editable install.
        files = map(str, sorted(Path("examples", example).glob("*.py")))
        session.run("mypy", *files, env={"MYPYPATH": str(Path.cwd())})


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link is an error."""
    session.install("-e", ".[docs]", "ruff>=0.6")  # ruff formats the signatures
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the package and use it without the sources."""
    session.install("build>=1.2", "mypy>=1.11")
    session.run("python", "tools/check_wheel.py")
