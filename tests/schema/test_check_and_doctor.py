"""`check_schema` names what is wrong and the command to run; the doctor mends what can be mended, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Engine, String, Table, create_mock_engine, event, text

from intents import blueprint, ddl, doctor
from intents.blueprint import create_table
from intents.errors import ConcurrentUpdate, SchemaMismatch, UnsupportedDialect
from intents.migrate import check_schema, upgrade
from intents.models import StandingIntent
from tests.schema.rows import NOW
from tests.schema.snapshot import snapshot

Fill = Callable[..., int]
SQLITE = ("sqlite-file", "sqlite-memory", "sqlite-new")
on_sqlite = pytest.mark.parametrize("engine", SQLITE, indirect=True)
on_sqlite_files = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
on_postgresql = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)


def run(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def indexed(engine: Engine) -> list[int]:
    """The keys that the search index knows."""
    query = (
        f"SELECT rowid FROM {ddl.FTS} ORDER BY rowid"
        if engine.dialect.name == "sqlite"
        else f"SELECT DISTINCT intent_key FROM {ddl.ANCHORS} ORDER BY 1"
    )
    with engine.connect() as connection:
        return list(connection.scalars(text(query)))


def found_by(engine: Engine, term: str = "a0000000000636f") -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(text(f"SELECT rowid FROM {ddl.FTS} WHERE {ddl.FTS} MATCH :term"), {"term": term}))


def messages(engine: Engine) -> str:
    return "; ".join(finding.message for finding in doctor.examine(engine))


@pytest.fixture
def rows(engine: Engine, fill: Fill) -> dict[str, int]:
    """One intent of every status; three of them live."""
    with engine.begin() as connection:
        return {
            status: fill(connection, status=status)
            for status in ("pending", "armed", "fired", "done", "cancelled", "expired")
        }


def live(rows: dict[str, int]) -> list[int]:
    return sorted(rows[status] for status in ("pending", "armed", "fired"))


# ---- whole -------------------------------------------------------------------------------------------------------------


def test_a_whole_schema_passes_and_nothing_is_written(engine: Engine, rows: dict[str, int]) -> None:
    before = snapshot(engine)
    check_schema(engine)
    with engine.connect() as connection:
        check_schema(connection)
        assert not connection.in_transaction()
        host = connection.begin()
        check_schema(connection)
        assert connection.in_transaction()
        host.rollback()
    assert doctor.examine(engine) == []
    assert doctor.repair(engine) == []
    assert snapshot(engine) == before
    assert indexed(engine) == live(rows)


def test_an_upgraded_schema_passes(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    check_schema(empty_engine)
    assert doctor.examine(empty_engine) == []


def test_what_a_host_adds_is_not_damage(engine: Engine) -> None:
    run(
        engine,
        "ALTER TABLE standing_intents ADD COLUMN tenant VARCHAR(20)",
        "CREATE INDEX ix_mine ON standing_intents (tenant)",
    )
    check_schema(engine)
    assert doctor.examine(engine) == []
    upgrade(engine)
    assert ("index", "ix_mine") in snapshot(engine) or ("indexes", "ix_mine") in snapshot(engine)


# ---- missing, older, newer ---------------------------------------------------------------------------------------------


def test_missing(empty_engine: Engine) -> None:
    with pytest.raises(SchemaMismatch, match=r"are missing in this database.*`intents upgrade`.*`alembic upgrade heads`"):
        check_schema(empty_engine)
    assert snapshot(empty_engine) == {}
    with pytest.raises(SchemaMismatch, match="intents upgrade"):
        doctor.repair(empty_engine)


@pytest.mark.parametrize("table", ["intents_alembic_version", "alembic_version"])
def test_newer(engine: Engine, table: str) -> None:
    run(engine, f"CREATE TABLE {table} (version_num VARCHAR(32))", f"INSERT INTO {table} VALUES ('intents_0999')")
    with pytest.raises(SchemaMismatch, match=r"newer version: intents_0999.*pip install --upgrade standing-intents"):
        check_schema(engine)


def test_older(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade(engine)
    monkeypatch.setattr("intents.migrate._heads", lambda _script: frozenset({"intents_0002"}))
    with pytest.raises(SchemaMismatch, match=r"older than this version: they are at intents_0001.*`intents upgrade`"):
        check_schema(engine)


def test_revisions_of_the_hosts_own_are_none_of_ours(engine: Engine) -> None:
    run(engine, "CREATE TABLE alembic_version (version_num VARCHAR(32))", "INSERT INTO alembic_version VALUES ('a1b2c3')")
    check_schema(engine)


# ---- what cannot carry the library ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [check_schema, upgrade, doctor.examine, doctor.repair])
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (("3.36.0", True), r"sqlite: this is SQLite 3\.36\.0, and 3\.37 or newer is needed.*pysqlite3"),
        (("3.8.11.1", True), r"3\.8\.11\.1, and 3\.37"),
        (("3.45.1", False), r"3\.45\.1 was built without FTS5.*module=pysqlite3"),
    ],
)
def test_an_unfit_sqlite(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, facts: tuple[str, bool], said: str, call: Callable[..., Any]
) -> None:
    monkeypatch.setattr(blueprint, "sqlite_facts", lambda _connection: facts)
    with pytest.raises(UnsupportedDialect, match=said):
        call(sqlite_engine)


def test_the_sqlites_of_this_machine_are_told_apart_by_their_own_word(empty_engine: Engine) -> None:
    if empty_engine.dialect.name == "sqlite":
        with empty_engine.connect() as connection:
            version, has_fts5 = blueprint.sqlite_facts(connection)
        assert version == empty_engine.dialect.dbapi.sqlite_version  # type: ignore[union-attr]
        assert has_fts5


def test_another_dialect_is_refused() -> None:
    engine = create_mock_engine("mssql+pyodbc://", lambda *_: None)
    with pytest.raises(UnsupportedDialect, match=r"^mssql: .*SQLite or PostgreSQL"):
        blueprint.blueprint_for(engine.dialect.name)


# ---- damage on every dialect ---------------------------------------------------------------------------------------------


def test_a_missing_index_is_named_and_made(engine: Engine) -> None:
    whole = snapshot(engine)
    run(engine, "DROP INDEX ix_standing_intents_live_expiry")
    with pytest.raises(SchemaMismatch, match=r"index ix_standing_intents_live_expiry is missing.*`intents doctor --repair`"):
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
        run(engine, "PRAGMA ignore_check_constraints = ON", "UPDATE standing_intents SET max_fires = 5000 WHERE status = 'armed'")
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
    assert "1 live row(s) of standing_intents have anchors that no turn can reach; run `intents reindex`" in messages(engine)


def test_rows_that_refer_to_nothing_are_counted(engine: Engine, rows: dict[str, int]) -> None:
    if engine.dialect.name == "postgresql":
        run(engine, "ALTER TABLE standing_intent_firings DROP CONSTRAINT fk_standing_intent_firings_turn_key")
    run(
        engine,
        "INSERT INTO standing_intent_firings (turn_key, intent_key, entry, fired_at)"
        f" VALUES (77, {rows['fired']}, 'rc', '{NOW:%Y-%m-%d %H:%M:%S.%f}')",
    )
    assert "1 row(s) of standing_intent_firings refer to a row of standing_intent_turns that is gone" in messages(engine)
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


# ---- the search index ----------------------------------------------------------------------------------------------------


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
    with pytest.raises(SchemaMismatch, match=rf"full-text index.*`intents doctor --repair`"):
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
    with pytest.raises(SchemaMismatch, match=r"search index standing_intent_anchors is missing.*`intents doctor --repair`"):
        check_schema(engine)
    upgrade(engine)
    assert snapshot(engine) == whole
    assert indexed(engine) == live(rows)


# ---- triggers ------------------------------------------------------------------------------------------------------------


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
    run(engine, f"DROP TRIGGER {name}", f"CREATE TRIGGER {name} BEFORE UPDATE OF status ON standing_intents BEGIN SELECT 1; END")
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
            "CREATE OR REPLACE FUNCTION standing_intent_events_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
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
    assert name in create_table(cast("Table", StandingIntent.__table__), engine.dialect)  # the model itself is untouched


# ---- a batch rebuild by a host's migration ---------------------------------------------------------------------------------


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
    left = [finding for finding in doctor.examine(engine) if finding.name != "standing_intent_events.fk_standing_intent_events_intent_key"]
    assert left == []
    check_schema(engine)
    made = snapshot(engine)
    assert {key: value for key, value in made.items() if "live_reminders" not in key} == whole
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
    assert all("your own additions (tenant) would be lost" in finding.message for finding in left)
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
    run(engine, "CREATE TABLE standing_intents_fts_mine (x INTEGER)", "INSERT INTO standing_intents_fts_mine VALUES (1)")
    run(engine, "DROP INDEX ix_standing_intents_live_expiry")
    doctor.repair(engine)
    upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT x FROM standing_intents_fts_mine")) == 1
