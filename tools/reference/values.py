"""Tables of values: limits, errors, rules, reasons, languages, the arguments of the tool."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic_core import PydanticUndefined

from intents import ddl, errors, schemas
from intents.repository import REASON_CHARS, reading
from intents.text import languages as known
from intents.text import stemming
from intents.text.fold import MAX_MARKS
from intents.tool import PAGE
from intents.tool.input import ToolArguments
from tools.reference.markdown import code, fenced, table
from tools.reference.schema import MEANINGS

_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", re.DOTALL | re.MULTILINE)


def attributes_of(subject: type) -> dict[str, str]:
    """Return what a class's docstring says of its attributes, in one line each."""
    _, _, section = (inspect.getdoc(subject) or "").partition("Attributes:\n")
    found = _ATTRIBUTE.findall(section.partition("\n\n")[0])
    return {name: " ".join(text.split()).replace("``", "`") for name, text in found}


#: What fields hold whose docstring leaves it to their name; a field without a meaning anywhere stops the generator.
_FIELDS: Final = {
    "IntentRead": {
        "creator": "the owner who created it",
        "status": "the effective status at the clock",
        "cooldown": "least time between two fires",
    },
    "IntentEventRead": MEANINGS[ddl.EVENTS],
    "Match": {"intent": "the intent as it stands after the fire", "keyword": "the keyword that the turn completed"},
    "Matches": {"matches": "the same as a tuple"},
    "Explanation": {"intent": "the intent"},
    "SweepResult": {
        "expired": "rows whose expiry was written down",
        "rearmed": "rows that cooled down",
        "released": "rows whose hold had lapsed",
        "more": "True when the limit stopped it: call again",
    },
    "PruneResult": {"intents": "how many were removed", "more": "True when the limit stopped it: call again"},
}


#: Values that hosts build, whose defaults they need to know; the others they only read.
_INPUTS: Final = (schemas.Admin, schemas.Identity, schemas.IntentCreate, schemas.Turn)
#: Longer lists of choices have a table of their own.
_CHOICES_SHOWN: Final = 5


def fields_of(model: type[BaseModel]) -> str:
    """Return the fields of a value: type, meaning and, where hosts build it, default."""
    meanings = {**MEANINGS[ddl.INTENTS], **_FIELDS.get(model.__name__, {}), **attributes_of(model)}
    rows = [
        [
            code(name),
            _python_type(field.annotation),
            *([_default(field)] if model in _INPUTS else []),
            meanings[name].replace("NULL", "None").removesuffix("."),
        ]
        for name, field in model.model_fields.items()
    ]
    return table(["field", "type", *(["default"] if model in _INPUTS else []), "holds"], rows)


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.default_factory()
    return _shown(value) if isinstance(value, timedelta) else code(repr(value))


