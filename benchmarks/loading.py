"""SQLite files full of intents, each row as the library would have created it.

Creating a million intents one by one takes long, so the rows of a family, which differ in one number only, are written
from a pattern. The first rows of a family and some of the others are made the long way, through the library's own
functions; the run ends if a row from the pattern differs. ``tests/benchmarks`` holds them against created rows.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, create_engine, event, text
from sqlalchemy.dialects import sqlite

from intents import Identity, IntentCreate, Limits, StandingIntent, Status, keys, metadata
from intents.index.base import encode_terms
from intents.index.sqlite import SqliteIndex
from intents.lifecycle import LIVE, sql_list
from intents.policy import actor_name
from intents.repository.work import BATCH
from intents.settings import Settings
from intents.triggers import anchor_candidates, canonical_keywords, choose_anchors, compile_trigger

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
START = datetime(2026, 7, 27, 12, tzinfo=UTC)
LIFETIME = timedelta(days=90)
MAX_FIRES = 1000
SETTINGS = Settings(limits=Limits(cooldown=timedelta(0), expires_after=LIFETIME))

#: Stands for the number in patterns. No date and no digest of a pattern holds it.
_MARK = 736451982
_HEX_MARK = str(_MARK).encode().hex()
_HEX = "\x1e"
_CUT = "\x1f"
#: Every so many rows, one is made the long way too.
_CHECKED_EVERY = 50_000
#: How often an anchor is counted; more make no difference to the library.
_USAGE_BOUND = 1000


@dataclass(frozen=True, slots=True)
class Family:
    """Intents that differ in one number.

    Attributes:
        keyword: the trigger keyword; ``{n}`` stands for the number.
        conversation: the conversation that it listens to, ``{n}`` again; the whole channel when None.
        settles: after how many rows of an agent the choice of anchors no longer changes.
    """

    keyword: str
    conversation: str | None = None
    settles: int = 16

    def draft(self, number: int) -> IntentCreate:
        """Return what an owner would ask for."""
        where: dict[str, Any] = {}
        if self.conversation is not None:
            where = {"channel_scope": "conversation", "conversation_id": self.conversation.format(n=number)}
        return IntentCreate(
            description=f"Reminder {number}",
            trigger_keywords=[self.keyword.format(n=number)],
            sender_scope="anyone",
            max_fires=MAX_FIRES,
            **where,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows: these numbers of a family, for one agent."""

    family: Family
    numbers: range
    agent: str = "main"


def sqlite_engine(path: Path, module: Any = None) -> Engine:
    """An engine as hosts have it: a file, WAL, synchronous NORMAL."""
    engine = create_engine(f"sqlite:///{path}", **({"module": module} if module else {}))

    @event.listens_for(engine, "connect")
    def _as_hosts_have_it(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    metadata.create_all(engine)
    return engine


def fill(path: Path, blocks: Iterable[Block]) -> int:
    """Write intents, their log and the index into a new file; return how many.

    The triggers are away meanwhile and the indexes are made at the end, by their own statements. What they hold
    afterwards is the same, and the full-text index is merged as after each call of `create_many`.
    """
    sqlite_engine(path).dispose()
    with _bulk_connection(path) as connection:
        made = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('trigger', 'index')"
        ).fetchall()
        connection.execute("BEGIN")
        for kind, name, _ in made:
            connection.execute(f"DROP {kind} {name}")
        chance = random.Random(1)
        usage: dict[str, Counter[str]] = {}
        for block in blocks:
            pattern = _Pattern(block.family, block.agent, usage.setdefault(block.agent, Counter()), chance)
            connection.executemany(insert_statement(), pattern.rows(block.numbers))
        for statement in log_statements():
            connection.execute(statement, [actor_name(OWNER), 0])
        for _, _, sql in made:
            connection.execute(sql)
        count: int = connection.execute("SELECT count(*) FROM standing_intents").fetchone()[0]
        connection.execute("COMMIT")
    _fill_index(path, count)
    return count


def _fill_index(path: Path, count: int) -> None:
    engine = sqlite_engine(path)
    rows = text(
        "INSERT INTO standing_intents_fts (rowid, anchors, scope) SELECT key, anchors, scope FROM standing_intents"
        f" WHERE key > :after AND key <= :last AND status IN ({sql_list(LIVE)})"
    )
    for after in range(0, count, BATCH):
        last = min(count, after + BATCH)
        with engine.begin() as connection:
            connection.execute(rows, {"after": after, "last": last})
            SqliteIndex().tidy(connection, moved=last - after)
    engine.dispose()


