"""What the analysis of a turn costs: ``python -m benchmarks.text``.

Each figure is a ratio to a bare ``regex.findall`` of words over the same text: cold (first sight of the words) and
warm, with PyStemmer and with the pure-Python stemmer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import regex

from benchmarks.loading import Talk
from benchmarks.measuring import table
from intents import Analyzer
from intents.triggers import analyse_turn

LENGTHS = (30, 200, 2_000)
WORD = regex.compile(r"[\p{L}\p{N}]+")


def _best(call: Callable[[], object], repeats: int) -> float:
    durations = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        durations.append(time.perf_counter() - started)
    return min(durations)


def measure() -> list[dict[str, Any]]:
    """Time this process's stemmer on each length, and on one megabyte; seconds."""
    talk = Talk()
    texts = {f"{length:,} words": " ".join(talk.words(length)) for length in LENGTHS}
    texts["1 MB"] = " ".join(talk.words(120_000))[: 2**20]
    results = []
    for label, text in texts.items():
        repeats = 3 if len(text) > 100_000 else 30
        analyzer = Analyzer()
        started = time.perf_counter()
        _ = analyse_turn(text, analyzer).terms
        cold = time.perf_counter() - started
        warm = _best(lambda text=text, analyzer=analyzer: analyse_turn(text, analyzer).terms, repeats)
        bare = _best(lambda text=text: WORD.findall(text), repeats)
        results.append({"text": label, "characters": len(text), "bare": bare, "cold": cold, "warm": warm})
    return results


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.this_process:
        print(json.dumps(measure()))
        return
    results: dict[str, list[dict[str, Any]]] = {}
    for stemmer, prelude in (("PyStemmer", ""), ("pure Python", "import sys; sys.modules['Stemmer'] = None; ")):
        program = f"{prelude}from benchmarks.text import main; main(['--this-process'])"
        output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        results[stemmer] = json.loads(output)
    rows = [
        [
            r["text"],
            r["characters"],
            stemmer,
            r["bare"] * 1e6,
            r["cold"] / r["bare"],
            r["warm"] / r["bare"],
            r["warm"] / r["characters"] * 1e9,
        ]
        for stemmer, measured in results.items()
        for r in measured
    ]
    print(table(["text", "characters", "stemmer", "bare µs", "cold × bare", "warm × bare", "warm ns/character"], rows))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
