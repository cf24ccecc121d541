"""What a turn costs: ``python -m benchmarks match [--sizes 10,1000] [--words 30] [--quick]``.

For each number of intents, each length of turn, each SQLite and with or without ``ANALYZE``: turns of every workload
through the service, the prefilter's query of the same turns on a bare ``sqlite3`` connection and through SQLAlchemy
Core, and other ways to find the same intents. A turn that fires includes its commit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine

from benchmarks import match_report
from benchmarks.baselines import (
    PERCOLATORS_UP_TO,
    SCAN_UP_TO,
    BareFire,
    Dictionary,
    Matcher,
    Replay,
    Scan,
    installed_percolators,
    percolator_versions,
    recorded,
    stored_intents,
)
from benchmarks.loading import sqlite_engine
from benchmarks.measuring import Steps, drivers, interleaved
from benchmarks.workloads import BESIDE_RETIRED, MAIN, OTHERS, RETIRED, Shelf, Talk, Workload, service_of
from intents.text import Analyzer
from intents.triggers import analyse_turn

NAME: Final = "match"
SIZES: Final = (10, 1_000, 10_000, 100_000, 1_000_000)
WORDS: Final = (30, 200, 2_000)
#: A turn that is long costs much; fewer of them say as much.
ROUNDS: Final = {30: 36, 200: 16, 2_000: 5}
WARM_UP: Final = 3
QUICK: Final[dict[str, Any]] = {"sizes": (10, 1_000), "words": (30, 200), "rounds": 15, "retired": 5_000}

section = match_report.section


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("--sizes", type=numbers, help="numbers of intents, comma separated")
    parser.add_argument("--words", type=numbers, help="words of a turn, comma separated")
    parser.add_argument("--rounds", type=int, help="rounds of each call")
    parser.add_argument("--retired", type=int, help="retired rows beside 1,000 live ones")
    parser.add_argument("--one-sqlite", action="store_true", help="the SQLite of this Python only")


def numbers(text: str) -> tuple[int, ...]:
    """Read numbers with commas between them; underscores are allowed within."""
    return tuple(int(part) for part in text.split(","))


@dataclass(frozen=True, slots=True)
class Variant:
    """A SQLite, and whether the databases were analysed."""

    sqlite: str
    module: Any
    analysed: bool
    first: bool
    seed: int


def variants(*, one_sqlite: bool) -> list[Variant]:
    """All that are to be measured; a database is analysed when it was measured without."""
    modules = list(drivers().items())[: 1 if one_sqlite else None]
    pairs = [(analysed, version, module) for analysed in (False, True) for version, module in modules]
    return [Variant(version, module, analysed, at == 0, at + 1) for at, (analysed, version, module) in enumerate(pairs)]


Results = list[dict[str, Any]]


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Time every workload; microseconds."""
    quick: dict[str, Any] = QUICK if chosen.quick else {}
    sizes: Sequence[int] = chosen.sizes or quick.get("sizes", SIZES)
    words: Sequence[int] = chosen.words or quick.get("words", WORDS)
    retired: int = chosen.retired or quick.get("retired", RETIRED)
    rounds: int | None = chosen.rounds or quick.get("rounds")
    several = variants(one_sqlite=chosen.one_sqlite)
    results: Results = []

    def run(kind: str, workloads: Sequence[Workload], sizes: Sequence[int], lengths: Sequence[int]) -> None:
        of_kind = [workload for workload in workloads if workload.kind == kind]
        paths = {}
        in_memory: dict[int, dict[str, Matcher]] = {}
        for size in steps.over(sizes, f"fill {kind}"):
            paths[size] = shelf.copy(kind, size)
        try:
            for variant in several:
                if variant.analysed:
                    _analyse(paths.values(), variant.module)
                for length in lengths:
                    count = rounds or ROUNDS.get(length, min(ROUNDS.values()))
                    table = _Table(variant, paths, of_kind, length, count, in_memory=in_memory)
                    results.extend(table.measure(steps))
        finally:
            for path in paths.values():
                shelf.remove(path)
        # The largest files are the ones that nobody else wants.
        shelf.forget(kind, [size for size in sizes if kind != "mixed"])
        steps.say(f"match: {kind} measured")

    run("mixed", MAIN, sizes, words)
    for kind in ("cooling", "crowded", "agents"):
        run(kind, OTHERS, sizes, words[:1])
    run("retired", BESIDE_RETIRED, (0, retired), words[:1])
    shelf.forget("mixed", [size for size in sizes if size > PERCOLATORS_UP_TO])
    return {
        "results": results,
        "percolators": percolator_versions(),
        "sizes": list(sizes),
        "words": list(words),
        "retired": retired,
        "percolators_up_to": PERCOLATORS_UP_TO,
        "scan_up_to": SCAN_UP_TO,
    }


def _analyse(paths: Any, module: Any) -> None:
    for path in paths:
        connection = module.connect(path)
        connection.execute("ANALYZE")
        connection.commit()
        connection.close()