def insert_statement() -> str:
    """Return the SQL that inserts one intent; its parameters are those of `raw_rows`."""
    columns = [column.name for column in _table().columns if column.name != "key"]
    return f"INSERT INTO {_table().name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def log_statements() -> tuple[str, str]:
    """Return the SQL that logs the creation and the arming of all intents above a key: parameters actor and key."""
    into = "INSERT INTO standing_intent_events (agent_id, intent_key, event, from_status, to_status, at, actor)"
    steps = ("'create', NULL, 'pending'", "'arm', 'pending', 'armed'")
    first, second = (
        f"{into} SELECT agent_id, key, {step}, created_at, ? FROM standing_intents WHERE key > ? ORDER BY key"
        for step in steps
    )
    return first, second


def raw_rows(family: Family, numbers: range) -> list[tuple[Any, ...]]:
    """Make rows as parameters of the insert, anchored as in a database that has many of the family."""
    usage: Counter[str] = Counter()
    pattern = _Pattern(family, "main", usage, random.Random(numbers.start + 2))
    for number in range(family.settles):
        pattern.exact(number)
    return list(pattern.rows(numbers))


def fire_rows(path: Path, *, every: int, rearm_at: datetime, up_to: int | None = None) -> None:
    """Let each so-manieth row, up to a key, have fired once at the start, and cool down until then."""
    moment, until = _raw({"created_at": START, "rearm_at": rearm_at}).values()
    with _bulk_connection(path) as connection:
        connection.execute(
            "UPDATE standing_intents SET status = 'fired', fire_count = 1, last_fired_at = ?, rearm_at = ?,"
            " cooldown_seconds = ?, updated_at = ?, version = version + 1"
            " WHERE key % ? = 0 AND (? IS NULL OR key <= ?)",
            [moment, until, (rearm_at - START).total_seconds(), moment, every, up_to, up_to],
        )


def expire_rows(path: Path, *, up_to: int, at: datetime) -> None:
    """Let the oldest rows, up to a key, expire at a moment; a sweep has yet to write it down."""
    (moment,) = _raw({"expires_at": at}).values()
    with _bulk_connection(path) as connection:
        connection.execute("UPDATE standing_intents SET expires_at = ? WHERE key <= ?", [moment, up_to])


class _bulk_connection:  # noqa: N801 - used like a function
    """A connection that gives up safety for speed, and leaves the file as hosts have it."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> sqlite3.Connection:
        # What is written is right: tests hold it against rows that met every constraint.
        unsafe = ("journal_mode = OFF", "synchronous = OFF", "ignore_check_constraints = ON")
        for setting in (*unsafe, "cache_size = -1000000", "temp_store = MEMORY"):
            self._connection.execute(f"PRAGMA {setting}")
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.close()


def _table() -> Table:
    table = StandingIntent.__table__
    assert isinstance(table, Table)
    return table


def _raw(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn values of columns into what the driver is given for them."""
    processors = _processors()
    return {name: processors[name](value) for name, value in values.items()}


@cache
def _processors() -> dict[str, Callable[[Any], Any]]:
    dialect = sqlite.dialect()
    return {
        column.name: column.type.dialect_impl(dialect).bind_processor(dialect) or (lambda value: value)
        for column in _table().columns
    }


