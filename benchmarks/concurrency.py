"""How many turns a second several processes get through one database: ``python -m benchmarks concurrency``.

Writers share one SQLite file (WAL) or one PostgreSQL server; of each hundred turns 0, 1 or 10 fire an intent. The
baseline of each row is one writer on the same database with the same rate.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine

from benchmarks.loading import OWNER, sqlite_engine
from benchmarks.match import numbers
from benchmarks.measuring import Steps, Timing
from benchmarks.report import Section, Table
from benchmarks.workloads import SHARED, Shelf, Talk, own, service_of
from intents import metadata

NAME: Final = "concurrency"
WRITERS: Final = (1, 2, 4, 8)
RATES: Final = (0, 1, 10)
INTENTS: Final = 1_000
#: Turns that a process makes beforehand and sends over and over.
TURNS: Final = 500


def _work(url: str, load: tuple[int, int, float], ready: Any, start: Any, results: Any) -> None:
    number, rate, seconds = load
    engine = sqlite_engine(Path(url.removeprefix("sqlite:///"))) if url.startswith("sqlite") else create_engine(url)
    service = service_of(engine)
    talk = Talk(seed=number)
    shared = INTENTS - own(INTENTS)
    turns = [
        talk.turn(30, said=SHARED.keyword.format(n=(number * 131 + each) % shared) if each % 100 < rate else "")
        for each in range(TURNS)
    ]
    service.match(turns[-1])
    ready.release()
    start.wait()
    fired = skipped = 0
    durations: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # Each process begins elsewhere, or all would fire at the same moment.
        turn = turns[(len(durations) + number * 37) % TURNS]
        began = time.perf_counter()
        matches = service.match(turn)
        durations.append(time.perf_counter() - began)
        fired += len(matches)
        skipped += matches.skipped is not None
    engine.dispose()
    results.put((durations, fired, skipped))


def run(url: str, writers: int, rate: int, seconds: float) -> dict[str, Any]:
    """Run the writers for some seconds; return turns and fires a second, durations and how many turns were skipped."""
    context = multiprocessing.get_context("spawn")
    ready, start, results = context.Semaphore(0), context.Event(), context.Queue()
    workers = [
        context.Process(target=_work, args=(url, (number, rate, seconds), ready, start, results))
        for number in range(writers)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    start.set()
    figures = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    durations = [each for taken, _, _ in figures for each in taken]
    return {
        "writers": writers,
        "rate": rate,
        "turns": len(durations) / seconds,
        "fires": sum(fired for _, fired, _ in figures) / seconds,
        "skipped": sum(skipped for _, _, skipped in figures),
        **asdict(Timing.of(durations)),
    }


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("--postgresql", help="URL of an empty PostgreSQL database; SQLite only when left out")
    parser.add_argument("--seconds", type=float, help="length of each run")
    parser.add_argument("--writers", type=numbers, help="numbers of processes, comma separated")
    parser.add_argument("--rates", type=numbers, help="of a hundred turns so many fire, comma separated")


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Count turns a second by writers and by how many turns fire."""
    seconds = chosen.seconds or (0.5 if chosen.quick else 3.0)
    writers = chosen.writers or ((1, 2) if chosen.quick else WRITERS)
    rates = chosen.rates or RATES
    path = shelf.copy("mixed", INTENTS)
    databases = {"SQLite": f"sqlite:///{path}"}
    if chosen.postgresql:
        databases["PostgreSQL"] = chosen.postgresql
        _create_on(chosen.postgresql)
    results: list[dict[str, Any]] = []
    runs = [(name, rate, count) for name in databases for rate in rates for count in writers]
    alone: dict[tuple[str, int], float] = {}
    for name, rate, count in steps.over(runs, "concurrency"):
        figures = run(databases[name], count, rate, seconds)
        one = alone.setdefault((name, rate), figures["turns"])
        results.append({"database": name, **figures, "ratio": figures["turns"] / one})
    shelf.remove(path)
    return {"results": results, "seconds_each": seconds, "intents": INTENTS}


def _create_on(url: str) -> None:
    engine = create_engine(url)
    metadata.create_all(engine)
    service = service_of(engine)
    for number in range(INTENTS):
        service.create(SHARED.draft(number), by=OWNER)
    engine.dispose()


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on concurrency."""
    header = ["", "fires of 100", "writers", "turns/s", "× one writer", "fires/s", "p50 ms", "p95 ms", "skipped"]
    rows = [
        [
            r["database"],
            r["rate"],
            r["writers"],
            r["turns"],
            r["ratio"],
            r["fires"],
            r["p50"] / 1000,
            r["p95"] / 1000,
            r["skipped"],
        ]
        for r in figures["results"]
    ]
    text = (
        f"Processes that match turns of 30 words in one database of {figures['intents']:,} intents; of each hundred "
        "turns none, one or ten fire. The baseline is one process with the same rate. A skipped turn met a lock for "
        "longer than it may wait, and spent nothing."
    )
    return Section("Several processes", text, [Table("Several processes", header, rows)])


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
