"""The kinds of fields that inputs are made of: ids, lines, lengths of time, each cleaned or refused as it comes in."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from intents.sanitize import clean_line, encodable, has_forbidden_id_characters
from intents.times import parse_duration

ID_CHARS: Final = 512
#: Sender ids that chat adapters send when they do not know the sender; none of them names a person.
NO_SENDER: Final = frozenset({"anonymous", "none", "null", "undefined", "unknown"})

_PYDANTICS_OWN: Final = TypeAdapter(timedelta)


def _check_id(value: Any) -> Any:
    if isinstance(value, str) and has_forbidden_id_characters(value):
        raise ValueError("ids must not contain control characters; send the channel's own id")
    return value


def _blank_to_none(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _placeholder_to_none(value: Any) -> Any:
    if isinstance(value, str) and value.strip().casefold() in NO_SENDER | {""}:
        return None
    return value


def _sound_text(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value


def _line(value: Any) -> Any:
    return clean_line(value) if isinstance(value, str) else value


def _described(value: Any) -> Any:
    if isinstance(value, str) and not clean_line(value):
        raise ValueError("say in a sentence what to remind of")
    return _line(value)


def _as_written(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Take a length of time as the tool does; what only pydantic reads (``01:30:00``) stays good."""
    if not isinstance(value, str):
        return handler(value)
    try:
        length = parse_duration(value)
    except ValueError as error:
        try:
            length = _PYDANTICS_OWN.validate_python(value)
        except ValidationError:
            raise ValueError(str(error)) from None
    return handler(length)


def _a_person(value: Any) -> Any:
    if _blank_to_none(value) is not None and _placeholder_to_none(value) is None:
        raise ValueError("this names nobody; give the person's id, or leave it out for the creator's own turns")
    return _blank_to_none(value)


Id = Annotated[str, Field(min_length=1, max_length=ID_CHARS), BeforeValidator(_check_id)]
OptionalId = Annotated[Id | None, BeforeValidator(_blank_to_none)]
SenderId = Annotated[Id | None, BeforeValidator(_placeholder_to_none)]
AccountId = Annotated[Id, BeforeValidator(lambda v: "default" if _blank_to_none(v) is None else v)]
Provider = Annotated[Id, BeforeValidator(lambda v: v.strip().casefold() if isinstance(v, str) else v)]
Line = Annotated[str, BeforeValidator(_line)]
Description = Annotated[str, BeforeValidator(_described)]
Person = Annotated[Id | None, BeforeValidator(_a_person)]
Duration = Annotated[timedelta, WrapValidator(_as_written)]
TurnText = Annotated[str, BeforeValidator(_sound_text)]
