"""The catalog and what is kept beside it in an SQL database: SQLite in a file, or PostgreSQL."""

from unchunk.adapters.catalog.batches import SqlBatches
from unchunk.adapters.catalog.bell import SqlBell
from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.conversations import SqlConversations
from unchunk.adapters.catalog.database import Database, open_database
from unchunk.adapters.catalog.filenotes import SqlFileNotes
from unchunk.adapters.catalog.keys import SqlKeys
from unchunk.adapters.catalog.leases import SqlLeases
from unchunk.adapters.catalog.members import SqlMembers
from unchunk.adapters.catalog.prompts import SqlPrompts
from unchunk.adapters.catalog.queue import SqlQueue
from unchunk.adapters.catalog.rates import SqlRates
from unchunk.adapters.catalog.responses import SqlKeptResponses
from unchunk.adapters.catalog.stores import SqlStores
from unchunk.adapters.catalog.streamlog import SqlStreamLog
from unchunk.adapters.catalog.transfer import SqlRecords
from unchunk.adapters.catalog.vectors import SqlVectorCache

__all__ = [
    "Database",
    "SqlBatches",
    "SqlBell",
    "SqlCatalog",
    "SqlConversations",
    "SqlFileNotes",
    "SqlKeptResponses",
    "SqlKeys",
    "SqlLeases",
    "SqlMembers",
    "SqlPrompts",
    "SqlQueue",
    "SqlRates",
    "SqlRecords",
    "SqlStores",
    "SqlStreamLog",
    "SqlVectorCache",
    "open_database",
]
