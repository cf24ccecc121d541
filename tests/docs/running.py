"""Runs a page as a reader would: its files are written, its code and its commands are run, in the order of the page."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import alembic
from alembic.config import CommandLine, Config
from sqlalchemy import Engine

from intents.cli.app import app
from tests.docs.pages import Block, shell_lines

#: The database of the pages on PostgreSQL, as they write it.
DOCUMENTED_POSTGRESQL = re.compile(r"postgresql(?P<driver>\+\w+)?://assistant@localhost/assistant\b")
#: What differs from run to run.
_VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?)?"), "DATE"),
    (re.compile(r"\b\d{8}T\d{6}Z\b"), "DATE"),
)


class Reader:
    """Somebody who follows one page in an empty directory.

    Args:
        directory: the directory.
        postgresql_url: the database that stands for the documented one; None where a page needs none.
    """

    def __init__(self, directory: Path, postgresql_url: str | None = None) -> None:
        self._home = self._folder = directory
        self._postgresql_url = postgresql_url
        # A real module: SQLAlchemy and pydantic look names up in the one that a class says it is from.
        self._module = ModuleType("page_under_test")
        sys.modules[self._module.__name__] = self._module
        self._printed = ""

    def follow(self, blocks: list[Block]) -> None:
        """Do what the blocks say.

        Raises:
            AssertionError: one prints something else than the page says, or a command fails.
        """
        for block in blocks:
            if block.remark == "folder":
                self._folder = self._home / block.value
                self._folder.mkdir(parents=True, exist_ok=True)
            if block.remark == "output":
                printed = _steady(self._printed)
                assert printed == _steady(block.code), "\n".join([f"{block.place}: the output is", *printed])
            elif block.remark == "excerpt":
                _check_syntax(block)
            elif block.title:
                self._write(block)
            elif block.language == "python":
                self._printed = self._run(partial(self._execute, block))
            elif block.language == "sh":
                self._printed = self._run(partial(self._call, block))

    def close(self) -> None:
        """Dispose of the engines that the page left open, as pages need not say."""
        for value in vars(self._module).values():
            if isinstance(value, Engine):
                value.dispose()
        del sys.modules[self._module.__name__]

    def _text(self, block: Block) -> str:
        def here(found: re.Match[str]) -> str:
            assert self._postgresql_url is not None, f"{block.place} needs PostgreSQL"
            scheme, _, rest = self._postgresql_url.partition("://")
            return f"{scheme.partition('+')[0]}{found['driver'] or ''}://{rest}"

        return DOCUMENTED_POSTGRESQL.sub(here, block.code)

    def _write(self, block: Block) -> None:
        path = self._folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._text(block), encoding="utf-8")
        template = path.with_name("script.py.mako")
        if path.name == "env.py" and not template.exists():
            # As `alembic init` makes it.
            shutil.copyfile(Path(alembic.__file__).parent / "templates" / "generic" / "script.py.mako", template)
            (path.parent / "versions").mkdir(exist_ok=True)

    def _execute(self, block: Block) -> None:
        # Padded, so that a traceback names the line of the page.
        source = "\n" * block.line + self._text(block)
        exec(compile(source, str(block.page), "exec", dont_inherit=True), vars(self._module))

    def _call(self, block: Block) -> None:
        for words in shell_lines(self._text(block)):
            command = _COMMANDS.get(words[0])
            if command is None:
                continue
            try:
                command(words[1:])
            except SystemExit as error:
                assert not error.code, f"{block.place}: {' '.join(words)} ended with {error.code}"

    def _run(self, work: Callable[[], None]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(self._folder), _modules_of(self._folder):
            work()
        return printed.getvalue()


def _check_syntax(block: Block) -> None:
    if block.language == "python":
        compile(block.code, block.place, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _steady(text: str) -> list[str]:
    for pattern, stand_in in _VOLATILE:
        text = pattern.sub(stand_in, text)
    return [line.rstrip() for line in text.strip().splitlines()]


@contextlib.contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Import from the folder first, and forget afterwards what came from there."""
    path, known = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def _intents(words: list[str]) -> None:
    app(words, prog_name="intents")


def _alembic(words: list[str]) -> None:
    line = CommandLine("alembic")
    options = line.parser.parse_args(words)
    # As the program finds them; Alembic before 1.16 knows no pyproject.toml.
    settings = {"toml_file": "pyproject.toml"} if Path("pyproject.toml").exists() else {}
    config = Config("alembic.ini", stdout=sys.stdout, output_buffer=sys.stdout, cmd_opts=options, **settings)
    line.run_cmd(config, options)


def _python(words: list[str]) -> None:
    if words[0].endswith(".py"):
        runpy.run_path(words[0], run_name="__main__")


def _export(words: list[str]) -> None:
    # The test sets the environment back.
    for word in words:
        name, _, value = word.partition("=")
        os.environ[name] = value


_COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "alembic": _alembic,
    "export": _export,
    "intents": _intents,
    "python": _python,
}
