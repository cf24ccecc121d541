"""`intents.upgrade`: whole or not at all, in whatever transaction the host has."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from intents.errors import ConcurrentUpdate, UnsupportedDialect
from intents.migrate import check_schema, downgrade, upgrade
from tests.schema.snapshot import snapshot

MakeEngine = Callable[..., Engine]


def emits_begin(engine: Engine) -> Engine:
    """SQLAlchemy's recipe for pysqlite: the driver begins nothing, the engine does."""

    @event.listens_for(engine, "connect")
    def _connect(raw: Any, _record: Any) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


MODES: dict[str, Callable[[MakeEngine], Engine]] = {
    "legacy": lambda make: make(),
    "legacy, WAL": lambda make: with_wal(make()),
    "isolation_level None and an event": lambda make: emits_begin(make()),
    "isolation_level IMMEDIATE": lambda make: make(connect_args={"isolation_level": "IMMEDIATE"}),
}
if sys.version_info >= (3, 12):
    MODES["autocommit=False"] = lambda make: make(connect_args={"autocommit": False})


def with_wal(engine: Engine) -> Engine:
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    return engine


@pytest.fixture(params=[*MODES, "postgresql"])
def moded_engine(request: pytest.FixtureRequest, engine_factory: MakeEngine) -> Engine:
    """An empty database in every transaction mode of the drivers."""
    if request.param == "postgresql":
        return engine_factory(request.getfixturevalue("postgresql_url"))
    return MODES[request.param](engine_factory)


def test_an_engine_gets_a_transaction_of_its_own(moded_engine: Engine) -> None:
    upgrade(moded_engine)
    check_schema(moded_engine)
    downgrade(moded_engine, "base")
    assert snapshot(moded_engine) == {}


def test_an_idle_connection_is_committed_and_left_idle(moded_engine: Engine) -> None:
    with moded_engine.connect() as connection:
        upgrade(connection)
        assert not connection.in_transaction()
    check_schema(moded_engine)


def test_a_hosts_transaction_is_joined_and_its_commit_counts(moded_engine: Engine) -> None:
    with moded_engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
        connection.execute(text("INSERT INTO orders VALUES (1)"))
        upgrade(connection)
        assert connection.in_transaction()
        connection.execute(text("INSERT INTO orders VALUES (2)"))
    check_schema(moded_engine)
    with moded_engine.connect() as connection:
        assert connection.scalars(text("SELECT id FROM orders ORDER BY id")).all() == [1, 2]


@pytest.mark.parametrize("first", ["nothing", "a read", "a write"])
def test_a_hosts_rollback_takes_the_schema_with_it(moded_engine: Engine, first: str) -> None:
    with moded_engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
    with moded_engine.connect() as connection:
        host = connection.begin()
        if first == "a read":
            connection.execute(text("SELECT count(*) FROM orders"))
        elif first == "a write":
            connection.execute(text("INSERT INTO orders VALUES (1)"))
        upgrade(connection)
        host.rollback()
    assert {name for _, name in snapshot(moded_engine) if "intent" in name} == set()
    with moded_engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM orders")) == 0


def test_a_failed_call_leaves_the_hosts_transaction_usable(
    moded_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("halfway")

    monkeypatch.setattr("alembic.operations.Operations.create_index", fail)
    with moded_engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
        connection.execute(text("INSERT INTO orders VALUES (1)"))
        with pytest.raises(RuntimeError, match="halfway"):
            upgrade(connection)
        connection.execute(text("INSERT INTO orders VALUES (2)"))
    with moded_engine.connect() as connection:
        assert connection.scalars(text("SELECT id FROM orders ORDER BY id")).all() == [1, 2]
    assert {name for _, name in snapshot(moded_engine) if "intent" in name} == set()


def test_autocommit_on_sqlite_has_nothing_to_join(engine_factory: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_factory(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        with monkeypatch.context() as patch:
            patch.setattr("alembic.operations.Operations.create_index", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                upgrade(connection)
        assert snapshot(engine) == {}
        upgrade(connection)
    check_schema(engine)


def test_autocommit_on_postgresql(engine_factory: MakeEngine, postgresql_url: str) -> None:
    engine = engine_factory(postgresql_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection, pytest.raises(UnsupportedDialect, match="commits every statement"):
        upgrade(connection)
    upgrade(engine)  # on a connection of its own it may choose
    check_schema(engine)
    with engine.connect() as connection:
        assert connection.connection.dbapi_connection.autocommit is True  # type: ignore[union-attr]


def test_a_legacy_savepoint_is_refused_with_the_remedy(engine_factory: MakeEngine) -> None:
    engine = engine_factory()
    with (
        engine.connect() as connection,
        connection.begin(),
        connection.begin_nested(),
        pytest.raises(UnsupportedDialect, match="before begin_nested"),
    ):
        upgrade(connection)
    assert snapshot(engine) == {}


def test_a_real_savepoint_is_joined(engine_factory: MakeEngine) -> None:
    engine = emits_begin(engine_factory())
    with engine.connect() as connection, connection.begin() as outer:
        with connection.begin_nested():
            upgrade(connection)
        outer.rollback()
    assert snapshot(engine) == {}


def test_a_held_lock_is_a_typed_error(engine_factory: MakeEngine) -> None:
    engine = engine_factory(connect_args={"timeout": 0.05})
    holder = engine.connect()
    holder.exec_driver_sql("BEGIN IMMEDIATE")
    with pytest.raises(ConcurrentUpdate) as failure:
        upgrade(engine)
    assert failure.value.transaction_lost is False
    with engine.begin() as connection:
        connection.execute(text("SELECT 1"))
        with pytest.raises(ConcurrentUpdate) as failure:
            upgrade(connection)
    assert failure.value.transaction_lost is True
    holder.close()
    upgrade(engine)


def test_a_held_lock_on_postgresql_is_a_typed_error(engine_factory: MakeEngine, postgresql_url: str) -> None:
    engine = engine_factory(postgresql_url, connect_args={"options": "-c lock_timeout=50ms"})
    with engine.begin() as holder:
        upgrade(holder)
        with pytest.raises(ConcurrentUpdate):
            upgrade(engine)
    check_schema(engine)


def test_a_repeatable_read_engine_sees_the_rivals_work(engine_factory: MakeEngine, postgresql_url: str) -> None:
    engine = engine_factory(postgresql_url, isolation_level="REPEATABLE READ")
    failures: list[BaseException] = []

    def run() -> None:
        try:
            upgrade(engine)
        except BaseException as error:
            failures.append(error)

    with engine.begin() as holder:
        upgrade(holder)
        rival = threading.Thread(target=run)
        rival.start()
        rival.join(0.3)
        assert rival.is_alive()
    rival.join(20)
    assert failures == []
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "REPEATABLE READ"
