"""Timing of calls and plain tables of the results."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Percentiles of one call, in microseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summarise durations in seconds."""
        ordered = sorted(seconds)
        return cls(statistics.median(ordered) * 1e6, ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1e6)


def interleaved(calls: Sequence[Callable[[int], object]], repeats: int, *, warm_up: int = 5) -> list[Timing]:
    """Time several calls in turns, so that a noisy machine slows all alike.

    Args:
        calls: each takes the number of the round.
        repeats: rounds that count.
        warm_up: rounds before them that do not.

    Returns:
        One timing for each call.
    """
    durations: list[list[float]] = [[] for _ in calls]
    for number in range(warm_up + repeats):
        for call, kept in zip(calls, durations, strict=True):
            started = time.perf_counter()
            call(number)
            elapsed = time.perf_counter() - started
            if number >= warm_up:
                kept.append(elapsed)
    return [Timing.of(kept) for kept in durations]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(" ---: " for _ in header) + "|"]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float) and value < 100
        else f"{value:,.0f}"
        if isinstance(value, float)
        else f"{value}"
    )
