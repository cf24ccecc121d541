"""What the library is compared with: the same query without the library, and other ways to find the same intents.

The queries are not written down here a second time: what a service sends while it matches a turn is recorded, and sent
again without it.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Engine, event

from benchmarks.loading import START
from intents import IntentService, Turn, keys
from intents.index import ScanIndex
from intents.repository.judging import TurnReading
from intents.text import Analyzer
from intents.triggers import analyse_turn

#: Above this many intents the other matchers and the scan are not asked.
PERCOLATORS_UP_TO: Final = 100_000
SCAN_UP_TO: Final = 1_000


@dataclass(frozen=True, slots=True)
class Sent:
    """One statement that reached the database.

    Attributes:
        sql: as the driver was given it.
        parameters: likewise.
        many: whether they are several sets of parameters.
        clause: the statement as SQLAlchemy was given it; None when it was given text.
        values: its parameters.
    """

    sql: str
    parameters: Any
    many: bool
    clause: Any
    values: Any

    def send(self, connection: Any) -> list[Any]:
        """Send it again on a bare connection, and read what it gives."""
        send = connection.executemany if self.many else connection.execute
        rows: list[Any] = send(self.sql, self.parameters).fetchall()
        return rows


@contextmanager
def recorded(engine: Engine) -> Iterator[list[Sent]]:
    """Collect the statements that an engine sends."""
    seen: list[Sent] = []
    above: list[tuple[Any, Any]] = []

    def given(_connection: Any, clause: Any, many: Any, one: Any, _options: Any) -> None:
        above.append((clause, many or one))

    def sent(_connection: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, many: bool) -> None:
        clause, values = above.pop() if above else (None, None)
        seen.append(Sent(sql, parameters, many, clause, values))

    event.listen(engine, "before_execute", given)
    event.listen(engine, "before_cursor_execute", sent)
    try:
        yield seen
    finally:
        event.remove(engine, "before_execute", given)
        event.remove(engine, "before_cursor_execute", sent)


class Replay:
    """The statements of turns that fire nothing, sent again with everything prepared.

    Args:
        service: matches each turn once, to record it.
        engine: the service's engine.
        turns: turns that fire nothing.
        module: the driver.
        path: the database.
    """

    def __init__(self, service: IntentService, engine: Engine, turns: Sequence[Turn], module: Any, path: Path) -> None:
        self._all: list[list[Sent]] = []
        for turn in turns:
            with recorded(engine) as seen:
                if service.match(turn):
                    raise AssertionError("a turn that fires cannot be sent again")
            self._all.append(seen)
        self._queries = [[each for each in seen if " MATCH " in each.sql] for seen in self._all]
        if not all(self._queries):
            raise AssertionError("no prefilter query was seen among the statements of a turn")
        self._bare = module.connect(path)
        self._core = engine.connect()

    @property
    def statements(self) -> int:
        """How many statements the longest of the turns takes."""
        return max(map(len, self._all))

    def query(self, number: int) -> list[list[Any]]:
        """Send the prefilter's query on a bare connection."""
        return [each.send(self._bare) for each in self._queries[number]]

    def everything(self, number: int) -> list[list[Any]]:
        """Send all statements of the turn on a bare connection."""
        return [each.send(self._bare) for each in self._all[number]]

    def core(self, number: int) -> list[list[Any]]:
        """Send the prefilter's query through SQLAlchemy Core."""
        rows: list[list[Any]] = []
        for each in self._queries[number]:
            if each.clause is None:
                rows.append(list(self._core.exec_driver_sql(each.sql, each.parameters)))
            else:
                rows.append(list(self._core.execute(each.clause, each.values)))
        self._core.rollback()
        return rows

    def close(self) -> None:
        """Let go of the database."""
        self._bare.close()
        self._core.close()


class BareFire:
    """The least that a fire writes, as one transaction on a bare connection: the floor under a turn that fires."""

    def __init__(self, module: Any, path: Path) -> None:
        self._connection = module.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._count = itertools.count()
        self._run = id(self)
        row = self._connection.execute("SELECT max(key) FROM standing_intents").fetchone()
        self._key = row[0]
        self._now = START.strftime("%Y-%m-%d %H:%M:%S.%f")

    def __call__(self, _number: int) -> None:
        """Write a turn, a firing and a line of the log, and touch the intent."""
        execute, key, now = self._connection.execute, self._key, self._now
        execute("BEGIN IMMEDIATE")
        turn = execute(
            "INSERT INTO standing_intent_turns (agent_id, turn_key, turn_id, delivery, context, matched_at)"
            " VALUES ('main', ?, 'x', 'delivered', 'context', ?)",
            (f"{self._run}-{next(self._count)}", now),
        ).lastrowid
        execute("UPDATE standing_intents SET updated_at = ?, version = version + 1 WHERE key = ?", (now, key))
        execute(
            "INSERT INTO standing_intent_firings (turn_key, intent_key, entry, fired_at) VALUES (?, ?, 'entry', ?)",
            (turn, key, now),
        )
        execute(
            "INSERT INTO standing_intent_events (agent_id, intent_key, event, from_status, to_status, at, actor)"
            " VALUES ('main', ?, 'fire', 'armed', 'fired', ?, 'turn')",
            (key, now),
        )
        execute("COMMIT")

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()


