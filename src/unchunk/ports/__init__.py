"""What unchunk needs of the outside, each as small as it can be. Adapters fill these in.

Every method raises only errors of `unchunk.errors`; foreign ones end inside the adapter. The
suites in `unchunk.testing` say the same as these docstrings, in code. A name is loaded when it is
first used: most processes need a few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unchunk.ports.access import Keys
    from unchunk.ports.answering import Logged, News, Rates, StreamLog
    from unchunk.ports.catalog import ACTIVE, SPACE, Blobs, Catalog, VectorCache
    from unchunk.ports.chat import (
        ChatModel,
        Conversations,
        Delta,
        Message,
        Prompts,
        Sampling,
        TokenUsage,
    )
    from unchunk.ports.filenotes import (
        FileNote,
        FileNotes,
        KeptResponse,
        KeptResponses,
        ResponseId,
    )
    from unchunk.ports.index import (
        Degradable,
        Index,
        Indexes,
        OpenSpace,
        Point,
        SearchesMany,
        Startable,
        search_many,
        start,
    )
    from unchunk.ports.reading import Embedder, Extractor, Lexicon, Pages, Reranker, Role, Vectors
    from unchunk.ports.recovery import LostChunks, LostFile, LostFiles, LostStatus
    from unchunk.ports.sources import (
        Among,
        ChunkSource,
        FieldValue,
        ForeignChunk,
        ForeignChunks,
        ForeignDocument,
        SearchesWords,
        SourceNature,
    )
    from unchunk.ports.stores import (
        Attribute,
        Batch,
        Batches,
        BatchId,
        Member,
        MemberCounts,
        Members,
        MemberStatus,
        Page,
        StoreFile,
        StoreId,
        Stores,
        VectorStore,
    )
    from unchunk.ports.work import (
        DISMISSED,
        DUE,
        OVER,
        Bell,
        Job,
        JobKind,
        JobStage,
        JobState,
        Leases,
        Progress,
        Purged,
        Queue,
        Taken,
    )

__all__ = [
    "ACTIVE",
    "DISMISSED",
    "DUE",
    "OVER",
    "SPACE",
    "Among",
    "Attribute",
    "Batch",
    "BatchId",
    "Batches",
    "Bell",
    "Blobs",
    "Catalog",
    "ChatModel",
    "ChunkSource",
    "Conversations",
    "Degradable",
    "Delta",
    "Embedder",
    "Extractor",
    "FieldValue",
    "FileNote",
    "FileNotes",
    "ForeignChunk",
    "ForeignChunks",
    "ForeignDocument",
    "Index",
    "Indexes",
    "Job",
    "JobKind",
    "JobStage",
    "JobState",
    "KeptResponse",
    "KeptResponses",
    "Keys",
    "Leases",
    "Lexicon",
    "Logged",
    "LostChunks",
    "LostFile",
    "LostFiles",
    "LostStatus",
    "Member",
    "MemberCounts",
    "MemberStatus",
    "Members",
    "Message",
    "News",
    "OpenSpace",
    "Page",
    "Pages",
    "Point",
    "Progress",
    "Prompts",
    "Purged",
    "Queue",
    "Rates",
    "Reranker",
    "ResponseId",
    "Role",
    "Sampling",
    "SearchesMany",
    "SearchesWords",
    "SourceNature",
    "Startable",
    "StoreFile",
    "StoreId",
    "Stores",
    "StreamLog",
    "Taken",
    "TokenUsage",
    "VectorCache",
    "VectorStore",
    "Vectors",
    "search_many",
    "start",
]

# Where each of them is, for who runs this; type checkers read the same above.
_ROOMS = {
    "access": "Keys",
    "answering": "Logged News Rates StreamLog",
    "catalog": "ACTIVE SPACE Blobs Catalog VectorCache",
    "chat": "ChatModel Conversations Delta Message Prompts Sampling TokenUsage",
    "filenotes": "FileNote FileNotes KeptResponse KeptResponses ResponseId",
    "index": "Degradable Index Indexes OpenSpace Point SearchesMany Startable search_many start",
    "reading": "Embedder Extractor Lexicon Pages Reranker Role Vectors",
    "recovery": "LostChunks LostFile LostFiles LostStatus",
    "sources": "Among ChunkSource FieldValue ForeignChunk ForeignChunks ForeignDocument SearchesWords"
    " SourceNature",
    "stores": "Attribute Batch Batches BatchId Member MemberCounts Members MemberStatus Page"
    " StoreFile StoreId Stores VectorStore",
    "work": "DISMISSED DUE OVER Bell Job JobKind JobStage JobState Leases Progress Purged"
    " Queue Taken",
}

if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        for room, names in _ROOMS.items():
            if name in names.split():
                found = getattr(import_module(f"{__name__}.{room}"), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
