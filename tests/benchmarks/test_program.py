"""Each subject runs from end to end and writes figures that a reader can use; none of the figures is judged here."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import SUBJECTS, main, parse
from benchmarks.match import NAME as MATCH
from benchmarks.measuring import interleaved
from benchmarks.report import draw, write_page
from tests.docs.pages import ROOT

#: The least that each subject can do.
TINY = {
    "match": "--sizes 10,40 --words 30,60 --rounds 3 --retired 50 --one-sqlite",
    "create": "--sizes 10 --rounds 3",
    "sweep": "--due 40",
    "text": "",
    "memory": "--seconds 0.3 --intents 200",
    "recall": "",
    "concurrency": "--seconds 0.2 --writers 2 --rates 10",
}


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run the program and return its figures."""
    file = folder / "figures.json"
    main([*arguments, "--quick", "--folder", str(folder), "--json", str(file)])
    figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return figures


@pytest.fixture(params=SUBJECTS)
def figures(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The figures of one subject."""
    subject: str = request.param
    made = run(tmp_path, subject, *TINY[subject].split())
    assert "| --- |" in capsys.readouterr().out, "a Markdown table is printed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json"], "databases are removed"
    _check_page(subject, made, tmp_path)
    return {"subject": subject, **made}


def timings(value: Any) -> list[dict[str, float]]:
    """Every timing among the figures."""
    if isinstance(value, list):
        return [each for item in value for each in timings(item)]
    if isinstance(value, dict):
        found = [each for item in value.values() for each in timings(item)]
        return [value, *found] if "p50" in value else found
    return []


def test_a_subject_gives_figures_with_their_baseline(figures: dict[str, Any]) -> None:
    subject = figures["subject"]
    assert {"machine", "goals", "seconds", subject} <= set(figures)
    assert {"processor", "python", "sqlite", "sqlalchemy"} <= set(figures["machine"])
    assert all(0 < timing["p50"] <= timing["p95"] for timing in timings(figures))
    assert all(set(goal) == {"goal", "met", "figures"} for goal in figures["goals"])
    check = globals()[f"_check_{subject}"]
    check(figures[subject])


def _check_match(found: dict[str, Any]) -> None:
    calls = {(r["workload"], r["intents"], r["words"], r["analysed"], r["call"]) for r in found["results"]}
    for workload, size in (("a", 10), ("a", 40), ("b", 40)):
        for call in ("service", "bare sqlite3", "SQLAlchemy Core", "dictionary", "scan"):
            assert (workload, size, 30, False, call) in calls
        assert (workload, size, 30, True, "bare sqlite3") in calls
    for workload in ("c-newest", "c-oldest", "d", "e", "e-hit", "f", "f-hit", "g", "g-hit"):
        assert (workload, 40, 30, False, "service") in calls
    assert {("h", 0, 30, True, "service"), ("h-hit", 50, 30, True, "service")} <= calls
    assert set(found["percolators"]) == {"perq", "mokaccino"}
    asked = {name for name, version in found["percolators"].items() if version is not None}
    assert asked == {call for *_, call in calls} & {"perq", "mokaccino"}


def _check_create(found: dict[str, Any]) -> None:
    calls = {(r["how"], r["call"]) for r in found["results"]}
    assert calls == {(how, call) for how in ("one by one", "many in one call") for call in ("service", "bare sqlite3")}


def _check_sweep(found: dict[str, Any]) -> None:
    assert [r["kind"] for r in found["results"]] == ["expire", "rearm"]
    for r in found["results"]:
        assert set(r["calls"]) == {"service", "bare sqlite3"}
        assert set(r["beside"]) == {"alone", "beside a sweep"}
        assert all(beside[kind]["longest"] > 0 for beside in r["beside"].values() for kind in ("nothing", "one"))


def _check_text(found: dict[str, Any]) -> None:
    assert {r["stemmer"] for r in found["results"]} == {"PyStemmer", "pure Python"}
    assert all(r["bare"]["p50"] < r["cold"]["p50"] for r in found["results"])


def _check_memory(found: dict[str, Any]) -> None:
    assert set(found["runs"]) == {"service", "bare sqlite3"}
    assert all(run["turns"] > 0 and run["early"] > 2**20 for run in found["runs"].values())
    assert all(size > 0 for size in found["disk"]["bytes_per_intent"].values())


def _check_recall(found: dict[str, Any]) -> None:
    assert found["matchers"] == ["alone", "together", "exact words", "always", "never"]
    for r in found["results"]:
        assert r["fired"]["never"] == 0
        assert r["fired"]["always"] == r["turns"]


def _check_concurrency(found: dict[str, Any]) -> None:
    (r,) = found["results"]
    assert r["turns"] > 0
    assert r["skipped"] == 0


def test_a_report_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["text", "--quick", "--json", str(tmp_path / "figures.json")])
    first = capsys.readouterr().out
    main(["report", str(tmp_path / "figures.json")])
    assert capsys.readouterr().out == first


def _check_page(subject: str, figures: dict[str, Any], folder: Path) -> None:
    """The page of the documentation names all pictures and figures, and says what is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return
    section = importlib.import_module(f"benchmarks.{subject}").section(figures[subject])
    write_page(folder / "docs", [section], figures)
    page = (folder / "docs" / "index.md").read_text(encoding="utf-8")
    pictures = {path.name for path in (folder / "docs").glob("*.svg")}
    assert pictures == {f"{chart.name}.svg" for chart in section.charts}
    assert all(f"]({name})" in page for name in (*pictures, "figures.json"))
    assert json.loads((folder / "docs" / "figures.json").read_text(encoding="utf-8")) == figures
    assert {path.name for path in draw(section.charts, folder / "plots")} == pictures
    if subject == MATCH:
        assert pictures == {"match-nothing.svg", "match-workloads.svg", "match-words.svg"}
        for name, version in figures[MATCH]["percolators"].items():
            assert f"{name} {version}" in page if version else f"{name} did not install" in page


def test_all_runs_every_subject() -> None:
    _, runs = parse(["all", "--quick", "--sizes", "10,20"])
    assert tuple(runs) == SUBJECTS
    assert all(options.quick for options in runs.values())
    assert runs[MATCH].sizes == (10, 20)
    _, runs = parse(["all", "--only", "text,recall"])
    assert tuple(runs) == ("text", "recall")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_is_a_program_of_its_own_too(subject: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{subject}", "--help"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert f"python -m benchmarks {subject}" in " ".join(shown.split())


def test_calls_are_timed_in_an_order_that_changes() -> None:
    """One that always follows the same other would find its data in the processor's caches, or never."""
    said: list[tuple[str, int]] = []
    calls = [lambda number, name=name: said.append((name, number)) for name in "abc"]
    timings = interleaved(calls, 10, warm_up=2)
    assert len(timings) == 3
    assert sorted(said) == [(name, number) for name in "abc" for number in range(12)]
    pairs = {(before[0], after[0]) for before, after in pairwise(said) if before[1] == after[1]}
    assert len(pairs) == 6
