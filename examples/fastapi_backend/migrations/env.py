"""Alembic's environment of the backend; only `include_name` is there for standing intents."""

import asyncio

from alembic import context
from sqlalchemy import Connection

from database import DATABASE_URL, Base, engine
from intents import include_name


def run_offline() -> None:
    """Write SQL instead of executing it."""
    context.configure(url=DATABASE_URL, target_metadata=Base.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()


def run_online(connection: Connection) -> None:
    """Run the revisions of both histories."""
    # include_name keeps autogenerate from dropping the tables of standing intents, which Base does not know.
    context.configure(connection=connection, target_metadata=Base.metadata, include_name=include_name)
    with context.begin_transaction():
        context.run_migrations()


async def connect() -> None:
    """Open a connection of the backend's engine."""
    async with engine.connect() as connection:
        await connection.run_sync(run_online)
    await engine.dispose()


if context.is_offline_mode():
    run_offline()
else:
    asyncio.run(connect())
