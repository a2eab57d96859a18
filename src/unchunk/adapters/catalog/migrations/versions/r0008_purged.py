"""What was taken out of an index is taken out again: some of it may have come late."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "purged",
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("document", "generation", name="pk_purged"),
    )
    op.create_index("ix_purged_due_at", "purged", ["due_at"])
