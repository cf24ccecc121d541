"""${message}.

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
Created: ${create_date}

A frozen copy: nothing of the library is imported here, so that this revision never changes when the code does.
"""

from __future__ import annotations

import alembic.op
import sqlalchemy as sa
${imports if imports else ""}
from alembic.operations import Operations

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade(operations: Operations | None = None, **_: object) -> None:
    """Make the change; `operations` comes from `intents.upgrade`, Alembic's global ``op`` from its commands."""
    op = alembic.op if operations is None else operations
    ${(upgrades if upgrades else "pass").replace("\n    ", "\n    ")}


def downgrade(operations: Operations | None = None, **_: object) -> None:
    """Undo the change."""
    op = alembic.op if operations is None else operations
    ${(downgrades if downgrades else "pass").replace("\n    ", "\n    ")}