Terms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """An intent as the other matchers are given it: entries of clauses of terms; any term of a clause will do."""

    key: int
    scope: str
    entries: tuple[tuple[Terms, ...], ...]
    anchors: Terms


def stored_intents(path: Path, agent: str = "main") -> Iterator[Stored]:
    """Read the live intents of an agent; those of the workloads have free words only."""
    same: dict[Terms, Terms] = {}
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT key, scope, clauses, anchors FROM standing_intents"
        " WHERE agent_id = ? AND status IN ('armed', 'fired') ORDER BY key",
        [agent],
    )
    for key, scope, clauses, anchors in rows:
        entries = []
        for _keyword, parts in json.loads(clauses)["entries"]:
            terms = [tuple(part[1]) for (part,), _joins in parts]
            entries.append(tuple(same.setdefault(each, each) for each in terms))
        plain = tuple(bytes.fromhex(anchor[11:]).decode() for anchor in anchors.split())
        yield Stored(key, scope, tuple(entries), plain)
    connection.close()


class Matcher(Protocol):
    """Finds the intents that a turn completes, by key, oldest first; knows no cooldown and no budget."""

    def keys(self, turn: Turn) -> list[int]:
        """Return the keys, oldest first."""


class Dictionary:
    """Intents in a dictionary by their rarest terms: about the least that Python can do, without any database."""

    def __init__(self, intents: Iterable[Stored], analyzer: Analyzer, agent: str = "main") -> None:
        self._analyzer, self._agent = analyzer, agent
        self._by_scope: dict[str, dict[str, list[Stored]]] = defaultdict(lambda: defaultdict(list))
        for each in intents:
            for anchor in each.anchors:
                self._by_scope[each.scope][anchor].append(each)

    def keys(self, turn: Turn) -> list[int]:
        """Return the keys of the intents that the turn completes."""
        terms = analyse_turn(turn.text, self._analyzer).terms
        found: set[int] = set()
        for scope in keys.scopes_of(self._agent, turn):
            postings = self._by_scope.get(scope)
            for term in terms if postings else ():
                for each in postings.get(term, ()) if postings else ():
                    if any(not any(terms.isdisjoint(clause) for clause in entry) for entry in each.entries):
                        found.add(each.key)
        return sorted(found)


class Perq:
    """The percolator ``perq`` from PyPI, in memory; it is told nothing of scopes."""

    def __init__(self, intents: Iterable[Stored], analyzer: Analyzer) -> None:
        perq = importlib.import_module("perq")
        store = perq.MemoryStore()
        queries = (perq.Query(f"{each.key}/{at}", entry) for each in intents for at, entry in enumerate(each.entries))
        perq.index(queries, store)
        self._matcher, self._document, self._analyzer = perq.QueryMatcher(store), perq.Document, analyzer

    def keys(self, turn: Turn) -> list[int]:
        """Return the keys of the intents that the turn completes."""
        document = self._document(analyse_turn(turn.text, self._analyzer).terms)
        return sorted({int(each.partition("/")[0]) for each in self._matcher.matches(document)})


class Mokaccino:
    """The percolator ``mokaccino`` from PyPI, in memory; it is told nothing of scopes."""

    def __init__(self, intents: Iterable[Stored], analyzer: Analyzer) -> None:
        module = importlib.import_module("mokaccino")
        query = module.Query
        self._percolator, self._document, self._analyzer = module.Percolator(), module.Document, analyzer
        for each in intents:
            entries = [
                query.from_and([query.from_or([query.from_kv("t", term) for term in clause]) for clause in entry])
                for entry in each.entries
            ]
            self._percolator.add_query_id(query.from_or(entries), each.key)

    def keys(self, turn: Turn) -> list[int]:
        """Return the keys of the intents that the turn completes."""
        document = self._document()
        for term in analyse_turn(turn.text, self._analyzer).terms:
            document.add_value("t", term)
        return sorted(self._percolator.percolate_list(document))


class Scan:
    """The library without an index: every row of the scope is read and decided."""

    def __init__(self, service: IntentService, engine: Engine, size: int) -> None:
        self._settings, self._limit = service.settings, size + 1
        self._connection = engine.connect()

    def keys(self, turn: Turn) -> list[int]:
        """Return the keys of the intents that the turn completes and that could fire now."""
        reading = TurnReading(turn, self._settings)
        candidates = ScanIndex().candidates(
            self._connection,
            agent_id=self._settings.agent_id,
            terms=reading.text.terms,
            scopes=reading.scopes,
            now=self._settings.now(),
            limit=self._limit,
        )
        self._connection.rollback()
        return [row.key for row in candidates if reading.decide(row).fires]

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()


PERCOLATORS: Final[dict[str, Callable[[Iterable[Stored], Analyzer], Matcher]]] = {"perq": Perq, "mokaccino": Mokaccino}


def percolator_versions() -> dict[str, str | None]:
    """The versions of the percolators by name; None for one that is not installed."""
    return {
        name: metadata.version(name) if build is not None else None for name, build in installed_percolators().items()
    }


def installed_percolators() -> dict[str, Callable[[Iterable[Stored], Analyzer], Matcher] | None]:
    """The percolators by name; None for one that is not installed."""
    found: dict[str, Callable[[Iterable[Stored], Analyzer], Matcher] | None] = {}
    for name, build in PERCOLATORS.items():
        try:
            importlib.import_module(name)
        except ImportError:
            found[name] = None
        else:
            found[name] = build
    return found
