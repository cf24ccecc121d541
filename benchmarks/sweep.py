"""What a sweep costs when many rows fall due at once: ``python -m benchmarks sweep [--due 50000] [--quick]``.

Two ways of falling due: expiries and ended cooldowns. The baseline sends the very same statements of each batch on a
bare ``sqlite3`` connection, to an identical file, batch by batch in turns. A second process matches turns meanwhile;
its longest wait stands beside that of the same process without a sweep.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.baselines import Sent, recorded
from benchmarks.loading import START, Block, expire_rows, fill, fire_rows, sqlite_engine
from benchmarks.measuring import Steps, Timing, now
from benchmarks.report import Goal, Section, Table
from benchmarks.workloads import SHARED, Shelf, Talk, service_of

NAME: Final = "sweep"
DUE: Final = 50_000
LIMITS: Final = (1_000, 5_000)
OTHERS: Final = 1_000
LATER: Final = START + timedelta(hours=2)
#: Seconds between two batches, as the command ``intents sweep`` leaves them to others.
PAUSE: Final = 0.1
GOAL: Final = 50_000


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("--due", type=int, help="rows that fall due at once")


def _due_file(shelf: Shelf, kind: str, due: int) -> Path:
    """Make a file in which `due` rows are due at `LATER`, and others are not."""
    path = shelf.empty()
    fill(path, [Block(SHARED, range(due + OTHERS))])
    if kind == "rearm":
        fire_rows(path, every=1, rearm_at=START + timedelta(hours=1), up_to=due)
    else:
        expire_rows(path, up_to=due, at=START + timedelta(hours=1))
    return path


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Time sweeps alone, their statements on a bare connection, and matches beside a sweep; microseconds."""
    due = chosen.due or (2_000 if chosen.quick else DUE)
    limits = (500,) if chosen.quick else LIMITS
    results = []
    for kind in ("expire", "rearm"):
        source = _due_file(shelf, kind, due)
        for limit in steps.over(limits, f"sweep: {kind}"):
            results.append(
                {
                    "kind": kind,
                    "limit": limit,
                    "due": due,
                    **_alone(shelf, source, due, limit),
                    "beside": _beside(shelf, source, limit, seconds=1.0 if chosen.quick else 3.0),
                }
            )
        shelf.remove(source)
    return {"results": results}


def _copy(shelf: Shelf, source: Path) -> Path:
    path = shelf.empty()
    shutil.copyfile(source, path)
    return path


def _alone(shelf: Shelf, source: Path, due: int, limit: int) -> dict[str, Any]:
    recording, swept, replayed = (_copy(shelf, source) for _ in range(3))
    batches: list[list[Sent]] = []
    engine = sqlite_engine(recording)
    service = service_of(engine, lambda: LATER)
    more = True
    while more:
        with recorded(engine) as seen:
            more = service.sweep(limit=limit).more
        batches.append(seen)
    engine.dispose()
    engine = sqlite_engine(swept)
    service = service_of(engine, lambda: LATER)
    bare = sqlite3.connect(replayed, isolation_level=None)
    bare.execute("PRAGMA synchronous = NORMAL")
    taken: dict[str, list[float]] = {"service": [], "bare sqlite3": []}
    moved = 0
    for batch in batches:
        started = now()
        result = service.sweep(limit=limit)
        taken["service"].append(now() - started)
        moved += result.expired + result.rearmed
        started = now()
        _replay(bare, batch)
        taken["bare sqlite3"].append(now() - started)
    same = [_left(path) for path in (swept, replayed)]
    if moved != due or same[0] != same[1]:
        raise AssertionError(f"swept {moved} of {due} rows; the service leaves {same[0]}, the baseline {same[1]}")
    bare.close()
    engine.dispose()
    for path in (recording, swept, replayed):
        shelf.remove(path)
    return {
        "batches": len(batches),
        "calls": {
            name: {**asdict(Timing.of(seconds)), "rows_per_second": due / sum(seconds)}
            for name, seconds in taken.items()
        },
    }


def _replay(connection: sqlite3.Connection, batch: list[Sent]) -> None:
    connection.execute("BEGIN")
    for each in batch:
        each.send(connection)
    connection.execute("COMMIT")


