"""Conversations, prompts, and what owners say of their documents."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("documents", sa.Column("attributes", sa.LargeBinary()))
    op.create_table(
        "attributes",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("mark", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "mark", "document", name="pk_attributes"),
        sa.ForeignKeyConstraint(
            ["document"], ["documents.id"], name="fk_attributes_documents", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_attributes_document", "attributes", ["document"])
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("title", sa.LargeBinary(), nullable=False),
        sa.Column("folder", sa.LargeBinary(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
    )
    op.create_index(
        "ix_conversations_owner_updated_at_id", "conversations", ["owner", "updated_at", "id"]
    )
    op.create_table(
        "turns",
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question", sa.LargeBinary(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("cited", sa.LargeBinary(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("conversation", "number", name="pk_turns"),
        sa.ForeignKeyConstraint(
            ["conversation"],
            ["conversations.id"],
            name="fk_turns_conversations",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "prompts",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("mark", sa.LargeBinary(), nullable=False),
        sa.Column("folder", sa.LargeBinary(), nullable=False),
        sa.Column("prompt", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "mark", name="pk_prompts"),
    )
