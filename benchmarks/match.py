"""What a turn costs: ``python -m benchmarks.match [--sizes 10,1000] [--newer-sqlite] [--json FILE]``.

For each number of intents and each length of turn: a turn that fires nothing, the same prefilter query on a bare
``sqlite3`` connection with the terms already analysed, and a turn that fires one intent, commit included.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from benchmarks.loading import START, Row, Talk, fill, service_of, sqlite_engine
from benchmarks.measuring import interleaved, table
from intents import Turn, keys
from intents.index.base import encode_terms
from intents.index.sqlite import TERMS_PER_QUERY, candidates_statement
from intents.triggers import analyse_turn

SIZES = (10, 1_000, 10_000, 100_000)
WORDS = (30, 200)


def bare_query(engine: Engine, module: Any, path: Path, turns: list[Turn], analyzer: Any) -> Callable[[int], object]:
    """The prefilter's own SQL on a bare connection, for the same turns, analysed and written beforehand."""
    compiled = candidates_statement().compile(engine)
    connection = module.connect(path)
    prepared: list[list[tuple[str, list[Any]]]] = []
    for turn in turns:
        terms = encode_terms("main", analyse_turn(turn.text, analyzer).terms)
        scopes = " OR ".join(sorted(keys.scopes_of("main", turn)))
        prepared.append([])
        for start in range(0, len(terms), TERMS_PER_QUERY):
            query = f"scope : ({scopes}) AND anchors : ({' OR '.join(terms[start : start + TERMS_PER_QUERY])})"
            values = {"query": query, "agent_id": "main", "now": START, "most": 257}
            prepared[-1].append(_rendered(engine, compiled, values))

    def run(number: int) -> object:
        return [connection.execute(sql, values).fetchall() for sql, values in prepared[number]]

    return run


def _rendered(engine: Engine, compiled: Any, values: dict[str, Any]) -> tuple[str, list[Any]]:
    seen: list[tuple[str, list[Any]]] = []
    with engine.connect() as connection:
        result = connection.execute(candidates_statement(), values)
        context = result.context
        seen.append((context.statement, list(context.parameters[0])))
        result.close()
    return seen[0]


class Bench:
    """One database of a size, with the calls to time on it."""

    def __init__(self, folder: Path, size: int, words: int, *, rounds: int, module: Any) -> None:
        path = folder / f"{size}-{words}.db"
        source = folder / f"{size}.db"
        if not source.exists():
            engine = sqlite_engine(source, None if module is sqlite3 else module)
            fill(engine, (Row(keyword=f"deployment topic{number}ou") for number in range(size)))
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            engine.dispose()
        shutil.copyfile(source, path)
        self.size, self.words = size, words
        self.engine = sqlite_engine(path, None if module is sqlite3 else module)
        self._service = service_of(self.engine)
        talk = Talk(seed=size + words)
        self._misses = list(talk.turns(rounds, words, "miss"))
        self._hits = list(talk.turns(rounds, words, "hit", lambda number: f"deployment of topic{number % size}ou"))
        self.bare = bare_query(self.engine, module, path, self._misses, self._service.settings.analyzer)

    def miss(self, number: int) -> None:
        """Send a turn that fires nothing."""
        if self._service.match(self._misses[number]):
            raise AssertionError("a turn without a trigger fired")

    def hit(self, number: int) -> None:
        """Send a turn that fires one intent, commit included."""
        if len(self._service.match(self._hits[number])) != 1:
            raise AssertionError("a turn with one trigger did not fire it")


def measure(sizes: Sequence[int], words: int, *, module: Any = sqlite3, repeats: int = 200) -> list[dict[str, Any]]:
    """Time the calls at all sizes in turns, so that the sizes meet the same noise; microseconds."""
    warm_up = 5
    with tempfile.TemporaryDirectory() as folder:
        benches = [Bench(Path(folder), size, words, rounds=repeats + warm_up, module=module) for size in sizes]
        calls = [call for bench in benches for call in (bench.miss, bench.bare, bench.hit)]
        timings = iter(interleaved(calls, repeats, warm_up=warm_up))
        results = []
        for bench in benches:
            figures = {name: asdict(next(timings)) for name in ("no hit", "bare sqlite3", "one hit")}
            results.append({"intents": bench.size, "words": words, **figures})
            bench.engine.dispose()
    return results


def report(results: list[dict[str, Any]]) -> str:
    """Write the figures as a table, with the ratios that matter."""
    first = {result["words"]: result for result in reversed(results)}
    header = [
        "intents",
        "words",
        "no hit p50 µs",
        "p95",
        "bare p50",
        "× bare",
        "× smallest",
        "one hit p50",
        "p95",
        "× smallest",
    ]
    rows = []
    for r in results:
        smallest = first[r["words"]]
        rows.append(
            [
                f"{r['intents']:,}",
                r["words"],
                r["no hit"]["p50"],
                r["no hit"]["p95"],
                r["bare sqlite3"]["p50"],
                r["no hit"]["p50"] / r["bare sqlite3"]["p50"],
                r["no hit"]["p50"] / smallest["no hit"]["p50"],
                r["one hit"]["p50"],
                r["one hit"]["p95"],
                r["one hit"]["p50"] / smallest["one hit"]["p50"],
            ]
        )
    return table(header, rows)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.match", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of intents, comma separated")
    parser.add_argument("--words", default=",".join(map(str, WORDS)), help="words of a turn, comma separated")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--newer-sqlite", action="store_true", help="use pysqlite3 instead of the system's SQLite")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    module: Any = importlib.import_module("pysqlite3") if options.newer_sqlite else sqlite3
    sizes, lengths = ([int(part) for part in text.split(",")] for text in (options.sizes, options.words))
    print(
        f"Python {platform.python_version()}, SQLite {module.sqlite_version}, {options.repeats} rounds", file=sys.stderr
    )
    results = []
    for words in lengths:
        print(f"{words} words …", file=sys.stderr)
        results += measure(sizes, words, module=module, repeats=options.repeats)
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
