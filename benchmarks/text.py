"""What the analysis of a turn costs: ``python -m benchmarks text``.

Each figure stands beside a bare ``regex.findall`` of words over the same text: cold (first sight of the words) and
warm, with PyStemmer and with the pure-Python stemmer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import regex

from benchmarks.measuring import Steps, Timing, interleaved, now, use_clock
from benchmarks.report import Goal, Section, Table
from benchmarks.workloads import Shelf, Talk
from intents import Analyzer
from intents.triggers import analyse_turn

NAME: Final = "text"
LENGTHS: Final = (30, 200, 2_000)
WORD: Final = regex.compile(r"[\p{L}\p{N}]+")
STEMMERS: Final = {"PyStemmer": "", "pure Python": "import sys; sys.modules['Stemmer'] = None; "}


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set: nothing."""


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Time the analysis in processes of their own, one for each stemmer; microseconds."""
    results = []
    for stemmer in steps.over(STEMMERS, "text", len(STEMMERS)):
        call = f"in_this_process({chosen.quick}, {chosen.clock!r})"
        program = f"{STEMMERS[stemmer]}from benchmarks.text import in_this_process; {call}"
        output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        results += [{"stemmer": stemmer, **figures} for figures in json.loads(output)]
    return {"results": results}


def in_this_process(quick: bool, clock: str) -> None:
    """Time this process's stemmer on each length and on one megabyte, and print the figures as JSON."""
    use_clock(clock)
    talk = Talk()
    texts = {f"{length:,} words": " ".join(talk.words(length)) for length in LENGTHS[: 2 if quick else None]}
    if not quick:
        texts["1 MB"] = " ".join(talk.words(120_000))[: 2**20]
    results = []
    for label, text in texts.items():
        analyzer = Analyzer()
        started = now()
        _ = analyse_turn(text, analyzer).terms
        cold = Timing.of([now() - started])
        repeats = 3 if len(text) > 100_000 else 10 if quick else 60
        warm, bare = interleaved(
            [
                lambda _, text=text, analyzer=analyzer: analyse_turn(text, analyzer).terms,  # type: ignore[misc]
                lambda _, text=text: WORD.findall(text),  # type: ignore[misc]
            ],
            repeats,
            warm_up=1,
        )
        results.append(
            {
                "text": label,
                "characters": len(text),
                "cold": asdict(cold),
                "warm": asdict(warm),
                "bare": asdict(bare),
            }
        )
    print(json.dumps(results))


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on text."""
    rows = [
        [
            f"{r['text']}, {r['stemmer']}",
            r["characters"],
            r["warm"]["p50"],
            r["warm"]["p95"],
            r["bare"]["p50"],
            r["bare"]["p95"],
            r["warm"]["p50"] / r["bare"]["p50"],
            r["cold"]["p50"] / r["bare"]["p50"],
            r["warm"]["p50"] / r["characters"] * 1000,
        ]
        for r in figures["results"]
    ]
    header = ["", "characters", "p50 µs", "p95", "bare p50", "p95", "× bare", "cold × bare", "ns/character"]
    text = "From the text to its terms. *Bare* only finds the words, with one regular expression."
    return Section("Analysing text", text, [Table("Analysing text", header, rows)], goals=list(_goals(figures)))


def _goals(figures: Mapping[str, Any]) -> Iterator[Goal]:
    for stemmer in STEMMERS:
        each = [r["warm"]["p50"] / r["characters"] for r in figures["results"] if r["stemmer"] == stemmer]
        yield Goal(
            f"the analysis costs the same for each character, whatever the length ({stemmer})",
            each[-1] <= 2 * each[0],
            f"the longest text {each[-1] / each[0]:.2f} × the shortest",
        )


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
