"""Make the tables, or bring them up to date: a step of the deployment, not of the start.

The backend has no Alembic history, so standing intents keep one of their own, in ``intents_alembic_version``. Several
processes may run this at once.
"""

from database import Base, engine
from intents import upgrade

if __name__ == "__main__":
    Base.metadata.create_all(engine)
    upgrade(engine)
