"""Autogenerate finds nothing to do, in the library's environment and in a host's, and hides nothing of the host's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Engine, ForeignKey, Index, Integer, MetaData, String, Table, text

from intents import ddl
from intents.blueprint import TABLE_NAMES
from intents.migrate import include_name, include_only_ours, upgrade
from intents.models import metadata
from tests.schema.support import MIGRATIONS


def differences(engine: Engine, target: MetaData, **options: Any) -> list[Any]:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True, **options})
        return compare_metadata(context, target)


def host_metadata() -> MetaData:
    """A host's own tables; ``orders_data`` looks like a table behind a full-text index and is none."""
    host = MetaData()
    Table("orders", host, Column("id", Integer, primary_key=True), Column("name", String(50)))
    Table("orders_data", host, Column("id", Integer, primary_key=True), Column("order_id", ForeignKey("orders.id")))
    Table("standing_intents_extra", host, Column("id", Integer, primary_key=True), Column("note", String(50)))
    Index("ix_orders_name", host.tables["orders"].c.name)
    return host


def test_our_own_environment_compares_equal_twice(empty_engine: Engine) -> None:
    for _ in range(2):
        upgrade(empty_engine)
        assert (
            differences(empty_engine, metadata, include_name=include_only_ours, version_table="intents_alembic_version")
            == []
        )


def test_our_own_environment_sees_a_change_of_a_partial_index(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    with empty_engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_standing_intents_live_expiry"))
    found = differences(empty_engine, metadata, include_name=include_only_ours, version_table="intents_alembic_version")
    assert [difference[0] for difference in found] == ["add_index"]


def test_autogenerate_writes_an_empty_revision_with_the_next_number(
    sqlite_empty_engine: Engine, tmp_path: Path
) -> None:
    upgrade(sqlite_empty_engine)
    (tmp_path / "migrations" / "versions").mkdir(parents=True)
    for name in ("env.py", "script.py.mako", "versions/intents_0001_standing_intents.py"):
        (tmp_path / "migrations" / name).write_text((MIGRATIONS / name).read_text())
    config = Config(str(tmp_path / "alembic.ini"))
    config.set_main_option("script_location", str(tmp_path / "migrations"))
    with sqlite_empty_engine.connect() as connection:
        config.attributes["connection"] = connection
        command.check(config)
        script = command.revision(config, "nothing new", autogenerate=True)
    assert not isinstance(script, list)
    assert script is not None
    assert script.revision == "intents_0002"
    written = Path(script.path)
    assert written.name == "intents_0002_nothing_new.py"
    assert "pass" in written.read_text()
    compile(written.read_text(), str(written), "exec")
    assert ScriptDirectory(str(tmp_path / "migrations")).get_heads() == ["intents_0002"]
    with sqlite_empty_engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        command.downgrade(config, "base")


def test_a_host_without_the_filter_would_drop_our_tables(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    dropped = {d[1].name for d in differences(empty_engine, host_metadata()) if d[0] == "remove_table"}
    assert {"standing_intents", "intents_alembic_version"} <= dropped
    assert (f"{ddl.FTS}_data" in dropped) == (empty_engine.dialect.name == "sqlite")


def test_a_host_with_the_filter_sees_all_of_its_own_and_none_of_ours(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    host = host_metadata()
    found = differences(empty_engine, host, include_name=include_name)
    assert sorted(d[1].name for d in found if d[0] == "add_table") == [
        "orders",
        "orders_data",
        "standing_intents_extra",
    ]
    assert all(d[0] in ("add_table", "add_index") for d in found)

    host.create_all(empty_engine)
    assert differences(empty_engine, host, include_name=include_name) == []
    assert differences(empty_engine, host, include_name=include_name) == []

    # Nothing of the host's is hidden: what it takes out of its models is to be dropped.
    gone = {
        d[1].name for d in differences(empty_engine, MetaData(), include_name=include_name) if d[0] == "remove_table"
    }
    assert gone == {"orders", "orders_data", "standing_intents_extra"}


def test_the_filter_composes_with_a_filter_of_the_hosts(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    host = host_metadata()
    host.create_all(empty_engine)

    def mine(name: str | None, type_: str, parent_names: Any) -> bool:
        return include_name(name, type_, parent_names) and not (type_ == "table" and name == "orders_data")

    found = differences(empty_engine, host, include_name=mine)
    assert [d[1].name for d in found if d[0] == "add_table"] == ["orders_data"]


@pytest.mark.parametrize("type_", ["schema", "column", "index", "unique_constraint", "foreign_key_constraint"])
def test_only_tables_are_filtered(type_: str) -> None:
    for name in (*TABLE_NAMES, None):
        assert include_name(name, type_, {})


def test_every_table_that_the_schema_makes_is_known_by_name(empty_engine: Engine) -> None:
    upgrade(empty_engine)
    with empty_engine.connect() as connection:
        names = set(empty_engine.dialect.get_table_names(connection))
    assert {name for name in names if "intent" in name} <= TABLE_NAMES
