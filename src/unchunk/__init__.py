"""Ask your documents, and get them back out of any chunk store. All of the public API."""

from unchunk.chat.events import Answer, Event
from unchunk.chat.injection import build_context_block, inject_rag_context
from unchunk.chat.request import ChatRequest
from unchunk.domain import (
    ChatTurn,
    Chunk,
    ChunkingStrategy,
    Conversation,
    Document,
    Span,
    Version,
)
from unchunk.engine import Engine
from unchunk.errors import UnchunkError
from unchunk.library.doctor import Examination, Finding
from unchunk.library.ingest import Outcome
from unchunk.library.purging import Receipt
from unchunk.opening import open_collection, rag_search, retrieve_chunks
from unchunk.opening import open_library as open  # noqa: A004 - read as `unchunk.open`
from unchunk.ports import Sampling
from unchunk.rescue import (
    RAGTextRetrievalParams,
    ReconstructionResult,
    get_filename_from_file,
    retrieve_and_reconstruct_files,
)
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.collection import Collection
from unchunk.retrieval.evidence import ChunkResult, Gap, Passage, ReconstructedDocument
from unchunk.retrieval.query import QueryAnalyzer, QueryPlan, Turn
from unchunk.retrieval.retriever import ChunkAwareRetriever, Evidence, Related
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.snippets import Found, Hit
from unchunk.text.chunking import chunk, chunk_text, uncovered
from unchunk.text.stitching import (
    ChunkOverlapInfo,
    Seam,
    Stitched,
    detect_chunk_overlap,
    stitch,
    stitch_chunks,
    stitch_files,
)

__version__ = "0.1.0"

__all__ = [
    "Amount",
    "Answer",
    "ChatRequest",
    "ChatTurn",
    "Chunk",
    "ChunkAwareRetriever",
    "ChunkOverlapInfo",
    "ChunkResult",
    "ChunkingStrategy",
    "Collection",
    "Conversation",
    "Document",
    "Engine",
    "Event",
    "Evidence",
    "Examination",
    "Finding",
    "Found",
    "Gap",
    "Hit",
    "Outcome",
    "Passage",
    "QueryAnalyzer",
    "QueryPlan",
    "RAGTextRetrievalParams",
    "Receipt",
    "ReconstructedDocument",
    "ReconstructionResult",
    "Related",
    "Sampling",
    "Seam",
    "Span",
    "Stitched",
    "Turn",
    "UnchunkError",
    "Version",
    "Where",
    "build_context_block",
    "chunk",
    "chunk_text",
    "detect_chunk_overlap",
    "get_filename_from_file",
    "inject_rag_context",
    "open",
    "open_collection",
    "rag_search",
    "retrieve_and_reconstruct_files",
    "retrieve_chunks",
    "stitch",
    "stitch_chunks",
    "stitch_files",
    "uncovered",
]
