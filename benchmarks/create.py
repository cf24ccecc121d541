"""What creating intents costs: ``python -m benchmarks create [--sizes 10,1000] [--quick]``.

One by one and many in one call, on a WAL file that holds some intents already. The baseline writes the same rows, their
log and, through the triggers, their index on a bare ``sqlite3`` connection, with the rows made beforehand; one commit
each, or one for all.
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.loading import OWNER, insert_statement, log_statements, raw_rows
from benchmarks.match import numbers
from benchmarks.measuring import Steps, interleaved
from benchmarks.report import Goal, Section, Table
from benchmarks.workloads import SHARED, Shelf, open_copy, service_of
from intents.policy import actor_name

NAME: Final = "create"
SIZES: Final = (10, 1_000, 100_000)
ROUNDS: Final = 150
BATCH: Final = 1_000
BATCHES: Final = 9
ONE_BY_ONE, MANY = "one by one", "many in one call"


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("--sizes", type=numbers, help="intents that are there already, comma separated")
    parser.add_argument("--rounds", type=int, help="intents created one by one")


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Time the calls; microseconds for each intent."""
    sizes = chosen.sizes or ((10, 1_000) if chosen.quick else SIZES)
    rounds = chosen.rounds or (15 if chosen.quick else ROUNDS)
    batch, batches = (100, 2) if chosen.quick else (BATCH, BATCHES)
    results: list[dict[str, Any]] = []
    for how, count, each in ((ONE_BY_ONE, rounds, 1), (MANY, batches, batch)):
        calls: list[tuple[dict[str, Any], Callable[[int], object]]] = []
        closing: list[Callable[[], object]] = []
        for size in sizes:
            for name, make in (("service", _service), ("bare sqlite3", _bare)):
                call, close = make(shelf, size, each, count + 6)
                closing.append(close)
                calls.append(({"how": how, "there": size, "call": name, "batch": each, "rounds": count}, call))
        timings = interleaved([call for _, call in calls], count, warm_up=3, steps=steps, label=f"create {how}")
        for close in closing:
            close()
        for (facts, _), timing in zip(calls, timings, strict=True):
            results.append({**facts, **{name: value / each for name, value in asdict(timing).items()}})
    return {"results": results, "sizes": list(sizes), "batch": batch}


def _service(shelf: Shelf, size: int, each: int, _most: int) -> tuple[Callable[[int], object], Callable[[], object]]:
    path, engine = open_copy(shelf, "mixed", size)
    service = service_of(engine)
    drafts = map(SHARED.draft, itertools.count(size))

    def close() -> None:
        engine.dispose()
        shelf.remove(path)

    if each == 1:
        return (lambda _: service.create(next(drafts), by=OWNER)), close
    return (lambda _: service.create_many(list(itertools.islice(drafts, each)), by=OWNER)), close


def _bare(shelf: Shelf, size: int, each: int, most: int) -> tuple[Callable[[int], object], Callable[[], object]]:
    path: Path = shelf.copy("mixed", size)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    rows = iter(raw_rows(SHARED, range(size, size + each * most)))
    insert, log = insert_statement(), log_statements()

    def run(_number: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        last = connection.execute("SELECT max(key) FROM standing_intents").fetchone()[0]
        connection.executemany(insert, itertools.islice(rows, each))
        for statement in log:
            connection.execute(statement, (actor_name(OWNER), last))
        connection.execute("COMMIT")

    def close() -> None:
        connection.close()
        shelf.remove(path)

    return run, close


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on creation."""
    found = {(r["how"], r["there"], r["call"]): r for r in figures["results"]}
    rows = []
    for how in (ONE_BY_ONE, MANY):
        for size in figures["sizes"]:
            service, bare = found[how, size, "service"], found[how, size, "bare sqlite3"]
            label = how if how == ONE_BY_ONE else f"{figures['batch']:,} in one call"
            times = [each[name] for each in (service, bare) for name in ("p50", "p95")]
            rows.append([label, size, 1e6 / service["mean"], *times, service["p50"] / bare["p50"]])
    header = ["", "intents there", "intents/s", "p50 µs", "p95 µs", "bare p50", "bare p95", "× bare"]
    text = (
        "Created by `create` and `create_many` on a file in WAL mode, one commit for each call. All times are for one "
        "intent. *Bare* inserts the same rows and log lines, made beforehand, on a plain `sqlite3` connection."
    )
    return Section("Creating intents", text, [Table("Creating intents", header, rows)], goals=list(_goals(found)))


def _goals(found: Mapping[tuple[str, int, str], Any]) -> Iterator[Goal]:
    for how, least in ((ONE_BY_ONE, 1_000), (MANY, 10_000)):
        rates = {size: 1e6 / r["mean"] for (of, size, call), r in found.items() if of == how and call == "service"}
        what = "one by one" if how == ONE_BY_ONE else "in `create_many`"
        text = f"at least {least:,} intents a second {what}"
        size = min(rates, key=lambda each: rates[each])
        bare = 1e6 / found[how, size, "bare sqlite3"]["mean"]
        yield Goal(text, rates[size] >= least, f"at least {rates[size]:,.0f}/s ({size:,} there; bare {bare:,.0f}/s)")


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
