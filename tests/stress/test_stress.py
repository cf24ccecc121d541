"""Real processes on one database: nothing fires twice, nothing is lost, no error reaches a caller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stress.__main__ import Report, prepare, stress

PROCESSES = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'stress.db'}"
    else:
        yield request.getfixturevalue("postgresql_url")


def assert_kept(report: Report) -> None:
    assert report.errors == []
    assert report.faults == []
    assert report.counts["fires"] > 0
    assert report.counts["duplicates"] > 0


def test_processes_that_share_intents_keep_every_promise(url: str) -> None:
    prepare(url, intents=40, seed=7)
    report = stress(url, processes=PROCESSES, turns=2000, seconds=0, seed=7)
    assert report.counts["turns"] == PROCESSES * 2000
    assert_kept(report)


def test_processes_killed_at_any_point_leave_whole_firings_or_none(url: str) -> None:
    prepare(url, intents=40, seed=8)
    report = stress(url, processes=PROCESSES, turns=150, seconds=10, kill_chance=0.05, seed=8)
    assert report.kills > 0
    assert_kept(report)


def test_a_clock_that_jumps_back_fires_nothing_twice(url: str) -> None:
    prepare(url, intents=40, seed=9)
    assert_kept(stress(url, processes=PROCESSES, turns=150, seconds=0, jumps=True, seed=9))
