"""The first tables. A migration never changes once it is released, nor reads `schema`."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("live", sa.Integer()),
        sa.Column("draft", sa.Integer()),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("owner", "folder", "name", name="uq_documents_owner_folder_name"),
    )
    op.create_table(
        "versions",
        *_version_key(),
        sa.Column("checksum", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text_checksum", sa.Text(), nullable=False),
        sa.Column("text_length", sa.BigInteger(), nullable=False),
        sa.Column("page_count", sa.Integer(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("chunking", sa.Text(), nullable=False),
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("document", "generation", name="pk_versions"),
    )
    op.create_index("ix_versions_checksum", "versions", ["checksum"])
    op.create_table(
        "layouts",
        *_version_key(),
        sa.Column("chunks", sa.LargeBinary(), nullable=False),
        sa.Column("outline", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("document", "generation", name="pk_layouts"),
        _of_version("layouts"),
    )
    op.create_table(
        "texts",
        *_version_key(),
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("document", "generation", "block", name="pk_texts"),
        _of_version("texts"),
    )
    op.create_table(
        "remains",
        sa.Column("owner", sa.Text(), nullable=False),
        *_version_key(),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("gone", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("document", "generation", name="pk_remains"),
        _of_version("remains"),
    )
    op.create_table(
        "vectors",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("embedder", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "embedder", "digest", name="pk_vectors"),
    )
    op.create_index("ix_vectors_document", "vectors", ["document"])
    op.create_table(
        "notes",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_notes"),
    )


def _version_key() -> tuple[sa.Column[str], sa.Column[int]]:
    return (
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
    )


def _of_version(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["document", "generation"],
        ["versions.document", "versions.generation"],
        name=f"fk_{table}_versions",
        ondelete="CASCADE",
    )
