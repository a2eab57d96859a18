"""Vector stores and their files, what is said of files, and answers to be asked for again."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "vector_stores",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("description", sa.LargeBinary(), nullable=False),
        sa.Column("metadata", sa.LargeBinary(), nullable=False),
        sa.Column("expires_after", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_active_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vector_stores"),
    )
    op.create_index(
        "ix_vector_stores_owner_created_at_id", "vector_stores", ["owner", "created_at", "id"]
    )
    op.create_table(
        "store_files",
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("attributes", sa.LargeBinary()),
        sa.Column("batch", sa.Text()),
        sa.Column("is_cancelled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("store", "document", name="pk_store_files"),
        _of_store("store_files"),
        _of_document("store_files"),
    )
    in_order = ["created_at", "document"]
    op.create_index("ix_store_files_document", "store_files", ["document"])
    op.create_index("ix_store_files_store_created_at_document", "store_files", ["store", *in_order])
    op.create_table(
        "store_batches",
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("is_cancelled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("store", "id", name="pk_store_batches"),
        _of_store("store_batches"),
    )
    op.create_table(
        "store_batch_files",
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store", "batch", "document", name="pk_store_batch_files"),
        sa.ForeignKeyConstraint(
            ["store", "batch"],
            ["store_batches.store", "store_batches.id"],
            name="fk_store_batch_files_store_batches",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["store", "document"],
            ["store_files.store", "store_files.document"],
            name="fk_store_batch_files_store_files",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "ix_store_batch_files_store_document", "store_batch_files", ["store", "document"]
    )
    op.create_table(
        "file_notes",
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("filename", sa.LargeBinary(), nullable=False),
        sa.Column("purpose", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("document", name="pk_file_notes"),
        _of_document("file_notes"),
    )
    op.create_index("ix_file_notes_expires_at", "file_notes", ["expires_at"])
    op.create_table(
        "responses",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "id", name="pk_responses"),
    )
    op.create_index("ix_responses_created_at", "responses", ["created_at"])


def _of_store(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_vector_stores"
    return sa.ForeignKeyConstraint(["store"], ["vector_stores.id"], name=name, ondelete="CASCADE")


def _of_document(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_documents"
    return sa.ForeignKeyConstraint(["document"], ["documents.id"], name=name, ondelete="CASCADE")
