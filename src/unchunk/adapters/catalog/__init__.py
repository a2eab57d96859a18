"""The catalog and what is kept beside it in an SQL database: SQLite in a file, or PostgreSQL.

A name is loaded when it is first used: to search takes few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from unchunk.adapters.catalog.purged import SqlPurged
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
    "SqlPurged",
    "SqlQueue",
    "SqlRates",
    "SqlRecords",
    "SqlStores",
    "SqlStreamLog",
    "SqlVectorCache",
    "open_database",
]

# Where each of them is, for who runs this; type checkers read the same above.
_ROOMS = {
    "batches": "SqlBatches",
    "bell": "SqlBell",
    "catalog": "SqlCatalog",
    "conversations": "SqlConversations",
    "database": "Database open_database",
    "filenotes": "SqlFileNotes",
    "keys": "SqlKeys",
    "leases": "SqlLeases",
    "members": "SqlMembers",
    "prompts": "SqlPrompts",
    "purged": "SqlPurged",
    "queue": "SqlQueue",
    "rates": "SqlRates",
    "responses": "SqlKeptResponses",
    "stores": "SqlStores",
    "streamlog": "SqlStreamLog",
    "transfer": "SqlRecords",
    "vectors": "SqlVectorCache",
}

if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> object:
        for room, names in _ROOMS.items():
            if name in names.split():
                globals()[name] = found = getattr(import_module(f"{__name__}.{room}"), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