def _left(path: Path) -> list[tuple[str, int]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT status, count(*) FROM standing_intents GROUP BY status ORDER BY status")
    found: list[tuple[str, int]] = rows.fetchall()
    connection.close()
    return found


def _match_on(path: str, size: int, begun: Any, stop: Any, results: Any) -> None:
    """Match turns until told to stop, every other one a hit; give the durations of both kinds."""
    engine = sqlite_engine(Path(path))
    service = service_of(engine, lambda: LATER)
    talk = Talk(seed=time.time_ns())
    durations: dict[str, list[float]] = {"nothing": [], "one": []}
    skipped = 0
    for number in itertools.count():
        said = f"deployment review of topic{size - 1 - number % (OTHERS // 2)}ou" if number % 2 else ""
        turn = talk.turn(30, said=said, turn_id=f"{talk.seed}-{number}")
        started = time.perf_counter()
        matches = service.match(turn)
        elapsed = time.perf_counter() - started
        skipped += matches.skipped is not None
        if number >= 10:
            begun.set()
            durations["one" if number % 2 else "nothing"].append(elapsed)
        if stop.is_set() and number >= 20:
            break
    engine.dispose()
    results.put((durations, skipped))


def _beside(shelf: Shelf, source: Path, limit: int, *, seconds: float) -> dict[str, Any]:
    """Sweep while another process matches; and let it match alone as long."""
    figures: dict[str, Any] = {}
    context = multiprocessing.get_context("spawn")
    for name in ("alone", "beside a sweep"):
        path = _copy(shelf, source)
        engine = sqlite_engine(path)
        service = service_of(engine, lambda: LATER)
        size = _left_total(path)
        begun, stop, results = context.Event(), context.Event(), context.Queue()
        process = context.Process(target=_match_on, args=(str(path), size, begun, stop, results))
        process.start()
        if not begun.wait(60):
            raise AssertionError("the matching process did not begin")
        started = time.perf_counter()
        if name == "alone":
            time.sleep(seconds)
        else:
            while service.sweep(limit=limit).more:
                time.sleep(PAUSE)
        elapsed = time.perf_counter() - started
        stop.set()
        durations, skipped = results.get()
        process.join()
        engine.dispose()
        shelf.remove(path)
        figures[name] = {
            "seconds": elapsed,
            "skipped": skipped,
            **{
                kind: {**asdict(Timing.of(values)), "longest": max(values) * 1e6, "turns": len(values)}
                for kind, values in durations.items()
            },
        }
    return figures


def _left_total(path: Path) -> int:
    return sum(count for _, count in _left(path))


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on sweeps."""
    rows, waits = [], []
    for r in figures["results"]:
        service, bare = r["calls"]["service"], r["calls"]["bare sqlite3"]
        rows.append(
            [
                r["kind"],
                r["due"],
                r["limit"],
                r["batches"],
                service["rows_per_second"],
                service["p50"] / 1000,
                service["p95"] / 1000,
                bare["p50"] / 1000,
                bare["p95"] / 1000,
                bare["rows_per_second"] / service["rows_per_second"],
            ]
        )
        for kind in ("nothing", "one"):
            alone, beside = r["beside"]["alone"], r["beside"]["beside a sweep"]
            waits.append(
                [
                    f"{r['kind']}, batches of {r['limit']:,}",
                    "no" if kind == "nothing" else "yes",
                    *(beside[kind][name] / 1000 for name in ("p50", "p95", "longest")),
                    *(alone[kind][name] / 1000 for name in ("p50", "p95", "longest")),
                    beside["skipped"],
                ]
            )
    header = ["", "due", "batch", "batches", "rows/s", "batch p50 ms", "p95", "bare p50", "p95", "× bare"]
    second = ["", "fires", "p50 ms", "p95", "longest", "alone p50", "p95", "longest", "skipped"]
    text = (
        "Rows that fall due at the same moment, swept with `sweep(limit=…)` until nothing is left. *Bare* sends the "
        "same statements of each batch to an identical file. The second table is another process that matches turns of "
        "30 words at that time, every other one with a fire, beside the same process without a sweep; a tenth of a "
        "second lies between two batches."
    )
    tables = [Table("Sweeping", header, rows), Table("A match meanwhile", second, waits)]
    return Section("Sweeping", text, tables, goals=list(_goals(figures)))


def _goals(figures: Mapping[str, Any]) -> Iterator[Goal]:
    rates = {
        f"{r['kind']}, batches of {r['limit']:,}": (
            r["calls"]["service"]["rows_per_second"],
            r["calls"]["bare sqlite3"]["rows_per_second"],
        )
        for r in figures["results"]
    }
    name = min(rates, key=lambda each: rates[each][0])
    rate, bare = rates[name]
    yield Goal(
        f"a sweep moves at least {GOAL:,} rows a second",
        rate >= GOAL,
        f"at least {rate:,.0f}/s ({name}; the same statements bare {bare:,.0f}/s)",
    )


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
