"""`check_schema` names what is wrong and the command to run, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_mock_engine

from intents import blueprint, doctor
from intents.errors import SchemaMismatch, UnsupportedDialect
from intents.migrate import check_schema, upgrade
from tests.schema.snapshot import snapshot
from tests.schema.support import indexed, installed_with_a_stray_revision, live, run

# ---- whole ---------------------------------------------------------------------------------------


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


# ---- missing, older, newer -----------------------------------------------------------------------


def test_missing(empty_engine: Engine) -> None:
    with pytest.raises(
        SchemaMismatch, match=r"are missing in this database.*`intents upgrade`.*`alembic upgrade heads`"
    ):
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
    run(
        engine,
        "CREATE TABLE alembic_version (version_num VARCHAR(32))",
        "INSERT INTO alembic_version VALUES ('a1b2c3')",
    )
    check_schema(engine)


def test_a_revision_of_somebody_elses_in_the_installed_package(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = installed_with_a_stray_revision(tmp_path, monkeypatch)
    with pytest.raises(SchemaMismatch, match=rf"{re.escape(str(stray))}.*--head .*@head --version-path") as raised:
        check_schema(engine)
    assert str(stray) in raised.value.problem
    assert "your own versions directory" in raised.value.remedy
    stray.unlink()
    check_schema(engine)


# ---- what cannot carry the library ---------------------------------------------------------------


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
