"""A filled database is what the library would have made of the same intents."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.loading import OWNER, START, Block, Family, expire_rows, fill, fire_rows, sqlite_engine
from benchmarks.workloads import CROWDED, OWN, SHARED, mixed_blocks, service_of
from intents import Turn

#: One row more than the pattern needs to begin, and some.
COUNT = 24
FAMILIES = [SHARED, OWN, CROWDED, Family("deployment review topic{n}ou", conversation="C{n}", settles=4)]


def everything(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables that creation writes, without random ids."""
    connection = sqlite3.connect(path)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(standing_intents)") if row[1] != "id"]
    found = {
        "intents": connection.execute(f"SELECT {', '.join(columns)} FROM standing_intents ORDER BY key").fetchall(),
        "index": connection.execute("SELECT rowid, anchors, scope FROM standing_intents_fts ORDER BY rowid").fetchall(),
        "log": connection.execute(
            "SELECT agent_id, intent_key, event, from_status, to_status, at, turn_id, actor, detail"
            " FROM standing_intent_events ORDER BY intent_key, key"
        ).fetchall(),
        "schema": connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall(),
    }
    connection.close()
    return found


def create(path: Path, blocks: list[Block]) -> None:
    engine = sqlite_engine(path)
    for block in blocks:
        service = service_of(engine, agent_id=block.agent)
        for number in block.numbers:
            service.create(block.family.draft(number), by=OWNER)
    engine.dispose()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.keyword}, {family.conversation}")
def test_a_filled_row_is_a_created_row(family: Family, tmp_path: Path) -> None:
    blocks = [Block(family, range(100, 100 + COUNT)), Block(family, range(COUNT), "another")]
    fill(tmp_path / "filled.db", blocks)
    create(tmp_path / "created.db", blocks)
    assert everything(tmp_path / "filled.db") == everything(tmp_path / "created.db")


def test_a_filled_mixture_is_a_created_mixture(tmp_path: Path) -> None:
    assert fill(tmp_path / "filled.db", mixed_blocks(45)) == 45
    create(tmp_path / "created.db", mixed_blocks(45))
    assert everything(tmp_path / "filled.db") == everything(tmp_path / "created.db")


def state(path: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT status, fire_count, last_fired_at, rearm_at, cooldown_seconds, updated_at, version"
        " FROM standing_intents ORDER BY key"
    ).fetchall()
    indexed = connection.execute("SELECT count(*) FROM standing_intents_fts").fetchone()
    connection.close()
    return [*rows, indexed]


def test_a_row_that_cools_down_is_as_after_a_fire(tmp_path: Path) -> None:
    fill(tmp_path / "filled.db", [Block(SHARED, range(2))])
    fire_rows(tmp_path / "filled.db", every=2, rearm_at=START + timedelta(days=1))
    engine = sqlite_engine(tmp_path / "created.db")
    service = service_of(engine)
    for number in range(2):
        draft = SHARED.draft(number)
        service.create(draft.model_copy(update={"cooldown": timedelta(days=1)}) if number else draft, by=OWNER)
    assert len(service.match(Turn(text="deployment review topic1ou", identity=OWNER))) == 1
    engine.dispose()
    assert state(tmp_path / "filled.db") == state(tmp_path / "created.db")


def test_a_row_that_expires_is_as_if_created_so(tmp_path: Path) -> None:
    soon = START + timedelta(hours=1)
    fill(tmp_path / "filled.db", [Block(SHARED, range(2))])
    expire_rows(tmp_path / "filled.db", up_to=1, at=soon)
    engine = sqlite_engine(tmp_path / "created.db")
    service = service_of(engine)
    first = SHARED.draft(0).model_copy(update={"expires_at": soon})
    for draft in (first, SHARED.draft(1)):
        service.create(draft, by=OWNER)
    engine.dispose()
    for path in (tmp_path / "filled.db", tmp_path / "created.db"):
        engine = sqlite_engine(path)
        assert service_of(engine, lambda: soon).sweep().expired == 1
        engine.dispose()
    assert state(tmp_path / "filled.db") == state(tmp_path / "created.db")
