"""The cast, the clock and the levers of the behaviour tests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, insert, select
from sqlalchemy.orm import Session

from intents import (
    Identity,
    IntentCreate,
    IntentEvent,
    IntentFiring,
    IntentRead,
    IntentService,
    IntentTurn,
    Matches,
    StandingIntent,
    Turn,
)
from intents.index.base import encode_terms
from intents.models import intent_anchors
from intents.triggers import compile_trigger

START = datetime(2026, 7, 27, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)

OWNER = Identity(provider="slack", sender_id="U-owner", conversation_id="C-lobby")
ALICE = Identity(provider="slack", sender_id="U-alice", conversation_id="C-lobby")
NOBODY = Identity(provider="slack", sender_id=None, conversation_id="C-lobby")

SAID = "the release candidate is up"
REMINDER = "Confirm the rollback owner"

#: Engines on which two connections see one database.
SHARED = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new", "postgresql"], indirect=True)
#: For rules that are decided before any database is asked.
IN_MEMORY = pytest.mark.parametrize("engine", ["sqlite-memory"], indirect=True)
ON_FILE = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-memory", "sqlite-new"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)


class Clock:
    """The time that services are given; it moves when told to."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, delta: timedelta) -> None:
        self.now += delta


def draft(*keywords: str, description: str = REMINDER, **options: Any) -> IntentCreate:
    """An intent on "release candidate" unless told otherwise."""
    return IntentCreate(description=description, trigger_keywords=list(keywords or ("release candidate",)), **options)


def said(text: str = SAID, by: Identity = OWNER, **options: Any) -> Turn:
    """A turn of the owner that completes "release candidate" unless told otherwise."""
    return Turn(text=text, identity=by, **options)


def answer_of(matches: Matches) -> Matches:
    """An answer without the counts of what was met on the way to it."""
    return matches.model_copy(update={"candidates": None, "completed": None})


def ids(intents: Iterable[Any]) -> list[str]:
    """The ids of intents or of matches."""
    return [each.id if isinstance(each, IntentRead) else each.intent.id for each in intents]


def stored(engine: Engine, intent_id: str) -> StandingIntent:
    """The row as it is written down, whatever the clock says."""
    with Session(engine, expire_on_commit=False) as session:
        return session.scalars(select(StandingIntent).where(StandingIntent.id == intent_id)).one()


def written(engine: Engine) -> tuple[tuple[Any, ...], ...]:
    """All that the library has written, to see whether a call has changed anything."""
    with engine.connect() as connection:
        return tuple(
            tuple(tuple(row) for row in connection.execute(select(table).order_by(table.c.key)))
            for table in (model.__table__ for model in (StandingIntent, IntentTurn, IntentFiring, IntentEvent))
        )


def count_of(engine: Engine, model: type[Any]) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(model)).scalar_one()


@contextmanager
def statements(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """Collect the SQL that reaches the database, with its parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def writes_or_locks(statement: str) -> bool:
    """Whether a statement is more than a plain read."""
    upper = statement.lstrip().upper()
    return not upper.startswith("SELECT") or "FOR UPDATE" in upper or "LOCK_TIMEOUT" in upper


@contextmanager
def at_statement(engine: Engine, wanted: Callable[[int, str], bool], action: Callable[[], None]) -> Iterator[list[str]]:
    """Run `action` once, just before the first statement that is wanted, by its number and text; notes what it met."""
    met: list[str] = []
    count = 0

    def watch(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal count
        number, count = count, count + 1
        if not met and wanted(number, statement):
            met.append(statement)
            action()

    event.listen(engine, "before_cursor_execute", watch)
    try:
        yield met
    finally:
        event.remove(engine, "before_cursor_execute", watch)


@contextmanager
def between_look_and_lock(engine: Engine, action: Callable[[], None]) -> Iterator[None]:
    """Run `action` when a turn has been looked at and nothing is locked yet."""
    with at_statement(engine, lambda _, statement: writes_or_locks(statement), action) as met:
        yield
    assert met, "nothing was about to be locked"


def load(
    engine: Engine,
    service: IntentService,
    like: IntentRead,
    entries: Iterable[str],
    *,
    anchored_at: int = -1,
    **columns: Any,
) -> list[str]:
    """Write many intents at once, each like a given one but for its entry, and indexed as `create` would have.

    Gives their ids. `anchored_at` says which word of the entry is the rarest, `columns` overrides columns of all rows.
    """
    anchors = []
    with Session(engine) as session:
        model = session.scalars(select(StandingIntent).where(StandingIntent.id == like.id)).one()
        pattern = {c.name: getattr(model, c.name) for c in StandingIntent.__table__.columns if c.name != "key"}
        rows = []
        for text in entries:
            compiled = compile_trigger([text], language=like.language, analyzer=service.settings.analyzer)
            (entry,) = compiled.entries
            terms = encode_terms(like.agent_id, entry.clauses[anchored_at].parts[0].terms)
            rows.append(
                pattern
                | {
                    "id": str(uuid.uuid4()),
                    "fingerprint": uuid.uuid4().hex * 2,
                    "trigger_keywords": [text],
                    "clauses": compiled.to_json(),
                    "anchors": " ".join(terms),
                }
                | columns
            )
            anchors.append(terms)
        session.execute(insert(StandingIntent), rows)
        if engine.dialect.name == "postgresql":
            made = select(StandingIntent.id, StandingIntent.key).where(
                StandingIntent.id.in_([row["id"] for row in rows])
            )
            keys = {row.id: row.key for row in session.execute(made)}
            session.execute(
                insert(intent_anchors),
                [
                    {"agent_id": row["agent_id"], "scope": row["scope"], "term": term, "intent_key": keys[row["id"]]}
                    for row, terms in zip(rows, anchors, strict=True)
                    for term in terms
                ],
            )
        session.commit()
    return [row["id"] for row in rows]


def tell_index(engine: Engine, command: str, value: int | None = None) -> None:
    """Give FTS5 one of its commands, such as ``optimize``, or set one of its options."""
    name, given = ("", "") if value is None else (", rank", f", {value}")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO standing_intents_fts (standing_intents_fts{name}) VALUES ('{command}'{given})"
        )
