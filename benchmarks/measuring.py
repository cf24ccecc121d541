"""Timing of calls in turns, progress on the terminal, and what the machine is."""

from __future__ import annotations

import gc
import importlib
import os
import platform
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Each = TypeVar("Each")
CLOCKS: Final[dict[str, Callable[[], float]]] = {"wall": time.perf_counter, "processor": time.process_time}
_chosen = "wall"


def use_clock(name: str) -> None:
    """Choose what `now` tells: the time of the wall, or the time that the processor worked for this process.

    On a machine where others work too, long calls are interrupted more often than short ones, and a ratio of wall times
    says little.
    """
    global _chosen  # noqa: PLW0603 - one clock for a run
    _chosen = name


def now() -> float:
    """Return the time by the chosen clock, in seconds."""
    return CLOCKS[_chosen]()


@dataclass(frozen=True, slots=True)
class Timing:
    """Median, 95th percentile and mean of one call, in microseconds."""

    p50: float
    p95: float
    mean: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summarise durations in seconds."""
        ordered = sorted(seconds)
        return cls(
            statistics.median(ordered) * 1e6,
            ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1e6,
            statistics.fmean(ordered) * 1e6,
        )


class Steps:
    """A progress bar on standard error; quiet where that is no terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Leave a line above the bars."""
        self._console.print(f"{time.strftime('%H:%M:%S')} {text}", highlight=False, markup=False)

    def over(self, items: Iterable[Each], label: str, total: int | None = None) -> Iterator[Each]:
        """Go over items with a bar of their own."""
        task = self._progress.add_task(label, total=total if total is not None else len(items))  # type: ignore[arg-type]
        try:
            for item in items:
                yield item
                self._progress.advance(task)
        finally:
            self._progress.remove_task(task)


@contextmanager
def steady_memory() -> Iterator[None]:
    """Keep what was built for a measurement out of the garbage collector's way: walking it would be timed too."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def interleaved(
    calls: Sequence[Callable[[int], object]],
    repeats: int,
    *,
    warm_up: int = 5,
    steps: Steps | None = None,
    label: str = "rounds",
) -> list[Timing]:
    """Time several calls in turns, so that a noisy machine slows all alike.

    Each round has an order of its own: what a call leaves in the processor's caches must not always help the same one.

    Args:
        calls: each takes the number of the round.
        repeats: rounds that count.
        warm_up: rounds before them that do not.
        steps: where to show the progress.
        label: what is measured, for the progress.

    Returns:
        One timing for each call.
    """
    durations: list[list[float]] = [[] for _ in calls]
    clock = CLOCKS[_chosen]
    rounds: Iterable[int] = range(warm_up + repeats)
    order = list(range(len(calls)))
    chance = random.Random(1)
    with steady_memory():
        for number in steps.over(rounds, label, warm_up + repeats) if steps else rounds:
            chance.shuffle(order)
            for at in order:
                started = clock()
                calls[at](number)
                elapsed = clock() - started
                if number >= warm_up:
                    durations[at].append(elapsed)
    return [Timing.of(kept) for kept in durations]


def newer_sqlite() -> Any | None:
    """The driver with a newer SQLite, where it is installed."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return None


def drivers() -> dict[str, Any]:
    """The drivers to measure with, by the version of their SQLite."""
    newer = newer_sqlite()
    found = {sqlite3.sqlite_version: sqlite3}
    if newer is not None:
        found[newer.sqlite_version] = newer
    return found


def machine() -> dict[str, Any]:
    """Say on what was measured."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": list(drivers()),
        "sqlalchemy": sqlalchemy.__version__,
        "pystemmer": _installed("Stemmer"),
        "date": time.strftime("%Y-%m-%d"),
        "clock": _chosen,
        "load_at_start": round(os.getloadavg()[0], 1),
    }


def _installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
