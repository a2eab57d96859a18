"""The tables. `migrations/` builds them, step by step; a test holds the two together.

Text is bytes wherever it comes out of a file, from a person or from a model: no database takes
every character as text.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

NAMING: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

COMING: Final = "draft IS NOT NULL AND error_code = ''"
"""Documents on their way in. Their index is used for these very words only."""

metadata = MetaData(naming_convention=NAMING)


def _of_version() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["document", "generation"],
        ["versions.document", "versions.generation"],
        ondelete="CASCADE",
    )


# `live` and `draft` are generations, and so are `taken`, the draft that somebody took up, and
# `rewriting`, the one that what is there may go live under; `last` is the highest ever given out.
# Times are microseconds since 1970, which every database keeps alike. No attributes are NULL.
documents = Table(
    "documents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("live", Integer),
    Column("draft", Integer),
    Column("taken", Integer),
    Column("rewriting", Integer),
    Column("last", Integer, nullable=False),
    Column("error_code", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("attributes", LargeBinary),
    UniqueConstraint("owner", "folder", "name"),
    Index(None, "owner", "created_at", "id"),
    # And one of those that are `COMING`: see `partial`.
)

# What filters find documents by: a digest for each name with a single value, since an index takes
# no long ones.
attributes = Table(
    "attributes",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("mark", LargeBinary, primary_key=True),
    Column("document", Text, primary_key=True, index=True),
    ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
)

# The columns are the fields of `Version`, in its order. A version outlives its document until
# its remains are forgotten, so there is no foreign key to `documents`.
versions = Table(
    "versions",
    metadata,
    Column("document", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("checksum", Text, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("blob", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("text_checksum", Text, nullable=False),
    Column("text_length", BigInteger, nullable=False),
    Column("page_count", Integer, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("chunking", Text, nullable=False),
    Column("space", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("tokens", BigInteger),
)

# Apart from `versions`, so that listing documents does not read past them.
layouts = Table(
    "layouts",
    metadata,
    Column("document", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("chunks", LargeBinary, nullable=False),
    Column("outline", LargeBinary, nullable=False),
    _of_version(),
)

texts = Table(
    "texts",
    metadata,
    Column("document", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("block", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
    _of_version(),
)

remains = Table(
    "remains",
    metadata,
    Column("owner", Text, nullable=False),
    Column("document", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("blob", Text, nullable=False),
    Column("space", Text, nullable=False),
    Column("gone", Boolean(create_constraint=False), nullable=False),
    _of_version(),
)

vectors = Table(
    "vectors",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("embedder", Text, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    Column("document", Text, nullable=False, index=True),
    Column("vector", LargeBinary, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("title", LargeBinary, nullable=False),
    Column("folder", LargeBinary, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index(None, "owner", "updated_at", "id"),
)

# `holder` is the process that answers, where several share the database.
turns = Table(
    "turns",
    metadata,
    Column("conversation", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("question", LargeBinary, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("cited", LargeBinary, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("holder", Text),
    ForeignKeyConstraint(["conversation"], ["conversations.id"], ondelete="CASCADE"),
    # And an index of those that are `PENDING`: see `partial`.
)

# `mark` is the digest of the folder, which may be too long for an index.
prompts = Table(
    "prompts",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("mark", LargeBinary, primary_key=True),
    Column("folder", LargeBinary, nullable=False),
    Column("prompt", LargeBinary, nullable=False),
)

# `used_on` is the day of the last use, counted from the year 1; NULL before the first one.
keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("label", LargeBinary, nullable=False),
    Column("scope", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("used_on", Integer),
)

# Sessions that were ended before their time; `mark` is the digest of one.
ended_sessions = Table(
    "ended_sessions",
    metadata,
    Column("key", Text, primary_key=True),
    Column("mark", LargeBinary, primary_key=True),
    Column("ends_at", BigInteger, nullable=False),
)

# `expires_after` is microseconds, NULL for never.
vector_stores = Table(
    "vector_stores",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("description", LargeBinary, nullable=False),
    Column("metadata", LargeBinary, nullable=False),
    Column("expires_after", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("last_active_at", BigInteger, nullable=False),
    Index(None, "owner", "created_at", "id"),
)

# Whose they are, their store says, and their documents are the same owner's. No attributes are
# NULL. `batch` is the one that a file was last put with, NULL for none.
store_files = Table(
    "store_files",
    metadata,
    Column("store", Text, primary_key=True),
    Column("document", Text, primary_key=True, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("attributes", LargeBinary),
    Column("batch", Text),
    Column("is_cancelled", Boolean(create_constraint=False), nullable=False),
    ForeignKeyConstraint(["store"], ["vector_stores.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
    Index(None, "store", "created_at", "document"),
)

store_batches = Table(
    "store_batches",
    metadata,
    Column("store", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("is_cancelled", Boolean(create_constraint=False), nullable=False),
    ForeignKeyConstraint(["store"], ["vector_stores.id"], ondelete="CASCADE"),
)

# A file may be put again, with another batch or with none, and is of each of them.
store_batch_files = Table(
    "store_batch_files",
    metadata,
    Column("store", Text, primary_key=True),
    Column("batch", Text, primary_key=True),
    Column("document", Text, primary_key=True),
    ForeignKeyConstraint(
        ["store", "batch"], ["store_batches.store", "store_batches.id"], ondelete="CASCADE"
    ),
    ForeignKeyConstraint(
        ["store", "document"], ["store_files.store", "store_files.document"], ondelete="CASCADE"
    ),
    Index(None, "store", "document"),
)

# Only of documents that somebody said something of.
file_notes = Table(
    "file_notes",
    metadata,
    Column("document", Text, primary_key=True),
    Column("filename", LargeBinary, nullable=False),
    Column("purpose", LargeBinary, nullable=False),
    Column("expires_at", BigInteger, index=True),
    ForeignKeyConstraint(["document"], ["documents.id"], ondelete="CASCADE"),
)

responses = Table(
    "responses",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("body", LargeBinary, nullable=False),
)

# Of versions that are gone: how often each was taken out of the index again, and when it is due next.
purged = Table(
    "purged",
    metadata,
    Column("document", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("turn", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False, index=True),
)

# What one process at a time works on; `until` is by the clock of the database.
leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False, index=True),
    Column("until", BigInteger, nullable=False),
    Column("is_dismissed", Boolean(create_constraint=False), nullable=False),
)

# A job outlives its document, so that who works on it learns that it was deleted. `worker` is
# empty and `until` 0 as long as nobody has it; `due_at` is 0 where somebody asked for it again.
# `turn` is its place among those of all owners, so that none waits for all that another has.
jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("document", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("forced", Boolean(create_constraint=False), nullable=False),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("result", Text, nullable=False),
    Column("error_code", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("is_dropped", Boolean(create_constraint=False), nullable=False),
    Column("begun_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, index=True),
    Index(None, "state", "turn"),
    Index(None, "owner", "turn"),
)

# Answers on their way, for readers of other processes; whoever writes one touches it again and
# again, and who reads it notes that, too.
streams = Table(
    "streams",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("is_over", Boolean(create_constraint=False), nullable=False),
    Column("is_stopped", Boolean(create_constraint=False), nullable=False),
    Column("written_at", BigInteger, nullable=False, index=True),
    Column("read_at", BigInteger, nullable=False),
)

stream_events = Table(
    "stream_events",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
    ForeignKeyConstraint(["stream"], ["streams.id"], ondelete="CASCADE"),
)

rates = Table(
    "rates",
    metadata,
    Column("name", Text, primary_key=True),
    Column("amount", Float, nullable=False),
    Column("taken_at", BigInteger, nullable=False, index=True),
)

# Where things stood that were removed lately, for whoever reads on behind them. `place` is a digest.
left_places = Table(
    "left_places",
    metadata,
    Column("place", LargeBinary, primary_key=True),
    Column("made_at", BigInteger, nullable=False),
    Column("left_at", BigInteger, nullable=False, index=True),
)

# What `unchunk migrate` brought here: `mark` is the digest of what it was over there, `blobs` are
# the keys of its originals and `generations` the numbers of its versions, noted before they come.
moved = Table(
    "moved",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("mark", LargeBinary, nullable=False),
    Column("blobs", Text, nullable=False),
    Column("generations", Text, nullable=False),
    Column("is_verified", Boolean(create_constraint=False), nullable=False),
)
