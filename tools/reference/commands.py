"""The command line, read from the functions behind it."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from typer.models import ArgumentInfo, OptionInfo

from intents.cli.app import app
from tools.reference.markdown import code, table

PROGRAM: Final = "intents"
_HELP: Final = ("--help", "-h")


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command.

    Attributes:
        names: ``--limit``, ``-l``; of an argument its placeholder.
        takes: placeholder of the value; empty for a switch.
        default: as a person would write it; empty when there is none.
        required: whether the command refuses to run without it.
        is_option: False for an argument.
        help: one sentence.
        variable: the environment variable that is read when it is not given; empty when there is none.
    """

    names: tuple[str, ...]
    takes: str
    default: str
    required: bool
    is_option: bool
    help: str
    variable: str


@dataclass(frozen=True)
class Command:
    """A command of the program.

    Attributes:
        name: as it is typed.
        panel: the group under which the help shows it.
        help: what it does.
        parameters: arguments first.
    """

    name: str
    panel: str
    help: str
    parameters: tuple[Parameter, ...]

    @property
    def options(self) -> frozenset[str]:
        """Every spelling of its options, help included."""
        return frozenset(_HELP).union(*(each.names for each in self.parameters if each.is_option))

    @property
    def usage(self) -> str:
        """One line of how it is called."""
        words = [PROGRAM, self.name, *(each.names[0] for each in self.parameters if not each.is_option)]
        words += [f"{each.names[0]} {each.takes}" for each in self.parameters if each.is_option and each.required]
        optional = any(each.is_option and not each.required for each in self.parameters)
        return " ".join([*words, "[OPTIONS]"] if optional else words)


def all_commands() -> list[Command]:
    """Return every command, in the order of the help."""
    return [_command(info) for info in app.registered_commands if not info.hidden]


def reference() -> str:
    """Return the section of every command."""
    return "\n\n".join(_section(command) for command in all_commands())


def _section(command: Command) -> str:
    rows = [
        [
            "<br>".join(code(name) for name in parameter.names),
            code(parameter.takes) if parameter.takes and parameter.is_option else "",
            "required" if parameter.required else code(parameter.default) if parameter.default else "",
            f"{parameter.help} Read from {code(parameter.variable)} when it is not given."
            if parameter.variable
            else parameter.help,
        ]
        for parameter in command.parameters
    ]
    listed = table(["", "value", "default", "meaning"], rows) if rows else "It takes no options but `--help`."
    return f"## intents {command.name}\n\n{command.help}\n\n```text\n{command.usage}\n```\n\n{listed}"


def _command(info: Any) -> Command:
    function = info.callback
    parameters = sorted(_parameters(function), key=lambda each: each.is_option)
    return Command(
        name=info.name or function.__name__,
        panel=info.rich_help_panel or "",
        help=inspect.getdoc(function) or "",
        parameters=tuple(parameters),
    )


def _parameters(function: Any) -> Iterator[Parameter]:
    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = hints[name].__origin__, hints[name].__metadata__[0]
        if isinstance(info, ArgumentInfo):
            yield _argument(name, info, parameter.default)
        elif isinstance(info, OptionInfo):
            yield _option(name, info, kind, parameter.default)


def _argument(name: str, info: ArgumentInfo, default: Any) -> Parameter:
    placeholder = info.metavar or name.upper()
    required = default is inspect.Parameter.empty
    return Parameter(
        names=(placeholder,),
        takes=placeholder,
        default="" if required else str(default),
        required=required,
        is_option=False,
        help=info.help or "",
        variable="",
    )


def _option(name: str, info: OptionInfo, kind: Any, default: Any) -> Parameter:
    # Inside Annotated the first spelling stands where the default would.
    given = [*([info.default] if isinstance(info.default, str) else []), *(info.param_decls or ())]
    names = [each for each in given if each.startswith("--")] or [f"--{name.replace('_', '-')}"]
    names += [each for each in given if not each.startswith("--")]
    is_switch = kind is bool
    required = default is inspect.Parameter.empty
    nothing = required or default is None or is_switch
    return Parameter(
        names=tuple(names),
        takes="" if is_switch else _takes(info, kind),
        default="" if nothing else str(getattr(default, "value", default)),
        required=required,
        is_option=True,
        help=info.help or "",
        variable=str(info.envvar or ""),
    )


def _takes(info: OptionInfo, kind: Any) -> str:
    if info.metavar:
        return info.metavar
    kinds = [each for each in typing.get_args(kind) if each is not types.NoneType] or [kind]
    if isinstance(kinds[0], type) and issubclass(kinds[0], enum.Enum):
        return " | ".join(str(each.value) for each in kinds[0])
    if kinds[0] is not int:
        return "TEXT"
    if info.min is not None and info.max is not None:
        return f"{info.min}…{info.max}"
    return f"{info.min} or more" if info.min is not None else "NUMBER"
