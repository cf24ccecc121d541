"""What the `intent` tool accepts: a strict published schema, and forgiveness for what models really send.

The schema is generated from `ToolArguments`. Before that model judges a call, the usual slips are mended; what cannot
be mended is a `ToolInputError` with one short remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from intents.clock_words import names_only_a_time
from intents.schemas import ChannelScope, IntentCreate, SenderScope
from intents.times import parse_duration, parse_moment
from intents.tool.repair import (
    ToolInputError,
    as_choice,
    as_id,
    as_length,
    as_list,
    as_number,
    as_text,
    as_word,
    refuse,
    shown,
    snake_case,
    unwrap,
)

if TYPE_CHECKING:
    from datetime import datetime

    from intents.text import Analyzer

ListStatus = Literal["live", "pending", "armed", "fired", "done", "cancelled", "expired", "all"]


class ToolArguments(BaseModel):
    """One flat object for all three actions: the strict style of tool schemas refuses a root ``anyOf``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    action: Literal["create", "list", "cancel"] = Field(
        description="create stores a reminder, list shows the stored ones, cancel ends one for good."
    )
    description: str | None = Field(
        description="create: what to do when it triggers, one sentence that makes sense without this conversation."
    )
    trigger_keywords: list[str] | None = Field(
        description="create: one completed entry is enough; it is complete when all its words occur in a message. "
        "Give each phrasing as its own entry."
    )
    exclude_keywords: list[str] | None = Field(
        description="create: entries of the same form that keep the reminder silent; null for none."
    )
    channel_scope: ChannelScope | None = Field(
        description="create: where it listens: one conversation, this whole channel (default) or anywhere."
    )
    conversation_id: str | None = Field(
        description="create: another conversation of this channel to listen in; null for the current one."
    )
    sender_scope: SenderScope | None = Field(
        description="create: whose messages trigger it: one sender's (default: the user's own) or anyone's."
    )
    sender_id: str | None = Field(
        description="create: the id of another person whose messages trigger it; null for the user."
    )
    expires_at: str | None = Field(
        description='create: when it stops listening: ISO date-time with time zone, ISO date, or "in 3 days"; null for '
        "the default."
    )
    max_fires: int | None = Field(description="create: how often it may trigger in all; null for the default.")
    cooldown: str | None = Field(
        description='create: least time between two triggers, such as "24h", "2 weeks", "0s"; null for the default.'
    )
    language: str | None = Field(description='create: language of the keywords; "und" compares exact words.')
    within: int | None = Field(
        description="create: the words of an entry must lie within this many word positions; null for anywhere."
    )
    intent_id: str | None = Field(description="cancel: the id, as create and list return it.")
    reason: str | None = Field(description="cancel: why, for the audit log; null for none.")
    status: ListStatus | None = Field(
        description="list: only reminders in this state; null for the live ones. done holds what has fired its last."
    )
    after: str | None = Field(description="list: the last id of the page before, for the next page.")


#: How each argument is mended. The order is that of the schema.
_MENDERS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "action": as_choice,
    "description": as_text,
    "trigger_keywords": as_list,
    "exclude_keywords": as_list,
    "channel_scope": as_choice,
    "conversation_id": as_id,
    "sender_scope": as_choice,
    "sender_id": as_id,
    "expires_at": as_word,
    "max_fires": as_number,
    "cooldown": as_length,
    "language": as_word,
    "within": as_number,
    "intent_id": as_word,
    "reason": as_text,
    "status": as_choice,
    "after": as_word,
}
assert tuple(_MENDERS) == tuple(ToolArguments.model_fields)  # noqa: S101 - one table for the schema and the mending

#: Arguments that an action looks at; it ignores the others, which strict clients fill with something.
_USED: Final[Mapping[str, frozenset[str]]] = {
    "create": frozenset(_MENDERS) - {"intent_id", "reason", "status", "after"},
    "list": frozenset({"action", "status", "after"}),
    "cancel": frozenset({"action", "intent_id", "reason"}),
}
_NEEDED: Final[Mapping[str, Mapping[str, str]]] = {
    "create": {
        "description": "say what to remind of",
        "trigger_keywords": 'list the words that trigger it, such as ["release candidate", "RC"]',
    },
    "list": {},
    "cancel": {"intent_id": 'give the id; {"action": "list"} shows the ids'},
}


