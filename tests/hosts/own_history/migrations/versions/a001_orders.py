"""The host's first tables."""

import sqlalchemy as sa
from alembic import op

revision = "a001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "orders", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(50), nullable=False)
    )
    op.create_index("orders_by_name", "orders", ["name"], unique=True)


def downgrade():
    op.drop_table("orders")
