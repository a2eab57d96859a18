"""How long texts are in tokens, kept with them; and documents in the order in which they came."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("versions", sa.Column("tokens", sa.BigInteger()))
    op.create_index("ix_documents_owner_created_at_id", "documents", ["owner", "created_at", "id"])
