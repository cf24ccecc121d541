"""Messages and replies."""

import sqlalchemy as sa
from alembic import op

revision = "backend_0001"
down_revision = None
# The name of this history, beside that of standing intents: `alembic revision --head backend@head`.
branch_labels = ("backend",)
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "messages",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("conversation", sa.String(200), nullable=False),
        sa.Column("client_id", sa.String(200), nullable=False),
        sa.Column("sender", sa.String(200), nullable=False),
        sa.Column("text", sa.String, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("conversation", "client_id"),
    )
    op.create_table(
        "replies",
        sa.Column("message_key", sa.Integer, sa.ForeignKey("messages.key"), primary_key=True),
        sa.Column("text", sa.String, nullable=False),
    )


def downgrade() -> None:
    """Undo the change."""
    op.drop_table("replies")
    op.drop_table("messages")
