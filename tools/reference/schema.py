"""The tables, read from the models; what a column means is said here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import CheckConstraint, Column, Table, UniqueConstraint
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex

from intents import ddl
from intents.models import intent_anchors, metadata
from tools.reference.markdown import code, fenced, table

#: What each column holds. A column without a meaning here stops the generator.
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    ddl.INTENTS: {
        "key": "primary key and rowid of the search index; never moved, never reused",
        "id": "public id, a UUID",
        "agent_id": "whose intent it is",
        "description": "what to remind of, one clean line",
        "trigger_keywords": "the keywords as their author gave them",
        "exclude_keywords": "the exclusions as their author gave them",
        "language": "code of the language in which the words are compared",
        "within": "how many positions a keyword's words may span; NULL: anywhere",
        "clauses": "the compiled trigger",
        "anchors": "the terms under which it is indexed, encoded",
        "scope": "one digest of agent, channel and sender",
        "analyzer_version": "rules, Snowball version and language that compiled it",
        "channel_scope": "conversation, channel or anywhere",
        "channel_key": "canonical JSON of provider, account and, for one conversation, its id",
        "conversation_id": "the conversation as given; only with the scope conversation",
        "sender_scope": "sender or anyone",
        "sender_key": "canonical JSON of provider, account and sender",
        "sender_id": "the sender as given; only with the scope sender",
        "creator_provider": "provider of the owner who created it",
        "creator_account": "account of the owner",
        "creator_sender": "sender id of the owner",
        "creator_conversation": "where the owner was",
        "source_session_id": "the host's session, recorded only",
        "source_turn_key": "digest of the turn that created it, on which it never fires",
        "fingerprint": "digest of what makes two intents identical",
        "status": "the stored status",
        "expires_at": "from this moment on it never fires",
        "max_fires": "its fire budget",
        "fire_count": "how many fires are spent",
        "cooldown_seconds": "least time between two fires",
        "last_fired_at": "the last fire that was not given back",
        "rearm_at": "from when it may fire again; while a firing is held, until when it is held",
        "held_turn_key": "the turn whose reply is not delivered yet",
        "created_at": "when it was created",
        "updated_at": "when it was last moved",
        "version": "counts the changes of the row; a lost race is seen by it",
    },
    ddl.TURNS: {
        "key": "primary key",
        "agent_id": "whose intents it fired",
        "turn_key": "digest of provider, account, conversation and turn id; NULL for a turn without id",
        "turn_id": "the channel's id of the message",
        "session_id": "the host's session, recorded only",
        "delivery": "delivered, held or released",
        "held_until": "when a hold lapses; only while held",
        "context": "the hidden block that was given",
        "sent_at": "what the host said of when it was sent, recorded only",
        "matched_at": "when it fired",
    },
    ddl.FIRINGS: {
        "key": "primary key",
        "turn_key": "the turn",
        "intent_key": "the intent",
        "entry": "the keyword that the turn completed",
        "fired_at": "when",
        "previous_fired_at": "the fire before, to which a release goes back",
        "released_at": "when the firing was given back; NULL: it counts",
    },
    ddl.EVENTS: {
        "key": "primary key, in the order of the log",
        "agent_id": "whose intent",
        "intent_key": "the intent",
        "event": "create, or an event of the lifecycle table",
        "from_status": "where it came from; NULL only for create",
        "to_status": "where it went",
        "at": "when",
        "turn_id": "the turn that moved it, if one did",
        "actor": "provider/account:sender, admin:name, turn or sweep",
        "detail": "the keyword of a fire, the reason of a cancel or release",
    },
    ddl.ANCHORS: {
        "agent_id": "whose intent",
        "scope": "the intent's scope digest",
        "term": "one anchor",
        "intent_key": "the intent",
    },
}
_ABOUT: Final = {
    ddl.INTENTS: "One row for each intent.",
    ddl.TURNS: "One row for each turn that fired something; a repeated turn id is answered from here. Other turns "
    "leave no trace, and the text of no turn is stored.",
    ddl.FIRINGS: "One intent fired on one turn.",
    ddl.EVENTS: "The append-only audit log.",
}


def ordered_tables() -> list[Table]:
    """Return the tables of the models, that of the intents first."""
    if metadata.tables.keys() != _ABOUT.keys():
        raise KeyError(f"nobody has said what these tables hold: {metadata.tables.keys() ^ _ABOUT.keys()}")
    return [metadata.tables[name] for name in _ABOUT]


def meaning(column: Column[Any]) -> str:
    """Return what a column holds.

    Raises:
        KeyError: nobody has said it yet.
    """
    return MEANINGS[column.table.name][column.name]


def entity_diagram() -> str:
    """Return the tables and their foreign keys as a Mermaid entity diagram."""
    lines = ["erDiagram"]
    for each in ordered_tables():
        lines.append(f"  {each.name} {{")
        lines += [f"    {plain_type(column)} {column.name}{_mark(column)}" for column in each.columns]
        lines.append("  }")
    for table_name, column, referred in references():
        one = "|o" if metadata.tables[table_name].columns[column].nullable else "||"
        lines.append(f"  {referred} {one}--o{{ {table_name} : {column}")
    return fenced("\n".join(lines), "mermaid")


def references() -> list[tuple[str, str, str]]:
    """Return every foreign key as (table, column, referred table)."""
    return [
        (each.name, key.parent.name, key.column.table.name)
        for each in ordered_tables()
        for key in sorted(each.foreign_keys, key=lambda key: key.parent.name)
    ]


def tables() -> str:
    """Return a section for each table: columns, rules, indexes."""
    return "\n\n".join(_section(each) for each in ordered_tables())


def search_index() -> str:
    """Return how each database keeps the index of the triggers."""
    columns = [
        [code(column.name), _type(column, postgresql.dialect()), meaning(column)] for column in intent_anchors.columns
    ]
    return "\n\n".join(
        [
            "On SQLite, an FTS5 table whose rowid is the intent's `key`; triggers on `standing_intents` keep it:",
            fenced(f"{ddl.CREATE_FTS};", "sql"),
            f"On PostgreSQL, the table `{ddl.ANCHORS}`, written by the repository; its columns are its primary key:",
            table(["column", "type", "holds"], columns),
        ]
    )


def _section(each: Table) -> str:
    unknown = MEANINGS[each.name].keys() - each.columns.keys()
    if unknown:
        raise KeyError(f"{each.name} has no column {', '.join(sorted(unknown))}")
    columns = [
        [
            code(column.name),
            _type(column, sqlite.dialect()),
            _type(column, postgresql.dialect()),
            "yes" if column.nullable else "",
            meaning(column),
        ]
        for column in each.columns
    ]
    rules = [[code(name), code(condition)] for name, condition in _rules(each)]
    parts = [
        f"### {each.name}",
        _ABOUT[each.name],
        table(["column", "SQLite", "PostgreSQL", "NULL", "holds"], columns),
        "Rules:",
        table(["rule", "condition"], rules),
    ]
    indexes = sorted(str(CreateIndex(index).compile(dialect=sqlite.dialect())) for index in each.indexes)
    if indexes:
        parts += ["Indexes:", fenced("\n".join(f"{index};" for index in indexes), "sql")]
    return "\n\n".join(parts)


def _rules(each: Table) -> Iterator[tuple[str, str]]:
    for constraint in sorted(each.constraints, key=lambda constraint: str(constraint.name)):
        if isinstance(constraint, CheckConstraint):
            yield str(constraint.name), str(constraint.sqltext)
        elif isinstance(constraint, UniqueConstraint):
            yield str(constraint.name), f"UNIQUE ({', '.join(column.name for column in constraint.columns)})"
    for key in sorted(each.foreign_keys, key=lambda key: key.parent.name):
        yield str(key.constraint.name if key.constraint else ""), f"{key.parent.name} REFERENCES {key.target_fullname}"


def _type(column: Column[Any], dialect: Any) -> str:
    return str(column.type.compile(dialect=dialect))


def plain_type(column: Column[Any]) -> str:
    """One word for the entity diagram, which takes no brackets."""
    return _type(column, postgresql.dialect()).split("(")[0].split(" WITH")[0].replace(" ", "_").lower()


def _mark(column: Column[Any]) -> str:
    marks = [*(["PK"] if column.primary_key else []), *(["FK"] if column.foreign_keys else [])]
    return f" {','.join(marks)}" if marks else ""
