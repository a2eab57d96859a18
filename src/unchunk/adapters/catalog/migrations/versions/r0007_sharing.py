"""What several processes share: leases, jobs, answers on their way, rates, and where things stood."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("is_dismissed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_index("ix_leases_holder", "leases", ["holder"])
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("forced", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("is_dropped", sa.Boolean(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state_turn", "jobs", ["state", "turn"])
    op.create_index("ix_jobs_owner_turn", "jobs", ["owner", "turn"])
    op.create_index("ix_jobs_document", "jobs", ["document"])
    op.create_index("ix_jobs_ended_at", "jobs", ["ended_at"])
    op.create_table(
        "streams",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("is_over", sa.Boolean(), nullable=False),
        sa.Column("is_stopped", sa.Boolean(), nullable=False),
        sa.Column("written_at", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_streams"),
    )
    op.create_index("ix_streams_written_at", "streams", ["written_at"])
    op.create_table(
        "stream_events",
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "number", name="pk_stream_events"),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.id"], name="fk_stream_events_streams", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "rates",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("amount", sa.Float(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rates"),
    )
    op.create_index("ix_rates_taken_at", "rates", ["taken_at"])
    op.create_table(
        "moved",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("mark", sa.LargeBinary(), nullable=False),
        sa.Column("blobs", sa.Text(), nullable=False),
        sa.Column("generations", sa.Text(), nullable=False),
        sa.Column("is_verified", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key", name="pk_moved"),
    )
    op.create_table(
        "left_places",
        sa.Column("place", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("place", name="pk_left_places"),
    )
    op.create_index("ix_left_places_left_at", "left_places", ["left_at"])
    op.add_column("turns", sa.Column("holder", sa.Text()))
    pending = sa.text("status = 'pending'")
    op.create_index(
        "ix_turns_pending",
        "turns",
        ["conversation"],
        postgresql_where=pending,
        sqlite_where=pending,
    )
    coming = sa.text("draft IS NOT NULL AND error_code = ''")
    op.create_index(
        "ix_documents_coming",
        "documents",
        ["created_at"],
        postgresql_where=coming,
        sqlite_where=coming,
    )
    op.add_column("documents", sa.Column("taken", sa.Integer()))
    op.add_column("documents", sa.Column("rewriting", sa.Integer()))
    # Nobody knows whether somebody worked on them.
    op.execute("UPDATE documents SET taken = draft")
    # What is unfinished is listed from now on; what this told of, `doctor --fix` finds.
    op.execute("DELETE FROM notes WHERE key = 'unfinished generations'")
