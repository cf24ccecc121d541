"""Rows for the schema tests, written by plain SQL: these tests know no repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert

from intents.models import StandingIntent, intent_anchors
from tests.schema.rows import intent_values
from tests.schema.support import Fill


@pytest.fixture
def fill() -> Callable[..., int]:
    """Write one intent and, on PostgreSQL, its anchors; give its key."""

    def write(connection: Connection, **values: Any) -> int:
        row = intent_values(**values)
        (key,) = connection.execute(insert(StandingIntent).values(**row).returning(StandingIntent.key)).one()
        if connection.dialect.name == "postgresql" and row["status"] in ("pending", "armed", "fired"):
            connection.execute(
                insert(intent_anchors),
                [
                    {"agent_id": row["agent_id"], "scope": row["scope"], "term": term, "intent_key": key}
                    for term in row["anchors"].split()
                ],
            )
        return int(key)

    return write


@pytest.fixture
def rows(engine: Engine, fill: Fill) -> dict[str, int]:
    """One intent of every status; three of them live."""
    with engine.begin() as connection:
        return {
            status: fill(connection, status=status)
            for status in ("pending", "armed", "fired", "done", "cancelled", "expired")
        }
