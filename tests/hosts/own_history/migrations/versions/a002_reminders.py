"""Standing intents join, from inside a migration of the host's, which then goes on."""

import sqlalchemy as sa
from alembic import op

import intents

revision = "a002"
down_revision = "a001"
branch_labels = None
depends_on = None


def upgrade():
    intents.upgrade(op.get_bind())
    op.create_table(
        "orders_data",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("order_id", sa.Integer, sa.ForeignKey("orders.id")),
    )


def downgrade():
    op.drop_table("orders_data")