#: What a call must not decide, and is told so rather than guided to a similar name.
_OWNERSHIP: Final = frozenset(
    {"owner", "owner_id", "creator", "creator_id", "agent", "agent_id", "user", "user_id", "identity", "account_id"}
)


def published_schema(languages: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of the tool: one closed object, every property required, optional ones nullable.

    Args:
        languages: the codes that ``language`` may have.
    """
    schema = ToolArguments.model_json_schema()
    properties: dict[str, Any] = schema["properties"]
    for description in properties.values():
        description.pop("title", None)
    properties["language"]["anyOf"][0]["enum"] = list(languages)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_arguments(arguments: object) -> ToolArguments:
    """Mend and judge the arguments of one call.

    Args:
        arguments: a mapping, or JSON text of one.

    Raises:
        ToolInputError: they cannot be understood; the message is the remedy.
    """
    given = _by_field(unwrap(arguments))
    action = as_choice("action", given.get("action"))
    if action is None or action not in _USED:
        refuse('action must be "create", "list" or "cancel".')
    cleaned: dict[str, Any] = dict.fromkeys(_MENDERS)
    for name in _USED[action]:
        cleaned[name] = _MENDERS[name](name, given.get(name))
    for name, remedy in _NEEDED[action].items():
        if not cleaned[name]:
            raise ToolInputError("missing_argument", f"{action} needs {name}: {remedy}.")
    try:
        return ToolArguments(**cleaned)
    except ValidationError as error:
        raise _first_complaint(error) from None


def draft_of(arguments: ToolArguments, *, now: datetime, analyzer: Analyzer) -> IntentCreate:
    """Make the draft of an intent from the arguments of a ``create``.

    Args:
        arguments: what `read_arguments` returned.
        now: the aware current time, for times from now.
        analyzer: judges the language and knows its function words.

    Raises:
        ToolInputError: a time cannot be read, a keyword only names a time, or a value is out of bounds.
        InvalidIntent: the analyzer was not given that language.
    """
    keywords = arguments.trigger_keywords or []
    language = analyzer.require(arguments.language)
    for keyword in keywords:
        if names_only_a_time(keyword, language, analyzer):
            raise ToolInputError(
                "clock_time",
                f"{shown(keyword)} only names a time. This tool waits for words in messages; use a scheduled task for "
                "clock times and dates, or add the word that people will say.",
            )
    values: dict[str, Any] = {
        "description": arguments.description,
        "trigger_keywords": keywords,
        "exclude_keywords": arguments.exclude_keywords or [],
        # A conversation that is named says what scope is meant.
        "channel_scope": arguments.channel_scope or ("conversation" if arguments.conversation_id else "channel"),
        "conversation_id": arguments.conversation_id,
        "sender_scope": arguments.sender_scope or "sender",
        "sender_id": arguments.sender_id,
        "max_fires": arguments.max_fires,
        "language": arguments.language,
        "within": arguments.within,
    }
    try:
        field = "expires_at"
        values[field] = None if arguments.expires_at is None else parse_moment(arguments.expires_at, now)
        field = "cooldown"
        values[field] = None if arguments.cooldown is None else parse_duration(arguments.cooldown)
    except ValueError as error:
        raise ToolInputError("invalid_arguments", f"{field} {error}.") from None
    try:
        return IntentCreate(**values)
    except ValidationError as error:
        raise _first_complaint(error) from None


def _by_field(given: Mapping[object, object]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in given.items():
        field = snake_case(str(name))
        if field not in _MENDERS:
            raise ToolInputError("unknown_argument", _unknown(str(name), field))
        if fields.get(field) is None:
            fields[field] = value
        elif value is not None and fields[field] != value:
            refuse(f"{field} is given twice; send it once.")
    return fields


def _unknown(name: str, field: str) -> str:
    if field in _OWNERSHIP:
        return f"There is no argument {shown(name)}; whose a reminder is follows from who speaks, leave it out."
    near = difflib.get_close_matches(field, _MENDERS, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"the arguments are {', '.join(_MENDERS)}."
    return f"There is no argument {shown(name)}; {remedy}"


def _first_complaint(error: ValidationError) -> ToolInputError:
    complaint = error.errors(include_url=False, include_input=False)[0]
    text = regex.sub(r"^(?:Input|String|List|Value) should ", "must ", complaint["msg"].removeprefix("Value error, "))
    field = str(complaint["loc"][0]) if complaint["loc"] else ""
    return ToolInputError("invalid_arguments", f"{field} {text}.".lstrip())
