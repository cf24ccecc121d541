"""All measurements: ``python -m benchmarks SUBJECT [--json FILE] [--plots DIR] [--docs DIR] [--quick]``.

``all`` runs every subject, ``report FILE`` writes the tables of an earlier run again, ``--docs docs/performance`` the
page of the documentation.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring import CLOCKS, Steps, machine, use_clock
from benchmarks.report import draw, machine_lines, on_terminal, write_page
from benchmarks.workloads import Shelf

SUBJECTS: Final = ("match", "create", "sweep", "text", "memory", "recall", "concurrency")


def _subject(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plots", type=Path, help="draw pictures into this folder")
    parser.add_argument("--docs", type=Path, help="write a page with tables, pictures and figures into this folder")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, to see that it works")
    parser.add_argument(
        "--clock",
        choices=tuple(CLOCKS),
        default="wall",
        help="what single calls are timed by; the processor's time on a machine where others work too",
    )
    parser.add_argument("--folder", type=Path, help="where databases are made; the temporary folder when left out")


def parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, dict[str, argparse.Namespace]]:
    """Read the command line; return what is common, and the options of each subject to run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="subject", required=True, metavar="SUBJECT")
    for name in SUBJECTS:
        subject = _subject(name)
        summary = (subject.__doc__ or "").partition(":")[0]
        command = commands.add_parser(name, help=summary, description=subject.__doc__)
        _common(command)
        subject.options(command)
    everything = commands.add_parser("all", help="Every subject")
    _common(everything)
    everything.add_argument("--sizes", help="numbers of intents, for the subjects that are measured at several")
    everything.add_argument("--only", help="subjects, comma separated")
    again = commands.add_parser("report", help="Write the tables, pictures and page of an earlier run afresh")
    again.add_argument("figures", type=Path, help="what --json wrote, or the figures.json of a page")
    again.add_argument("--plots", type=Path, help="draw pictures into this folder")
    again.add_argument("--docs", type=Path, help="write a page with tables, pictures and figures into this folder")
    chosen = parser.parse_args(arguments)
    if chosen.subject == "report":
        return chosen, {}
    if chosen.subject != "all":
        return chosen, {chosen.subject: chosen}
    runs = {}
    for name in chosen.only.split(",") if chosen.only else SUBJECTS:
        words = [name, "--clock", chosen.clock, *(["--quick"] if chosen.quick else [])]
        if chosen.sizes and name == "match":
            words += ["--sizes", chosen.sizes]
        runs[name] = parser.parse_args(words)
    return chosen, runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    chosen, runs = parse(arguments)
    if chosen.subject == "report":
        figures = json.loads(chosen.figures.read_text(encoding="utf-8"))
    else:
        figures = _measure(chosen, runs)
    sections = [_subject(name).section(figures[name]) for name in SUBJECTS if name in figures]
    figures["goals"] = [
        {"goal": goal.text, "met": goal.met, "figures": goal.detail} for section in sections for goal in section.goals
    ]
    print(machine_lines(figures["machine"]))
    for section in sections:
        print(f"\n{on_terminal(section)}")
    if getattr(chosen, "json", None):
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if chosen.plots:
        draw([chart for section in sections for chart in section.charts], chosen.plots)
    if chosen.docs:
        write_page(chosen.docs, sections, figures)


def _measure(chosen: argparse.Namespace, runs: dict[str, argparse.Namespace]) -> dict[str, Any]:
    use_clock(chosen.clock)
    figures: dict[str, Any] = {"machine": machine(), "command": _command(chosen)}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder, Steps() as steps:
        shelf = Shelf(Path(folder))
        for name, options in runs.items():
            started = time.monotonic()
            figures[name] = _subject(name).measure(options, shelf, steps)
            figures[name]["seconds"] = round(time.monotonic() - started, 1)
            steps.say(f"{name}: {figures[name]['seconds']:.0f} s")
    figures["seconds"] = round(time.monotonic() - began, 1)
    return figures


def _command(chosen: argparse.Namespace) -> str:
    words = ["python -m benchmarks", chosen.subject]
    words += ["--quick"] if chosen.quick else []
    words += [f"--clock {chosen.clock}"] if chosen.clock != "wall" else []
    words += [f"--sizes {chosen.sizes}"] if getattr(chosen, "sizes", None) and chosen.subject == "all" else []
    words += [f"--only {chosen.only}"] if getattr(chosen, "only", None) else []
    words += [f"--docs {chosen.docs}"] if chosen.docs else []
    return " ".join(words)


if __name__ == "__main__":
    main()
