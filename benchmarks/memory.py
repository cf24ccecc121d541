"""What memory and disk it takes: ``python -m benchmarks memory [--seconds 30] [--quick]``.

A process of its own matches turns, one of a hundred with a fire, and notes its resident memory; beside it stands a
process that sends only the prefilter's queries on a bare ``sqlite3`` connection. On disk: the pages of each table and
index, and how many of them belong to an intent beyond its row.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.baselines import Replay
from benchmarks.loading import sqlite_engine
from benchmarks.measuring import Steps
from benchmarks.report import Chart, Goal, Section, Table
from benchmarks.workloads import SHARED, Shelf, Talk, own, service_of
from intents.ddl import EVENTS, FTS, INTENTS
from intents.triggers import analyse_turn

NAME: Final = "memory"
INTENTS_IN_MEMORY: Final = 1_000
INTENTS_ON_DISK: Final = 100_000
SAMPLES: Final = 200
GOAL_TURNS: Final = 1_000_000
#: After fewer turns nothing can be said.
FEWEST_TURNS: Final = 5_000
GOAL_BYTES: Final = 1_024
#: Resident memory is counted in pages and moves by some of them; what is less than this is no growth.
NOISE: Final = 512 * 1024


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("--seconds", type=float, help="how long each process matches turns")
    parser.add_argument("--intents", type=int, help="intents of the database whose pages are counted")


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Sample memory over turns, and count pages; bytes."""
    seconds = chosen.seconds or (2.0 if chosen.quick else 30.0)
    context = multiprocessing.get_context("spawn")
    runs = {}
    for name in steps.over(("service", "bare sqlite3"), "memory over turns"):
        path = shelf.copy("mixed", INTENTS_IN_MEMORY)
        results = context.Queue()
        process = context.Process(target=_run, args=(name, str(path), seconds, results))
        process.start()
        runs[name] = results.get()
        process.join()
        shelf.remove(path)
    size = chosen.intents or (5_000 if chosen.quick else INTENTS_ON_DISK)
    return {"runs": runs, "disk": {"intents": size, **_disk(shelf, size)}}


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell the resident memory of a process")


def _run(name: str, path: str, seconds: float, results: Any) -> None:
    engine = sqlite_engine(Path(path))
    service = service_of(engine)
    talk = Talk(seed=3)
    call: Callable[[int], object]
    if name == "service":
        shared = INTENTS_IN_MEMORY - own(INTENTS_IN_MEMORY)

        def call(number: int) -> object:
            said = SHARED.keyword.format(n=number // 100 % shared) if number % 100 == 0 else ""
            return service.match(talk.turn(30, said=said, turn_id=f"turn-{number}"))
    else:
        replay = Replay(
            service, engine, [talk.turn(30, turn_id=f"turn-{number}") for number in range(200)], sqlite3, Path(path)
        )

        def call(number: int) -> object:
            return replay.query(number % 200)  # fmt: skip

    # The caches of words are filled first: they are bounded, and reach their size early.
    _ = analyse_turn(" ".join(talk.vocabulary), service.settings.analyzer).terms
    until = time.monotonic() + seconds
    samples: list[tuple[int, int]] = []
    number = 1
    next_sample = time.monotonic()
    while time.monotonic() < until:
        call(number)
        if time.monotonic() >= next_sample:
            samples.append((number, resident()))
            next_sample = time.monotonic() + seconds / SAMPLES
        number += 1
    samples.append((number, resident()))
    engine.dispose()
    results.put({"turns": number, "samples": samples, **_growth(samples)})


def _growth(samples: list[tuple[int, int]]) -> dict[str, float]:
    """Compare the second fifth with the last one; the first may still warm up."""
    fifth = max(1, len(samples) // 5)
    early = statistics.median(memory for _, memory in samples[fifth : 2 * fifth])
    late = statistics.median(memory for _, memory in samples[-fifth:])
    return {"early": early, "late": late, "growth": late - early}


def _disk(shelf: Shelf, size: int) -> dict[str, Any]:
    path = shelf.copy("mixed", size)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    try:
        pages = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall())
        how = "dbstat"
    except sqlite3.OperationalError:
        pages, how = _by_removal(connection), "page counts before and after each was removed"
    names = [
        row[0]
        for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", [INTENTS])
    ]
    parts = {
        "the row": pages.get(INTENTS, 0),
        "full-text index": sum(taken for name, taken in pages.items() if name.startswith(FTS)),
        "other indexes": sum(taken for name, taken in pages.items() if name in names),
        "log": sum(taken for name, taken in pages.items() if EVENTS in name),
    }
    connection.close()
    shelf.remove(path)
    return {"how": how, "bytes_per_intent": {name: taken / size for name, taken in parts.items()}}  # fmt: skip


def _by_removal(connection: sqlite3.Connection) -> dict[str, int]:
    """Find the sizes without dbstat: remove one after the other and see by how much the file shrinks."""

    def size() -> int:
        connection.commit()
        connection.execute("VACUUM")
        count, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(count * page)

    found: dict[str, int] = {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    steps = [("TABLE", FTS), *(("INDEX", name) for (name,) in indexes), ("TABLE", EVENTS), ("TABLE", INTENTS)]
    before = size()
    for kind, name in steps:
        connection.execute(f"DROP {kind} {name}")
        after = size()
        found[name], before = before - after, after
    return found


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on memory and disk."""
    rows = [
        [name, run["turns"], run["early"] / 2**20, run["late"] / 2**20, run["growth"] / 1024]
        for name, run in figures["runs"].items()
    ]
    disk = figures["disk"]
    taken = disk["bytes_per_intent"]
    rows_on_disk = [[name, value, value / taken["the row"]] for name, value in taken.items()]
    text = (
        "Resident memory of a process that matches turns of 30 words against 1,000 intents, one of a hundred with a "
        "fire: the median of the second fifth of the run beside that of the last. *Bare* only sends the prefilter's "
        f"queries. Then the bytes on disk for each of {disk['intents']:,} intents, by {disk['how']}."
    )
    tables = [
        Table("Memory over turns", ["", "turns", "early MiB", "late MiB", "growth KiB"], rows),
        Table("On disk, for one intent", ["", "bytes", "× the row"], rows_on_disk),
    ]
    chart = Chart(
        "memory-turns",
        "Resident memory over turns",
        "turns",
        "MiB",
        {
            name: [(turns, memory / 2**20) for turns, memory in run["samples"]]
            for name, run in figures["runs"].items()
            if name == "service"
        },
        logarithmic=(False, False),
    )
    return Section("Memory and disk", text, tables, [chart], list(_goals(figures)))


def _goals(figures: Mapping[str, Any]) -> Iterator[Goal]:
    run = figures["runs"]["service"]
    yield Goal(
        f"memory does not grow over {GOAL_TURNS:,} turns",
        run["growth"] <= NOISE if run["turns"] >= FEWEST_TURNS else None,
        f"{run['growth'] / 1024:+,.0f} KiB from the second to the last fifth of {run['turns']:,} turns"
        + ("" if run["turns"] >= GOAL_TURNS else ", as many as the time allowed"),
    )
    taken = figures["disk"]["bytes_per_intent"]
    index = taken["full-text index"] + taken["other indexes"]
    yield Goal(
        f"an intent takes at most {GOAL_BYTES:,} bytes of index on disk beyond its row",
        index <= GOAL_BYTES,
        f"{index:,.0f} bytes: {taken['full-text index']:,.0f} full text, {taken['other indexes']:,.0f} others",
    )


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
