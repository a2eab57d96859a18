"""Sessions that were ended before their time, so that a restart does not bring them back."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "ended_sessions",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("mark", sa.LargeBinary(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", "mark", name="pk_ended_sessions"),
    )