def _build_matchers(size: int, path: Path, analyzer: Analyzer) -> dict[str, Matcher]:
    matchers: dict[str, Matcher] = {"dictionary": Dictionary(stored_intents(path), analyzer)}
    if size <= PERCOLATORS_UP_TO:
        for name, build in installed_percolators().items():
            if build is not None:
                matchers[name] = build(stored_intents(path), analyzer)
    return matchers


class _Table:
    """All calls of one variant and length, over all sizes, timed in turns."""

    def __init__(
        self,
        variant: Variant,
        paths: dict[int, Path],
        workloads: Sequence[Workload],
        words: int,
        rounds: int,
        *,
        in_memory: dict[int, dict[str, Matcher]],
    ) -> None:
        self._variant, self._words, self._rounds = variant, words, rounds
        self._in_memory = in_memory  # by size; they take long to build, and are the same for every length of turn
        self._calls: list[tuple[dict[str, Any], Callable[[int], object]]] = []
        self._closing: list[Callable[[], object]] = []
        for size, path in paths.items():
            engine = sqlite_engine(path, variant.module)
            self._closing.append(engine.dispose)
            self._add(size, path, engine, workloads)

    def _turns(self, workload: Workload, size: int) -> list[Any]:
        talk = Talk(seed=self._variant.seed)
        return [
            workload.turn(talk, size, self._words, number) for number in range(WARM_UP + self._rounds + 1)
        ]  # one more, to count its statements

    def _note(self, workload: str, size: int, name: str, call: Callable[[int], object], **more: Any) -> None:
        self._calls.append(({"workload": workload, "intents": size, "call": name, **more}, call))

    def _add(self, size: int, path: Path, engine: Engine, workloads: Sequence[Workload]) -> None:
        mixed = workloads[0].kind == "mixed"
        others = self._other_matchers(size, path, engine) if mixed and self._variant.first else {}
        for workload in workloads:
            service = service_of(engine, agent_id=workload.agent)
            turns = self._turns(workload, size)
            if not workload.fires:
                replay = Replay(service, engine, turns, self._variant.module, path)
                self._closing.insert(0, replay.close)
                self._note(workload.name, size, "bare sqlite3", replay.query)
                self._note(workload.name, size, "bare sqlite3, all statements", replay.everything)
                self._note(workload.name, size, "SQLAlchemy Core", replay.core)
            with recorded(engine) as seen:
                service.match(turns.pop())
            self._note(workload.name, size, "service", _Matching(service, turns, workload), statements=len(seen))
            for name, matcher in others.items():
                self._note(workload.name, size, name, _Asking(matcher, turns))
        if mixed:
            fire = BareFire(self._variant.module, path)
            self._closing.insert(0, fire.close)
            self._note("commit", size, "bare sqlite3", fire)
            analyzer = service_of(engine).settings.analyzer
            texts = [turn.text for turn in self._turns(workloads[0], size)]
            self._note("analysis", size, "service", lambda number: analyse_turn(texts[number], analyzer).terms)

    def _other_matchers(self, size: int, path: Path, engine: Engine) -> dict[str, Matcher]:
        service = service_of(engine)
        if size not in self._in_memory:
            self._in_memory[size] = _build_matchers(size, path, service.settings.analyzer)
        if size > SCAN_UP_TO:
            return self._in_memory[size]
        scan = Scan(service, engine, size)
        self._closing.insert(0, scan.close)
        return {**self._in_memory[size], "scan": scan}

    def measure(self, steps: Steps) -> Results:
        """Time the calls; microseconds."""
        variant = self._variant
        label = f"SQLite {variant.sqlite}{', analysed' if variant.analysed else ''}, {self._words:,} words"
        try:
            timings = interleaved(
                [call for _, call in self._calls], self._rounds, warm_up=WARM_UP, steps=steps, label=label
            )
        finally:
            for close in self._closing:
                close()
        same = {"sqlite": variant.sqlite, "analysed": variant.analysed, "words": self._words, "rounds": self._rounds}
        return [{**same, **facts, **asdict(timing)} for (facts, _), timing in zip(self._calls, timings, strict=True)]


class _Matching:
    """Turns of one workload through the service, each looked at for what it must fire."""

    def __init__(self, service: Any, turns: Sequence[Any], workload: Workload) -> None:
        self._service, self._turns, self._workload = service, turns, workload

    def __call__(self, number: int) -> None:
        matches = self._service.match(self._turns[number])
        if len(matches) != self._workload.fires or matches.truncated or matches.duplicate:
            raise AssertionError(f"workload {self._workload.name}: {len(matches)} fires, {matches.truncated=}")


class _Asking:
    """The same turns through another matcher."""

    def __init__(self, matcher: Matcher, turns: Sequence[Any]) -> None:
        self._matcher, self._turns = matcher, turns

    def __call__(self, number: int) -> object:
        return self._matcher.keys(self._turns[number])


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