class _Pattern:
    """The rows of one family of one agent."""

    def __init__(self, family: Family, agent: str, usage: Counter[str], chance: random.Random) -> None:
        self._family, self._agent, self._usage, self._chance = family, agent, usage, chance

    def rows(self, numbers: range) -> Iterator[tuple[Any, ...]]:
        """Make the rows of these numbers, as parameters of the insert."""
        for place, number in enumerate(numbers):
            if place < self._family.settles:
                yield tuple(self.exact(number).values())
                continue
            row = self._fast(number)
            if place == self._family.settles or place % _CHECKED_EVERY == 0:
                exact = {**self.exact(number), "id": row[0]}
                if tuple(exact.values()) != row:
                    raise AssertionError(f"a row from the pattern is not what the library makes: {row} != {exact}")
            yield row

    def exact(self, number: int) -> dict[str, Any]:
        """Make one row by the library's functions and count its anchors."""
        values = self._values(number)
        return _raw(values)

    def _id(self) -> str:
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))

    def _channel(self, number: int) -> tuple[str, str | None]:
        if self._family.conversation is None:
            return keys.channel_key(OWNER), None
        conversation = self._family.conversation.format(n=number)
        return keys.conversation_key(OWNER, conversation), conversation

    def _identity(self, number: int) -> list[Any]:
        channel, conversation = self._channel(number)
        keyword = self._family.keyword.format(n=number)
        return [
            self._agent,
            ["channel" if conversation is None else "conversation", channel],
            ["anyone", None],
            [OWNER.provider, OWNER.account_id, OWNER.sender_id],
            f"Reminder {number}",
            canonical_keywords([keyword], SETTINGS.analyzer),
            [],
            "en",
            None,
        ]

    def _values(self, number: int, *, counted: bool = True) -> dict[str, Any]:
        draft = self._family.draft(number)
        channel, conversation = self._channel(number)
        compiled = compile_trigger(draft.trigger_keywords, language="en", analyzer=SETTINGS.analyzer)
        usage = {term: min(self._usage[term], _USAGE_BOUND) for term in anchor_candidates(compiled)}
        anchors = choose_anchors(compiled, usage)
        if counted:
            self._usage.update(anchors)
        return {
            "id": self._id(),
            "agent_id": self._agent,
            "description": draft.description,
            "trigger_keywords": draft.trigger_keywords,
            "exclude_keywords": [],
            "language": "en",
            "within": None,
            "clauses": compiled.to_json(),
            "anchors": " ".join(encode_terms(self._agent, anchors)),
            "scope": keys.scope_term(self._agent, channel, None),
            "analyzer_version": SETTINGS.analyzer_version("en"),
            "channel_scope": draft.channel_scope,
            "channel_key": channel,
            "conversation_id": conversation,
            "sender_scope": "anyone",
            "sender_key": None,
            "sender_id": None,
            "creator_provider": OWNER.provider,
            "creator_account": OWNER.account_id,
            "creator_sender": OWNER.sender_id,
            "creator_conversation": OWNER.conversation_id,
            "source_session_id": None,
            "source_turn_key": None,
            "fingerprint": keys.digest(self._identity(number)),
            "status": Status.ARMED,
            "expires_at": START + LIFETIME,
            "max_fires": draft.max_fires,
            "fire_count": 0,
            "cooldown_seconds": SETTINGS.limits.cooldown.total_seconds(),
            "last_fired_at": None,
            "rearm_at": None,
            "held_turn_key": None,
            "created_at": START,
            "updated_at": START,
            "version": 1,
        }

    @cached_property
    def _marked(self) -> tuple[list[Any], list[int], str, int, str, int | None, str]:
        """The row of the mark, cut up: values, places of the texts that hold it, these joined, and the two digests."""
        raw = _raw(self._values(_MARK, counted=False))
        names = list(raw)
        raw["anchors"] = raw["anchors"].replace(_HEX_MARK, _HEX)
        values = list(raw.values())
        mark = str(_MARK)
        texts = [at for at, value in enumerate(values) if isinstance(value, str) and (mark in value or _HEX in value)]
        scope = keys.canonical([self._agent, self._channel(_MARK)[0], None])
        return (
            values,
            texts,
            _CUT.join(values[at] for at in texts),
            names.index("fingerprint"),
            keys.canonical(self._identity(_MARK)),
            names.index("scope") if mark in scope else None,
            scope,
        )

    def _fast(self, number: int) -> tuple[Any, ...]:
        values, texts, joined, fingerprint, identity, scope, scope_parts = self._marked
        row = values.copy()
        mark, digits = str(_MARK), str(number)
        filled = joined.replace(mark, digits).replace(_HEX, digits.encode().hex()).split(_CUT)
        for at, value in zip(texts, filled, strict=True):
            row[at] = value
        row[0] = self._id()
        row[fingerprint] = _digest(identity.replace(mark, digits))
        if scope is not None:
            row[scope] = _digest(scope_parts.replace(mark, digits))
        return tuple(row)


def _digest(canonical: str) -> str:
    return hashlib.blake2b(canonical.encode(), digest_size=32).hexdigest()
