"""The baselines do the work that they are compared for: they find the same intents, by the same queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from benchmarks.baselines import Dictionary, Matcher, Replay, Scan, installed_percolators, stored_intents
from benchmarks.loading import fill, sqlite_engine
from benchmarks.measuring import drivers
from benchmarks.workloads import BESIDE_RETIRED, LIMITS, MAIN, OTHERS, Shelf, Talk, Workload, mixed_blocks, service_of
from intents import IntentService, StandingIntent, Turn

SIZE = 60


@pytest.fixture
def database(tmp_path: Path) -> Iterator[tuple[Path, Engine, IntentService]]:
    path = tmp_path / "intents.db"
    fill(path, mixed_blocks(SIZE))
    engine = sqlite_engine(path)
    yield path, engine, service_of(engine)
    engine.dispose()


def fired(engine: Engine, service: IntentService, turn: Turn) -> list[int]:
    """The keys of the intents that fire."""
    ids = [match.intent.id for match in service.match(turn)]
    with engine.connect() as connection:
        rows = connection.execute(select(StandingIntent.key).where(StandingIntent.id.in_(ids)))
        return sorted(rows.scalars())


def turns() -> list[Turn]:
    """Turns of the workloads, and some that complete several intents or almost one."""
    talk = Talk(seed=7)
    said = [
        "deployment review topic3ou topic30ou topic31ou",
        "the reviews of all deployments: topic7ou",
        "handover1ou checklist2ou",
        "handover1ou checklist1ou, deployment review of topic0ou",
        "deployment topic5ou",
        "",
    ]
    made = [workload.turn(talk, SIZE, 40, number) for workload in MAIN for number in range(4)]
    return made + [talk.turn(30, said=each, turn_id=f"more-{number}") for number, each in enumerate(said)]


def matchers(path: Path, engine: Engine, service: IntentService) -> Iterator[tuple[str, Matcher]]:
    analyzer = service.settings.analyzer
    yield "dictionary", Dictionary(stored_intents(path), analyzer)
    yield "scan", Scan(service, engine, SIZE)
    for name, build in installed_percolators().items():
        if build is not None:
            yield name, build(stored_intents(path), analyzer)


def test_other_matchers_find_what_fires(database: tuple[Path, Engine, IntentService]) -> None:
    path, engine, service = database
    others = list(matchers(path, engine, service))
    kinds = set()
    for turn in turns():
        expected = fired(engine, service, turn)
        assert len(expected) <= LIMITS.fires_per_turn
        kinds.add(len(expected))
        assert {name: matcher.keys(turn) for name, matcher in others} == dict.fromkeys(dict(others), expected)
    assert kinds == {0, 1, 2, 3}
    scan = dict(others)["scan"]
    assert isinstance(scan, Scan)
    scan.close()


@pytest.mark.parametrize("workload", [*MAIN, *OTHERS, *BESIDE_RETIRED], ids=lambda workload: workload.name)
@pytest.mark.parametrize("size", [10, 64])
def test_a_workload_fires_what_it_says(workload: Workload, size: int, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    engine = sqlite_engine(shelf.copy(workload.kind, size))
    service = service_of(engine, agent_id=workload.agent)
    talk = Talk(seed=2)
    for number in range(12):
        matches = service.match(workload.turn(talk, size, 30, number))
        assert (len(matches), matches.truncated) == (workload.fires, False)
    engine.dispose()


@pytest.mark.parametrize("sqlite", list(drivers()))
def test_the_queries_of_a_turn_are_sent_again(sqlite: str, database: tuple[Path, Engine, IntentService]) -> None:
    path, _, _ = database
    engine = sqlite_engine(path, drivers()[sqlite])
    talk = Talk(seed=5)
    almost = [MAIN[1].turn(talk, SIZE, 30, number) for number in range(3)]
    replay = Replay(service_of(engine), engine, almost, drivers()[sqlite], path)
    for number in range(len(almost)):
        (bare,), (core,) = replay.query(number), replay.core(number)
        assert [row[0] for row in bare] == [row[0] for row in core]
        assert len(bare) >= 20, "the turn has a word of each of these"
        assert len(replay.everything(number)) == replay.statements
    replay.close()
    engine.dispose()
