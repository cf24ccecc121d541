"""The checks of pytest-alembic on our own history: one head, up and down again, and nothing left for autogenerate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_alembic
from pytest_alembic import Config, MigrationContext
from pytest_alembic.tests import (
    test_model_definitions_match_ddl,
    test_single_head_revision,
    test_up_down_consistency,
    test_upgrade,
)
from sqlalchemy import Engine

__all__ = [
    "test_model_definitions_match_ddl",
    "test_single_head_revision",
    "test_up_down_consistency",
    "test_upgrade",
]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def alembic_runner(empty_engine: Engine) -> Iterator[MigrationContext]:
    """What its plugin would give; the plugin itself does not load with today's pytest, and is switched off."""
    config = Config(config_options={"file": str(ROOT / "alembic.ini"), "script_location": str(ROOT / "migrations")})
    with pytest_alembic.runner(config=config, engine=empty_engine) as runner:
        yield runner
