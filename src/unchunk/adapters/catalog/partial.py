"""The indexes that hold some rows of a table only, for who compares tables with a database.

They name both dialects, and SQLAlchemy loads a dialect when it is named. Whoever reads and writes
needs no more than the tables.
"""

from sqlalchemy import Index, text

from unchunk.adapters.catalog.schema import COMING, documents, metadata, turns
from unchunk.adapters.catalog.terms import PENDING

__all__ = ["metadata"]

Index(
    "ix_documents_coming",
    documents.c.created_at,
    postgresql_where=text(COMING),
    sqlite_where=text(COMING),
)
Index(
    "ix_turns_pending",
    turns.c.conversation,
    postgresql_where=text(PENDING),
    sqlite_where=text(PENDING),
)
