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
from unchunk.ports.index import Index, Indexes, OpenSpace, Point
from unchunk.ports.reading import Embedder, Extractor, Lexicon, Pages, Reranker, Role, Vectors
from unchunk.ports.sources import (
    Among,
    ChunkSource,
    FieldValue,
    ForeignChunk,
    ForeignChunks,
    ForeignDocument,
    SourceNature,
)

__all__ = [
    "Among",
    "Blobs",
    "Catalog",
    "ChatModel",
    "ChunkSource",
    "Conversations",
    "Delta",
    "Embedder",
    "Extractor",
    "FieldValue",
    "ForeignChunk",
    "ForeignChunks",
    "ForeignDocument",
    "Index",
    "Indexes",
    "Keys",
    "Lexicon",
    "Message",
    "OpenSpace",
    "Pages",
    "Point",
    "Prompts",
    "Reranker",
    "Role",
    "Sampling",
    "SourceNature",
    "TokenUsage",
    "VectorCache",
    "Vectors",
]
