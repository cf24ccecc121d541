"""Alembic's environment for the library's own history: ``alembic upgrade head`` from the repository.

The database is, in this order: a connection handed over in ``config.attributes["connection"]``; ``-x url=…``; the
environment variable ``INTENTS_DATABASE_URL``; ``sqlalchemy.url`` of the ini file. Logging is configured only when
Alembic's command line runs, never inside an application.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from logging.config import fileConfig
from typing import Any

from alembic import context
from alembic.operations.ops import MigrationScript
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, make_url
from sqlalchemy.pool import NullPool

from intents.blueprint import VERSION_TABLE, require_supported
from intents.migrate import drop_empty_version_table, include_only_ours
from intents.models import metadata
from intents.schema_lock import schema_transaction


def _url() -> str:
    url = (
        context.get_x_argument(as_dictionary=True).get("url")
        or os.environ.get("INTENTS_DATABASE_URL")
        or context.config.get_main_option("sqlalchemy.url")
    )
    if not url:
        raise SystemExit("No database: give -x url=…, set INTENTS_DATABASE_URL, or set sqlalchemy.url in alembic.ini.")
    return url


def _number_revision(
    _context: MigrationContext, _revision: str | Iterable[str | None] | Iterable[str], directives: list[MigrationScript]
) -> None:
    """Give a new revision the next number; ids of the library are intents_0001, intents_0002, …."""
    existing = sum(1 for _ in ScriptDirectory.from_config(context.config).walk_revisions())
    for number, directive in enumerate(directives, start=existing + 1):
        directive.rev_id = f"intents_{number:04d}"


_OPTIONS: dict[str, Any] = {
    "target_metadata": metadata,
    "version_table": VERSION_TABLE,
    "include_name": include_only_ours,
    "transaction_per_migration": False,
    "process_revision_directives": _number_revision,
}


def _run_offline() -> None:
    context.configure(
        dialect_name=make_url(_url()).get_backend_name(),
        literal_binds=True,
        dialect_opts={"paramstyle": "named"},
        # SQLite too: the statements of one script stand and fall together.
        transactional_ddl=True,
        **_OPTIONS,
    )
    with context.begin_transaction():
        context.run_migrations()


def _run_online(connection: Connection) -> None:
    require_supported(connection)
    context.configure(connection=connection, **_OPTIONS)
    with context.begin_transaction():
        context.run_migrations()
    drop_empty_version_table(connection)


if context.config.cmd_opts is not None and context.config.config_file_name is not None:
    fileConfig(context.config.config_file_name, disable_existing_loggers=False)

_given = context.config.attributes.get("connection")
if context.is_offline_mode():
    _run_offline()
elif _given is not None:
    with schema_transaction(_given) as _connection:
        _run_online(_connection)
else:
    with schema_transaction(create_engine(_url(), poolclass=NullPool)) as _connection:
        _run_online(_connection)
