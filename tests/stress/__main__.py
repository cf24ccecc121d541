"""Run the stress program for some minutes: ``python -m tests.stress --minutes 10 --url sqlite:////tmp/stress.db``.

Several processes send turns on shared intents; processes are killed at random and started again. At the end every
promise is checked on the database, and the figures are printed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import create_engine

from intents.models import metadata
from tests.stress.audit import faults
from tests.stress.workload import OWNER, draft, service


@dataclass
class Report:
    """What a run did and what it found."""

    counts: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    errors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def prepare(url: str, *, intents: int, seed: int) -> None:
    """Make the schema and the first shared intents."""
    engine = create_engine(url)
    metadata.create_all(engine)
    engine.dispose()
    chance = random.Random(seed)
    with service(url) as owner:
        for number in range(intents):
            owner.create(draft(chance, number), by=OWNER)


def stress(
    url: str,
    *,
    processes: int,
    turns: int,
    seconds: float,
    kill_chance: float = 0.0,
    jumps: bool = False,
    seed: int = 1,
) -> Report:
    """Keep `processes` workers running until each has sent its turns (and `seconds` have passed), then audit.

    Args:
        turns: turns of one worker's life.
        seconds: workers that end earlier are followed by new ones; 0 runs each once.
        kill_chance: chance each tenth of a second that a worker is killed with SIGKILL and another takes its place.
    """
    chance, report = random.Random(seed), Report()
    until, started = time.monotonic() + seconds, 0
    workers: list[subprocess.Popen[str]] = []

    def start() -> None:
        nonlocal started
        started += 1
        arguments = {"url": url, "seed": seed * 1000 + started, "turns": turns, "jumps": jumps}
        command = [sys.executable, "-m", "tests.stress.workload", json.dumps(arguments)]
        workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    for _ in range(processes):
        start()
    while workers:
        time.sleep(0.1)
        for worker in list(workers):
            killed = worker.poll() is None and chance.random() < kill_chance
            if killed:
                worker.kill()
            if not killed and worker.poll() is None:
                continue
            output, errors = worker.communicate()
            workers.remove(worker)
            if killed:
                report.kills += 1
            elif worker.returncode != 0:
                report.errors.append(errors.strip()[-2000:])
            else:
                report.counts.update(json.loads(output))
            if (killed and report.kills < 1000) or time.monotonic() < until:
                start()
    engine = create_engine(url)
    report.faults = faults(engine)
    engine.dispose()
    return report


def main() -> int:
    """Run from the command line; the exit code is 1 when a fault or an error was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    parser.add_argument("--url", required=True, help="an empty SQLite or PostgreSQL database")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=500, help="turns of one worker's life")
    parser.add_argument("--kill-chance", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    prepare(options.url, intents=40, seed=options.seed)
    report = stress(
        options.url,
        processes=options.processes,
        turns=options.turns,
        seconds=options.minutes * 60,
        kill_chance=options.kill_chance,
        jumps=True,
        seed=options.seed,
    )
    for name, count in sorted(report.counts.items()):
        print(f"{name:20} {count}")
    print(f"{'kills':20} {report.kills}")
    for line in (*report.errors, *report.faults):
        print("FAULT", line)
    return 1 if report.errors or report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