def _python_type(annotation: Any) -> str:
    """Write an annotation in plain words, without what only pydantic needs to know."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is AwareDatetime or annotation is datetime:
        return "aware `datetime`"
    if origin is Annotated:
        return _python_type(arguments[0])
    if origin is Literal and len(arguments) > _CHOICES_SHOWN:
        return "one of the words below"
    if origin is Literal:
        return " or ".join(code(repr(each)) for each in arguments)
    if origin in (Union, UnionType):
        return " or ".join(_python_type(each) for each in arguments)
    if annotation is NoneType:
        return "`None`"
    if origin is not None:
        inside = ", ".join(_python_type(each).replace("`", "") for each in arguments if each is not Ellipsis)
        return code(f"{origin.__name__}[{inside}{', ...' if Ellipsis in arguments else ''}]")
    return code(annotation.__name__)


def limits() -> str:
    """Return every field of `Limits` with its default and its bounds."""
    meanings = attributes_of(schemas.Limits)
    rows = [
        [code(name), _shown(field.default), _bounds(field.metadata), meanings[name].removesuffix(".")]
        for name, field in schemas.Limits.model_fields.items()
    ]
    return table(["limit", "default", "may be", "bounds"], rows)


def hard_bounds() -> str:
    """Return the bounds that no setting moves."""
    rows = [
        ["fire budget of an intent", f"1 to {schemas.MAX_FIRES:,}"],
        ["cooldown", f"0 to {_in_words(schemas.MAX_COOLDOWN)}"],
        ["lifetime", f"up to {_in_words(schemas.MAX_LIFETIME)} (ten years)"],
        ["`within`", _bounds(schemas.IntentCreate.model_fields["within"].metadata) or "1 to 10,000"],
        ["an id (provider, account, conversation, sender, turn, session, agent)", f"{schemas.ID_CHARS} characters"],
        ["reason of a cancel or release", f"{REASON_CHARS} characters, the rest is cut"],
        ["page of `list` and `explain`", f"{reading.PAGE:,} intents"],
        ["page that the tool returns to a model", f"{PAGE} intents"],
        ["word that is stemmed", f"{stemming.LONGEST} characters; a longer one is compared as a whole"],
        ["combining marks on one letter", f"{MAX_MARKS}, the rest is dropped"],
    ]
    return table(["what", "bound"], rows)


def error_tree() -> str:
    """Return the tree of exceptions, with what each means and which facts it carries."""
    lines, rows = [errors.IntentsError.__name__], []
    for indent, error in _walk(errors.IntentsError, ""):
        lines.append(f"{indent}{error.__name__}")
        summary = (inspect.getdoc(error) or "").partition("\n\n")[0].replace("\n", " ")
        facts = attributes_of(error)
        carried = "<br>".join(f"{code(name)}: {text}" for name, text in facts.items())
        rows.append([code(error.__name__), summary, carried])
    return f"{fenced(chr(10).join(lines), 'text')}\n\n{table(['error', 'means', 'carries'], rows)}"


def _walk(error: type[Exception], indent: str) -> Iterator[tuple[str, type[Exception]]]:
    children = [each for each in error.__subclasses__() if each.__module__ == errors.__name__]
    for child in children:
        last = child is children[-1]
        yield f"{indent}{'└── ' if last else '├── '}", child
        yield from _walk(child, indent + ("    " if last else "│   "))


#: What each rule of an `Explanation` says. A rule without a meaning here stops the generator.
_RULES: Final = {
    "turn_kind": "the turn is no user's: heartbeats, cron jobs and the system's own messages never match",
    "duplicate": "the turn id was answered before and gets its first answer again",
    "pending": "the intent is not armed yet",
    "cancelled": "it was cancelled",
    "scope": "the turn comes from another place or person than the intent listens to; the detail says which",
    "expired": "its expiry is reached",
    "cooldown": "it fired less than its cooldown ago",
    "budget": "all its fires are spent",
    "held": "its last firing awaits the delivery of a reply",
    "keywords": "no keyword is complete; the detail names the nearest one and the words that it lacks",
    "excluded": "a keyword is complete, but so is an exclusion",
    "within": "a keyword's words are all there, but too far apart",
    "creating_turn": "this turn created it; it fires on later ones",
    "truncated": "more than `Limits.candidates` intents that could fire now are anchored at the turn's words; it is "
    "one of the youngest, and was not looked at",
    "per_turn_limit": "as many older intents as may fire on one turn do",
    "block_full": "its line does not fit in the hidden block any more",
}
#: What each value of `Matches.skipped` says.
_SKIPPED: Final = {
    "kind": "the turn is no user's",
    "no_conversation": "the hook got a turn without a conversation, from another provider than `webchat`",
    "no_invocation": "the hook got no `Invocation`; one line is logged as an error",
    "deadline": "the invocation's time was up before the fire was committed",
    "cancelled": "the invocation was cancelled",
    "busy": "the write lock was not free within `Limits.lock_wait`",
}


def explanation_rules() -> str:
    """Return every rule that `explain` may name."""
    rules = get_args(schemas.Rule)
    if set(rules) != set(_RULES):
        raise KeyError(f"the rules differ: {set(rules) ^ set(_RULES)}")
    return table(["rule", "the intent stays silent because"], [[code(rule), _RULES[rule]] for rule in rules])


def skip_reasons() -> str:
    """Return every reason for which a turn is not decided."""
    said = attributes_of(schemas.Matches)["skipped"]
    if set(re.findall(r"`(\w+)`", said)) != set(_SKIPPED):
        raise KeyError(f"the reasons differ from the docstring of Matches: {said}")
    return table(["skipped", "nothing was decided because"], [[code(name), text] for name, text in _SKIPPED.items()])


#: Names of the languages that have no stemmer to be named after.
_UNSTEMMED: Final = {
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "lo": "Lao",
    "km": "Khmer",
    "my": "Burmese",
}


def languages() -> str:
    """Return the languages that an analyzer can be given."""
    rows = []
    for tag in sorted({*known.STEMMERS, *known.UNSTEMMED} - {known.UNDETERMINED}):
        notes = [
            *(["elided articles are dropped"] if tag in known.ELISIONS else []),
            *(["`'s` is dropped"] if tag in known.POSSESSIVE else []),
            *(["endings after an apostrophe are dropped"] if tag in known.SUFFIX_AFTER_APOSTROPHE else []),
        ]
        name = known.STEMMERS.get(tag) or _UNSTEMMED[tag]
        rows.append([code(tag), name.capitalize(), "yes" if tag in known.STEMMERS else "", "; ".join(notes)])
    rows.append([code(known.UNDETERMINED), "", "", "no language: words as they are written, accents and case aside"])
    return table(["code", "language", "word forms", "besides"], rows)


def tool_arguments() -> str:
    """Return the arguments of the tool `intent`, as its schema publishes them."""
    properties: dict[str, Any] = ToolArguments.model_json_schema()["properties"]
    rows = [[code(name), _json_type(schema), schema["description"]] for name, schema in properties.items()]
    return table(["argument", "type", "meaning"], rows)


def _json_type(schema: dict[str, Any]) -> str:
    kinds = schema.get("anyOf", [schema])
    written = []
    for kind in kinds:
        if "enum" in kind:
            written.append(" or ".join(code(f'"{value}"') for value in kind["enum"]))
        elif kind.get("type") == "array":
            written.append("list of strings")
        else:
            written.append(kind["type"])
    return " or ".join(written)


def _shown(value: object) -> str:
    if isinstance(value, timedelta):
        return _in_words(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _in_words(length: timedelta) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        count, rest = divmod(int(length.total_seconds()), seconds)
        if count and not rest:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{length.total_seconds():g} seconds"


def _bounds(metadata: list[Any]) -> str:
    low = next((f"{_shown(each.ge)}" for each in metadata if hasattr(each, "ge")), None)
    above = next((f"more than {_shown(each.gt)}" for each in metadata if hasattr(each, "gt")), None)
    high = next((f"{_shown(each.le)}" for each in metadata if hasattr(each, "le")), None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    return ", ".join(filter(None, (above, f"at most {high}" if high else None)))
