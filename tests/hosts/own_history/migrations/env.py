import os

from alembic import context
from shop import metadata
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

import intents


def run(**options):
    context.configure(target_metadata=metadata, include_name=intents.include_name, **options)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    run(url=os.environ["SHOP_DATABASE_URL"], literal_binds=True)
else:
    with create_engine(os.environ["SHOP_DATABASE_URL"], poolclass=NullPool).connect() as connection:
        run(connection=connection)
