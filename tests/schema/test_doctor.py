"""The doctor names what is wrong and mends what can be mended, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from sqlalchemy import Engine, Table, event, text

from intents import ddl, doctor
from intents.blueprint import create_table
from intents.errors import ConcurrentUpdate, SchemaMismatch
from intents.migrate import check_schema, upgrade
from intents.models import StandingIntent
from tests.schema.rows import NOW
from tests.schema.snapshot import snapshot
from tests.schema.support import Fill, indexed, messages, on_postgresql, on_sqlite, on_sqlite_files, run

# ---- damage on every dialect ---------------------------------------------------------------------


def test_a_missing_index_is_named_and_made(engine: Engine) -> None:
    whole = snapshot(engine)
    run(engine, "DROP INDEX ix_standing_intents_live_expiry")
    with pytest.raises(
        SchemaMismatch, match=r"index ix_standing_intents_live_expiry is missing.*`intents doctor --repair`"
    ):
        check_schema(engine)
    assert doctor.repair(engine) == ["made the index ix_standing_intents_live_expiry"]
    assert doctor.repair(engine) == []
    assert snapshot(engine) == whole


def test_another_index_of_the_same_name_is_replaced(engine: Engine) -> None:
    whole = snapshot(engine)
    run(
        engine,
        "DROP INDEX uq_standing_intents_live_fingerprint",
        "CREATE INDEX uq_standing_intents_live_fingerprint ON standing_intents (agent_id, fingerprint)",
    )
    with pytest.raises(SchemaMismatch, match="uq_standing_intents_live_fingerprint differs"):
        check_schema(engine)
    doctor.repair(engine)
    assert snapshot(engine) == whole


def test_a_unique_index_that_rows_forbid_is_left_and_said(engine: Engine, fill: Fill) -> None:
    run(engine, "DROP INDEX uq_standing_intents_live_fingerprint")
    if engine.dialect.name == "sqlite":
        run(engine, "DROP TRIGGER standing_intents_guard_insert")
    with engine.begin() as connection:
        for _ in range(2):
            fill(connection, fingerprint="f" * 64)
    doctor.repair(engine)
    left = doctor.examine(engine)
    assert {finding.kind for finding in left} == {"index", "unrepairable_row"}
    assert "share agent_id, fingerprint with another row" in messages(engine)
    run(engine, "DELETE FROM standing_intents WHERE key = (SELECT max(key) FROM standing_intents)")
    doctor.repair(engine)
    assert doctor.examine(engine) == []


def test_a_missing_column_is_named_and_not_invented(engine: Engine) -> None:
    run(engine, "ALTER TABLE standing_intent_turns DROP COLUMN session_id")
    with pytest.raises(SchemaMismatch, match=r"column standing_intent_turns\.session_id is missing.*backup"):
        check_schema(engine)
    assert doctor.repair(engine) == []
    assert "standing_intent_turns.session_id" in messages(engine)


def test_a_missing_table_is_named_and_made_empty(engine: Engine) -> None:
    whole = snapshot(engine)
    run(engine, "DROP TABLE standing_intent_firings")
    with pytest.raises(SchemaMismatch, match=r"table standing_intent_firings is missing.*`intents doctor --repair`"):
        check_schema(engine)
    assert any("empty: what was in it can only come from a backup" in line for line in doctor.repair(engine))
    assert snapshot(engine) == whole


def test_rows_that_break_a_rule_are_counted(engine: Engine, rows: dict[str, int]) -> None:
    if engine.dialect.name == "sqlite":
        run(
            engine,
            "PRAGMA ignore_check_constraints = ON",
            "UPDATE standing_intents SET max_fires = 5000 WHERE status = 'armed'",
        )
        run(engine, "PRAGMA ignore_check_constraints = OFF")
    else:
        run(
            engine,
            "ALTER TABLE standing_intents DROP CONSTRAINT ck_standing_intents_max_fires",
            "UPDATE standing_intents SET max_fires = 5000 WHERE status = 'armed'",
        )
    assert "1 row(s) of standing_intents break max_fires BETWEEN 1 AND 1000" in messages(engine)
    doctor.repair(engine)
    run(engine, "UPDATE standing_intents SET max_fires = 50 WHERE status = 'armed'")
    doctor.repair(engine)
    assert doctor.examine(engine) == []


def test_anchors_that_no_turn_can_reach_are_counted(engine: Engine, fill: Fill) -> None:
    with engine.begin() as connection:
        fill(connection, anchors="Release-Candidate")
        fill(connection, anchors="Release-Candidate", status="cancelled")
    assert "1 live row(s) of standing_intents have anchors that no turn can reach; run `intents reindex`" in messages(
        engine
    )


def test_rows_that_refer_to_nothing_are_counted(engine: Engine, rows: dict[str, int]) -> None:
    if engine.dialect.name == "postgresql":
        run(engine, "ALTER TABLE standing_intent_firings DROP CONSTRAINT fk_standing_intent_firings_turn_key")
    run(
        engine,
        "INSERT INTO standing_intent_firings (turn_key, intent_key, entry, fired_at)"
        f" VALUES (77, {rows['fired']}, 'rc', '{NOW:%Y-%m-%d %H:%M:%S.%f}')",
    )
    assert "1 row(s) of standing_intent_firings refer to a row of standing_intent_turns that is gone" in messages(
        engine
    )
    doctor.repair(engine)


def test_repair_in_a_hosts_transaction_is_undone_with_it(engine: Engine) -> None:
    run(engine, "DROP INDEX ix_standing_intents_live_expiry")
    damaged = snapshot(engine)
    with engine.connect() as connection:
        host = connection.begin()
        assert doctor.repair(connection)
        check_schema(connection)
        host.rollback()
    assert snapshot(engine) == damaged


# ---- triggers ------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize("trigger", ddl.sqlite_triggers())
def test_a_missing_trigger_is_named_and_made(engine: Engine, fill: Fill, trigger: str) -> None:
    whole = snapshot(engine)
    run(engine, f"DROP TRIGGER {trigger}")
    with engine.begin() as connection:
        key = fill(connection)  # while the trigger is away, the index may miss it
    with pytest.raises(SchemaMismatch, match=rf"trigger {trigger} is missing.*`intents doctor --repair`"):
        check_schema(engine)
    assert f"made the trigger {trigger}" in doctor.repair(engine)
    assert snapshot(engine) == whole
    assert indexed(engine) == [key]


@on_sqlite
def test_an_older_trigger_is_replaced(engine: Engine) -> None:
    whole = snapshot(engine)
    name = "standing_intents_guard_status"
    run(
        engine,
        f"DROP TRIGGER {name}",
        f"CREATE TRIGGER {name} BEFORE UPDATE OF status ON standing_intents BEGIN SELECT 1; END",
    )
    with pytest.raises(SchemaMismatch, match=f"trigger {name} differs"):
        check_schema(engine)
    upgrade(engine)
    assert snapshot(engine) == whole


@on_postgresql
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DROP TRIGGER standing_intents_guard ON standing_intents", "standing_intents_guard is missing"),
        ("DROP FUNCTION standing_intents_guard CASCADE", "standing_intents_guard is missing"),
        ("ALTER TABLE standing_intents DISABLE TRIGGER standing_intents_guard", "standing_intents_guard is disabled"),
        (
            "CREATE OR REPLACE FUNCTION standing_intent_events_guard() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN RETURN NEW; END $$",
            "standing_intent_events_guard differs",
        ),
    ],
)
@pytest.mark.parametrize("mend", [upgrade, doctor.repair])
def test_triggers_of_postgresql(engine: Engine, damage: str, said: str, mend: Callable[[Engine], Any]) -> None:
    whole = snapshot(engine)
    run(engine, damage)
    with pytest.raises(SchemaMismatch, match=rf"{said}.*`intents doctor --repair`"):
        check_schema(engine)
    mend(engine)
    check_schema(engine)
    assert snapshot(engine) == whole


@on_postgresql
@pytest.mark.parametrize(
    "damage",
    [
        "DROP CONSTRAINT ck_standing_intents_status",
        "DROP CONSTRAINT uq_standing_intents_id",
        "DROP CONSTRAINT fk_standing_intents_held_turn_key",
        "DROP CONSTRAINT pk_standing_intents CASCADE",
    ],
)
def test_constraints_of_postgresql(engine: Engine, damage: str) -> None:
    whole = snapshot(engine)
    name = damage.split()[2]
    run(engine, f"ALTER TABLE standing_intents {damage}")
    with pytest.raises(SchemaMismatch, match=rf"constraint {name} is missing.*`intents doctor --repair`"):
        check_schema(engine)
    assert f"added the constraint {name}" in doctor.repair(engine)
    assert snapshot(engine) == whole
    assert name in create_table(
        cast("Table", StandingIntent.__table__), engine.dialect
    )  # the model itself is untouched


@on_sqlite_files
def test_examining_a_locked_database_is_a_typed_error(engine: Engine) -> None:
    event.listen(engine, "connect", lambda raw, _record: raw.execute("PRAGMA busy_timeout = 20"))
    engine.dispose()
    holder = engine.connect()
    holder.exec_driver_sql("BEGIN IMMEDIATE")
    for call in (doctor.examine, doctor.repair):
        with pytest.raises(ConcurrentUpdate):
            call(engine)
    holder.close()
    assert doctor.examine(engine) == []


def test_a_table_of_the_hosts_is_never_touched(engine: Engine) -> None:
    run(
        engine, "CREATE TABLE standing_intents_fts_mine (x INTEGER)", "INSERT INTO standing_intents_fts_mine VALUES (1)"
    )
    run(engine, "DROP INDEX ix_standing_intents_live_expiry")
    doctor.repair(engine)
    upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT x FROM standing_intents_fts_mine")) == 1
