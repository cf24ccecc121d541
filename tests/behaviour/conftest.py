"""Fixtures of the behaviour tests: a clock that stands still and services on the engine of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.orm import sessionmaker

from intents import IntentService, OwnerPolicy
from intents.models import index_metadata, metadata
from tests import postgresql
from tests.behaviour.support import Clock
from tests.conftest import ENGINES, _make_engine


@pytest.fixture(scope="session")
def emptied_postgresql(postgresql_server: URL, postgresql_template: URL) -> Iterator[URL]:
    """One database for all tests of this directory that leave the schema as it is; each finds it empty."""
    with postgresql.database(postgresql_server, postgresql_template) as url:
        yield url


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a database that has the schema and no rows."""
    if request.param != "postgresql":
        yield from _make_engine(request.param, request, schema=True)
        return
    engine = create_engine(request.getfixturevalue("emptied_postgresql"))
    tables = ", ".join([*metadata.tables, "standing_intent_anchors"])
    assert "standing_intent_anchors" in index_metadata.tables
    with engine.begin() as connection:
        connection.exec_driver_sql(f"TRUNCATE {tables}")
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_service(engine: Engine, clock: Clock) -> Callable[..., IntentService]:
    """Makes services on the engine under test; the only owner is `OWNER` unless told otherwise."""

    def make(**options: Any) -> IntentService:
        settings: dict[str, Any] = {"owners": OwnerPolicy(("slack:U-owner",)), "clock": clock, **options}
        return IntentService(settings.pop("sessions", None) or sessionmaker(engine), **settings)

    return make


@pytest.fixture
def service(make_service: Callable[..., IntentService]) -> IntentService:
    return make_service()
