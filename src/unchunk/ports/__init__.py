"""What unchunk needs of the outside, each as small as it can be. Adapters fill these in.

Every method raises only errors of `unchunk.errors`; foreign ones end inside the adapter. The
suites in `unchunk.testing` say the same as these docstrings, in code.
"""

from unchunk.ports.access import Keys
from unchunk.ports.catalog import Blobs, Catalog, VectorCache
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
from unchunk.ports.index import Index, Indexes, OpenSpace, Point
from unchunk.ports.reading import Embedder, Extractor, Lexicon, Pages, Reranker, Role, Vectors
from unchunk.ports.recovery import LostChunks, LostFile, LostFiles, LostStatus
from unchunk.ports.sources import (
    Among,
    ChunkSource,
    FieldValue,
    ForeignChunk,
    ForeignChunks,
    ForeignDocument,
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

__all__ = [
    "Among",
    "Attribute",
    "Batch",
    "BatchId",
    "Batches",
    "Blobs",
    "Catalog",
    "ChatModel",
    "ChunkSource",
    "Conversations",
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
    "KeptResponse",
    "KeptResponses",
    "Keys",
    "Lexicon",
    "LostChunks",
    "LostFile",
    "LostFiles",
    "LostStatus",
    "Member",
    "MemberCounts",
    "MemberStatus",
    "Members",
    "Message",
    "OpenSpace",
    "Page",
    "Pages",
    "Point",
    "Prompts",
    "Reranker",
    "ResponseId",
    "Role",
    "Sampling",
    "SourceNature",
    "StoreFile",
    "StoreId",
    "Stores",
    "TokenUsage",
    "VectorCache",
    "VectorStore",
    "Vectors",
]
