"""How many turns a second several processes get through one database: ``python -m benchmarks.concurrency``.

Writers share one SQLite file (WAL) or one PostgreSQL server; of each hundred turns 0, 1 or 10 fire an intent. The
baseline of each row is one writer on the same database with the same rate.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

from benchmarks.loading import Row, Talk, fill, service_of, sqlite_engine
from benchmarks.measuring import table
from intents import metadata

WRITERS = (1, 2, 4, 8)
RATES = (0, 1, 10)
INTENTS = 1_000


def _work(url: str, load: tuple[int, int, float], start: Any, results: Any) -> None:
    number, rate, seconds = load
    engine = sqlite_engine(Path(url.removeprefix("sqlite:///"))) if url.startswith("sqlite") else create_engine(url)
    service = service_of(engine)
    talk = Talk(seed=number)
    turns = [
        talk.turn(30, said=f"deployment topic{(number * 131 + each) % INTENTS}ou" if each % 100 < rate else "")
        for each in range(500)
    ]
    start.wait()
    done = fired = skipped = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        matches = service.match(turns[done % len(turns)])
        done += 1
        fired += len(matches)
        skipped += matches.skipped is not None
    engine.dispose()
    results.put((done, fired, skipped))


def measure(url: str, writers: int, rate: int, seconds: float) -> dict[str, Any]:
    """Run the writers for some seconds; return turns and fires a second and how many turns were skipped."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    workers = [
        context.Process(target=_work, args=(url, (number, rate, seconds), start, results)) for number in range(writers)
    ]
    for worker in workers:
        worker.start()
    time.sleep(3)
    start.set()
    figures = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    done, fired, skipped = (sum(column) for column in zip(*figures, strict=True))
    return {"writers": writers, "rate": rate, "turns": done / seconds, "fires": fired / seconds, "skipped": skipped}


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.concurrency", description=__doc__)
    parser.add_argument("--postgresql", help="URL of an empty PostgreSQL database; SQLite only when left out")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of each run")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    everything: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        databases = {"SQLite": f"sqlite:///{folder}/intents.db"}
        if options.postgresql:
            databases["PostgreSQL"] = options.postgresql
        for name, url in databases.items():
            engine = sqlite_engine(Path(folder) / "intents.db") if name == "SQLite" else create_engine(url)
            metadata.create_all(engine)
            fill(engine, (Row(keyword=f"deployment topic{number}ou") for number in range(INTENTS)))
            engine.dispose()
            for rate in RATES:
                alone: float | None = None
                for writers in WRITERS:
                    figures = measure(url, writers, rate, options.seconds)
                    alone = alone or figures["turns"]
                    everything.append({"database": name, **figures, "ratio": figures["turns"] / alone})
    header = ["database", "fires of 100", "writers", "turns/s", "× one writer", "fires/s", "skipped"]
    print(
        table(
            header,
            [
                [r["database"], r["rate"], r["writers"], r["turns"], r["ratio"], r["fires"], r["skipped"]]
                for r in everything
            ],
        )
    )
    if options.json:
        options.json.write_text(json.dumps(everything, indent=2))


if __name__ == "__main__":
    main()
