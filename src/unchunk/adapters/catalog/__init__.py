"""The catalog and the vector cache in an SQL database: SQLite in a file, or PostgreSQL."""

from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.database import Database, open_database
from unchunk.adapters.catalog.vectors import SqlVectorCache

__all__ = ["Database", "SqlCatalog", "SqlVectorCache", "open_database"]
