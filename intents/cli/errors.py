"""Errors of a command as one line and an exit code: 1 for what was refused or failed, 2 for wrong usage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from typer import Abort
from typer.core import TyperGroup

from intents.errors import IntentsError

REFUSED = 1
USAGE = 2


class CommandError(Exception):
    """A command cannot go on.

    Attributes:
        exit_code: 1 refused or failed, 2 wrong usage.
    """

    def __init__(self, message: str, exit_code: int = REFUSED) -> None:
        self.exit_code = exit_code
        super().__init__(message)


class OneLineErrors(TyperGroup):
    """A group of commands whose errors are one line on stderr, never a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; in the standalone mode this ends the process."""
        code: Any = None
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            described = describe(error) if standalone_mode else None
            if described is None:
                raise
            message, code = described
            print(f"error: {message}", file=sys.stderr)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def describe(error: Exception) -> tuple[str, int] | None:
    """Return the message, in one line, and the exit code of an error that a user can act on; None for a defect."""
    described = _described(error)
    return None if described is None else (" ".join(described[0].split()), described[1])


def _described(error: Exception) -> tuple[str, int] | None:
    if isinstance(error, Abort):
        return "Aborted.", REFUSED
    if isinstance(error, CommandError):
        return str(error), error.exit_code
    if hasattr(error, "format_message"):  # Typer's own errors, whichever Click they come from
        return _usage(error)
    if isinstance(error, IntentsError):
        return str(error), REFUSED
    if isinstance(error, ValidationError):
        return _validation(error), USAGE
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}.", REFUSED
    if isinstance(error, SQLAlchemyError):
        return _database(error)
    return None


def _usage(error: Any) -> tuple[str, int]:
    context = getattr(error, "ctx", None)
    hint = f" See `{context.command_path} --help`." if context is not None else ""
    message = str(error.format_message()).replace("Value error, ", "").replace("Input should", "must")
    return f"{message}{'' if message.endswith(('.', '?')) else '.'}{hint}", error.exit_code


def _validation(error: ValidationError) -> str:
    complaint = error.errors(include_url=False, include_input=False)[0]
    field = "--" + ".".join(str(part) for part in complaint["loc"]).replace("_", "-")
    return f"{field}: {complaint['msg'].removeprefix('Value error, ')}."


def _database(error: SQLAlchemyError) -> tuple[str, int]:
    if isinstance(error, NoSuchModuleError):
        return "--database names a driver that SQLAlchemy does not know.", USAGE
    if isinstance(error, ArgumentError):
        return "--database is neither a file nor a URL such as sqlite:///intents.db or postgresql://host/name.", USAGE
    if isinstance(error, DBAPIError):
        answer = str(error.orig).strip().splitlines()
        return f"The database refused: {answer[0] if answer else type(error.orig).__name__}.", REFUSED
    return str(error).splitlines()[0], REFUSED
