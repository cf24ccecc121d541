"""The search index, damaged in every way, comes back from the rows; a table rebuilt by others comes back whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Engine, String, event, text

from intents import ddl, doctor
from intents.errors import SchemaMismatch
from intents.migrate import check_schema, upgrade
from tests.schema.snapshot import snapshot
from tests.schema.support import Fill, found_by, indexed, live, messages, on_postgresql, on_sqlite, on_sqlite_files, run

# ---- the search index ----------------------------------------------------------------------------


def test_an_index_out_of_step_is_counted_and_filled_anew(engine: Engine, rows: dict[str, int]) -> None:
    if engine.dialect.name == "sqlite":
        run(
            engine,
            f"DELETE FROM {ddl.FTS} WHERE rowid = {rows['armed']}",
            f"INSERT INTO {ddl.FTS} (rowid, anchors, scope) VALUES ({rows['done']}, 'x', 'y')",
            f"UPDATE {ddl.FTS} SET scope = 'elsewhere' WHERE rowid = {rows['pending']}",
        )
        said = messages(engine)
        assert "2 live intent(s) are not in the full-text index as they are" in said
        assert "1 entry(ies) of the full-text index belong to no live intent" in said
    else:
        run(
            engine,
            f"DELETE FROM {ddl.ANCHORS} WHERE intent_key = {rows['armed']}",
            f"INSERT INTO {ddl.ANCHORS} VALUES ('main', 'scope', 'term', {rows['done']})",
        )
        said = messages(engine)
        assert f"2 anchor(s) of live intents are not in {ddl.ANCHORS}" in said
        assert f"1 row(s) of {ddl.ANCHORS} belong to no live intent" in said
    check_schema(engine)  # the schema is whole; only the rows disagree
    assert doctor.repair(engine) != []
    assert doctor.examine(engine) == []
    assert indexed(engine) == live(rows)
    assert doctor.repair(engine) == []


DAMAGE: dict[str, list[str]] = {
    "absent": [f"DROP TABLE {ddl.FTS}"],
    "with an older column set": [
        f"DROP TABLE {ddl.FTS}",
        f"CREATE VIRTUAL TABLE {ddl.FTS} USING fts5(anchors, tokenize = 'ascii')",
        f"INSERT INTO {ddl.FTS} (rowid, anchors) SELECT key, anchors FROM {ddl.INTENTS}",
    ],
    "with other settings": [f"INSERT INTO {ddl.FTS} ({ddl.FTS}, rank) VALUES ('automerge', 8)"],
    "an ordinary table": [f"DROP TABLE {ddl.FTS}", f"CREATE TABLE {ddl.FTS} (anchors, scope)"],
    "without its parent": [
        "PRAGMA writable_schema = ON",
        f"DELETE FROM sqlite_schema WHERE name = '{ddl.FTS}'",
        "PRAGMA writable_schema = RESET",
    ],
    **{f"without {shadow}": [f"DROP TABLE {shadow}"] for shadow in ddl.FTS_SHADOWS},
    "without anything behind it": [f"DROP TABLE {shadow}" for shadow in ddl.FTS_SHADOWS],
}


@on_sqlite_files
@pytest.mark.parametrize("mend", ["upgrade", "repair"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_full_text_table_is_rebuilt_from_the_rows(
    engine: Engine, rows: dict[str, int], damage: str, mend: str
) -> None:
    upgrade(engine)
    whole = snapshot(engine)
    run(engine, *DAMAGE[damage])
    engine.dispose()  # a connection that knew the table before does not see all of the damage
    with pytest.raises(SchemaMismatch, match=r"full-text index.*`intents doctor --repair`"):
        check_schema(engine)
    if mend == "upgrade":
        upgrade(engine)
    else:
        assert doctor.repair(engine) == [f"made the full-text index {ddl.FTS} anew from the live rows"]
    assert doctor.examine(engine) == []
    assert snapshot(engine) == whole
    assert found_by(engine) == indexed(engine) == live(rows)

    seen: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _cur, statement, *_: seen.append(statement))
    upgrade(engine)
    assert doctor.repair(engine) == []
    assert [s for s in seen if s.startswith(("CREATE", "DROP", "INSERT")) and "integrity-check" not in s] == []


@pytest.mark.parametrize("empty_engine", ["sqlite-file", "sqlite-new"], indirect=True)
def test_the_first_upgrade_removes_what_is_left_of_an_index(empty_engine: Engine) -> None:
    run(empty_engine, ddl.CREATE_FTS, *DAMAGE["without its parent"])
    empty_engine.dispose()
    upgrade(empty_engine)
    check_schema(empty_engine)


@on_sqlite_files
def test_a_corrupt_full_text_index_is_found_and_rebuilt(engine: Engine, rows: dict[str, int]) -> None:
    run(engine, f"UPDATE {ddl.FTS}_data SET block = x'00ff00ff' WHERE id > 10")
    engine.dispose()
    check_schema(engine)
    assert "corrupt" in messages(engine)
    doctor.repair(engine)
    assert found_by(engine) == live(rows)
    assert doctor.examine(engine) == []


@on_postgresql
def test_a_missing_anchor_table_is_made_and_filled(engine: Engine, rows: dict[str, int]) -> None:
    whole = snapshot(engine)
    run(engine, f"DROP TABLE {ddl.ANCHORS}")
    with pytest.raises(
        SchemaMismatch, match=r"search index standing_intent_anchors is missing.*`intents doctor --repair`"
    ):
        check_schema(engine)
    upgrade(engine)
    assert snapshot(engine) == whole
    assert indexed(engine) == live(rows)


# ---- a batch rebuild by a host's migration -------------------------------------------------------


def batch_rebuild(engine: Engine, *, column: bool = False) -> None:
    with engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("standing_intents", recreate="always") as batch:
            if column:
                batch.add_column(Column("tenant", String(20)))


def plain_rebuild(engine: Engine) -> None:
    """As by hand: every constraint, the primary key included, is lost."""
    run(
        engine,
        "CREATE TABLE other AS SELECT * FROM standing_intents",
        "DROP TABLE standing_intents",
        "ALTER TABLE other RENAME TO standing_intents",
    )


@on_sqlite
@pytest.mark.parametrize("foreign_keys", ["off", "on"])
@pytest.mark.parametrize("rebuild", [batch_rebuild, plain_rebuild])
def test_after_a_rebuild_the_doctor_names_what_is_missing_and_mends_it(
    engine: Engine, rows: dict[str, int], fill: Fill, foreign_keys: str, rebuild: Callable[[Engine], None]
) -> None:
    whole = snapshot(engine)
    run(
        engine,
        "INSERT INTO standing_intent_events (agent_id, intent_key, event, to_status, at, actor)"
        f" VALUES ('main', {rows['armed']}, 'create', 'armed', '2026-07-27 12:00:00.000000', 'x')",
        "INSERT INTO standing_intent_events (agent_id, intent_key, event, to_status, at, actor)"
        " VALUES ('main', 500, 'create', 'armed', '2026-07-27 12:00:00.000000', 'x')",
    )
    rebuild(engine)
    mine = (
        "CREATE INDEX ix_mine ON standing_intents (language)",
        "CREATE TRIGGER trigger_mine AFTER DELETE ON standing_intents BEGIN SELECT 1; END",
    )
    run(engine, *mine)
    run(engine, "CREATE VIEW live_reminders AS SELECT id, description FROM standing_intents WHERE status = 'armed'")
    said = messages(engine)
    assert "the table standing_intents lost AUTOINCREMENT" in said
    for name in ("ck_standing_intents_status", "uq_standing_intents_id", "fk_standing_intents_held_turn_key"):
        assert (f"the constraint {name} is missing" in said) == (rebuild is plain_rebuild)
    for trigger in ddl.sqlite_triggers():
        if trigger.startswith("standing_intents_"):
            assert f"the trigger {trigger} is missing" in said
    with pytest.raises(SchemaMismatch, match=r"damaged: .*; and \d+ more\. Run `intents doctor --repair`"):
        check_schema(engine)
    with engine.begin() as connection:
        late = fill(connection, key=77)
    if foreign_keys == "on":
        run(engine, "DELETE FROM standing_intent_events WHERE intent_key = 500")
        with engine.connect() as connection:  # a pool of one connection, so this one is the next one too
            connection.connection.dbapi_connection.execute("PRAGMA foreign_keys = ON")  # type: ignore[union-attr]

    done = doctor.repair(engine)
    assert any("made the table standing_intents anew with all its rows" in line for line in done)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA foreign_keys")) == (foreign_keys == "on")
    left = [
        finding
        for finding in doctor.examine(engine)
        if finding.name != "standing_intent_events.fk_standing_intent_events_intent_key"
    ]
    assert left == []
    check_schema(engine)
    made = snapshot(engine)
    assert {key: value for key, value in made.items() if "_mine" not in key[1] and key[1] != "live_reminders"} == whole
    assert (made["index", "ix_mine"], made["trigger", "trigger_mine"]) == mine
    assert indexed(engine) == sorted([*live(rows), late])
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT count(*) FROM standing_intents")) == len(rows) + 1
        last = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'standing_intents'"))
        assert last == (late if foreign_keys == "on" else 500)
        assert fill(connection) == last + 1
    assert doctor.repair(engine) == []


@on_sqlite
def test_a_rebuild_that_would_lose_a_hosts_column_is_not_made(engine: Engine, rows: dict[str, int]) -> None:
    batch_rebuild(engine, column=True)
    done = doctor.repair(engine)
    assert not any("anew with all its rows" in line for line in done)
    left = doctor.examine(engine)
    assert left
    assert all("columns of your own (tenant) would be lost" in finding.message for finding in left)
    assert [finding.kind for finding in left] == ["autoincrement"]
    with pytest.raises(SchemaMismatch, match="by a migration"):
        check_schema(engine)
    assert indexed(engine) == live(rows)  # triggers and index are back all the same


@on_sqlite
def test_rows_that_break_a_lost_rule_stop_the_rebuild_and_are_counted(engine: Engine, rows: dict[str, int]) -> None:
    plain_rebuild(engine)
    run(engine, f"UPDATE standing_intents SET max_fires = 0 WHERE key = {rows['cancelled']}")
    doctor.repair(engine)
    assert "1 row(s) of standing_intents break max_fires" in messages(engine)
    run(engine, f"UPDATE standing_intents SET max_fires = 1 WHERE key = {rows['cancelled']}")
    doctor.repair(engine)
    assert doctor.examine(engine) == []


@on_sqlite_files
def test_samples_of_the_full_text_index_are_found_and_removed(engine: Engine, rows: dict[str, int]) -> None:
    """A SQLite with STAT4 plans every look-up of FTS5 anew once its tables were sampled."""
    run(engine, "ANALYZE")
    with engine.connect() as connection:
        catalogue = connection.exec_driver_sql("SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat4'").all()
        options = connection.exec_driver_sql("PRAGMA compile_options").scalars().all()
    assert bool(catalogue) == ("ENABLE_STAT4" in options)
    check_schema(engine)
    assert [finding.kind for finding in doctor.examine(engine)] == ["statistics"] * len(catalogue)
    assert len(doctor.repair(engine)) == len(catalogue)
    assert doctor.examine(engine) == []
    if catalogue:
        with engine.connect() as connection:
            left = connection.exec_driver_sql("SELECT DISTINCT tbl FROM sqlite_stat4").scalars().all()
        assert "standing_intents" in left
    assert indexed(engine) == live(rows)
