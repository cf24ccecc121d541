"""Databases full of intents, loaded in bulk, and turns of natural word frequencies."""

from __future__ import annotations

import itertools
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, insert
from sqlalchemy.orm import sessionmaker

from intents import Identity, IntentService, Limits, OwnerPolicy, StandingIntent, Status, Turn, keys, metadata
from intents.index.base import encode_terms
from intents.models import intent_anchors
from intents.settings import Settings
from intents.triggers import anchor_candidates, choose_anchors, compile_trigger

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
START = datetime(2026, 7, 27, 12, tzinfo=UTC)
LIMITS = Limits(cooldown=timedelta(0))


@dataclass(frozen=True, slots=True)
class Row:
    """What differs between the intents of a workload."""

    keyword: str
    conversation: str | None = None
    agent: str = "main"
    status: Status = Status.ARMED
    rearm_at: datetime | None = None
    expires_at: datetime = START + timedelta(days=90)


def sqlite_engine(path: Path, module: Any = None) -> Engine:
    """An engine as hosts have it: a file, WAL, synchronous NORMAL."""
    engine = create_engine(f"sqlite:///{path}", **({"module": module} if module else {}))

    @event.listens_for(engine, "connect")
    def _as_hosts_have_it(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    metadata.create_all(engine)
    return engine


def service_of(engine: Engine, clock: Callable[[], datetime] = lambda: START, agent_id: str = "main") -> IntentService:
    """A service whose owner is `OWNER`."""
    return IntentService(
        sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), limits=LIMITS, clock=clock, agent_id=agent_id
    )


def fill(engine: Engine, rows: Iterable[Row], *, batch: int = 2000) -> int:
    """Insert rows as the library would have created them, anchors included; return how many."""
    usage: dict[str, Counter[str]] = {}
    count = 0
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, batch)):
        values = [
            _values(row, count + number, usage.setdefault(row.agent, Counter())) for number, row in enumerate(chunk)
        ]
        with engine.begin() as connection:
            connection.execute(insert(StandingIntent), values)
            if engine.dialect.name == "postgresql":
                _index(connection, count, len(values))
        count += len(values)
    return count


def _index(connection: Any, before: int, added: int) -> None:
    table = StandingIntent.__table__
    live = connection.execute(
        table.select()
        .with_only_columns(table.c.agent_id, table.c.scope, table.c.anchors, table.c.key)
        .order_by(table.c.key.desc())
        .limit(added)
    )
    connection.execute(
        insert(intent_anchors),
        [
            {"agent_id": row.agent_id, "scope": row.scope, "term": term, "intent_key": row.key}
            for row in live
            for term in row.anchors.split()
        ],
    )


@cache
def _settings() -> Settings:
    return Settings()


def _values(row: Row, number: int, usage: Counter[str]) -> dict[str, Any]:
    analyzer = _settings().analyzer
    compiled = compile_trigger([row.keyword], language="en", analyzer=analyzer)
    anchors = choose_anchors(compiled, {term: usage[term] for term in anchor_candidates(compiled)})
    usage.update(anchors)
    conversation = row.conversation
    channel = keys.channel_key(OWNER) if conversation is None else keys.conversation_key(OWNER, conversation)
    fired = row.status is Status.FIRED
    spent = row.status is Status.DONE
    return {
        "id": str(uuid.UUID(int=number + (hash(row.agent) & 0xFFFFFFFF) * 2**64, version=4)),
        "agent_id": row.agent,
        "description": f"Reminder {number}",
        "trigger_keywords": [row.keyword],
        "exclude_keywords": [],
        "language": "en",
        "within": None,
        "clauses": compiled.to_json(),
        "anchors": " ".join(encode_terms(row.agent, anchors)),
        "scope": keys.scope_term(row.agent, channel, None),
        "analyzer_version": _settings().analyzer_version("en"),
        "channel_scope": "channel" if conversation is None else "conversation",
        "channel_key": channel,
        "conversation_id": conversation,
        "sender_scope": "anyone",
        "sender_key": None,
        "sender_id": None,
        "creator_provider": "slack",
        "creator_account": "default",
        "creator_sender": "U1",
        "creator_conversation": None,
        "source_session_id": None,
        "source_turn_key": None,
        "fingerprint": f"{number:064x}",
        "status": row.status,
        "expires_at": row.expires_at,
        "max_fires": 1000 if not spent else 1,
        "fire_count": 1 if fired or spent else 0,
        "cooldown_seconds": 0.0,
        "last_fired_at": START if fired or spent else None,
        "rearm_at": row.rearm_at,
        "held_turn_key": None,
        "created_at": START,
        "updated_at": START,
        "version": 1,
    }


class Talk:
    """Turns of invented words whose frequencies follow Zipf's law, as those of natural text do."""

    def __init__(self, *, seed: int = 1, vocabulary: int = 20_000) -> None:
        self._chance = random.Random(seed)
        self._words = [
            f"{''.join(self._chance.choices('bdfgklmnprstv', k=3))}{number}ou" for number in range(vocabulary)
        ]
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(vocabulary)))

    def words(self, count: int) -> list[str]:
        """Draw words."""
        return self._chance.choices(self._words, cum_weights=self._weights, k=count)

    def turn(self, count: int, *, said: str = "", turn_id: str | None = None, identity: Identity = OWNER) -> Turn:
        """Draw a turn of `count` words that ends in what is said."""
        return Turn(text=" ".join([*self.words(count), said]), identity=identity, id=turn_id)

    def turns(self, count: int, words: int, prefix: str, said: Callable[[int], str] = lambda _: "") -> Iterator[Turn]:
        """Draw several turns with ids of their own."""
        for number in range(count):
            yield self.turn(words, said=said(number), turn_id=f"{prefix}{number}")
