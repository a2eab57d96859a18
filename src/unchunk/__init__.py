"""Ask your documents, and get them back out of any chunk store. All of the public API.

A name is loaded when it is first used, so that to import this costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unchunk.chat.events import Answer, Event
    from unchunk.chat.injection import build_context_block, inject_rag_context
    from unchunk.chat.request import ChatRequest
    from unchunk.chunk_aware_retrieval import ChunkAwareRetriever
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
    from unchunk.opening import open_collection, open_library, rag_search, retrieve_chunks
    from unchunk.ports import Sampling
    from unchunk.rescue import (
        RAGTextRetrievalParams,
        ReconstructionResult,
        VectorStoreChunk,
        VectorStoreFile,
        get_all_vector_store_file_contents,
        get_filename_from_file,
        get_vector_store_file_content,
        retrieve_and_reconstruct_files,
    )
    from unchunk.retrieval.amount import Amount
    from unchunk.retrieval.collection import Collection
    from unchunk.retrieval.evidence import ChunkResult, Gap, Passage, ReconstructedDocument
    from unchunk.retrieval.query import QueryAnalyzer, QueryPlan, Turn
    from unchunk.retrieval.retriever import Evidence, Related
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

    open = open_library  # noqa: A001 - read as `unchunk.open`

__version__ = "0.1.0"

# Without `open`: `from unchunk import *` must not replace Python's own.
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
    "VectorStoreChunk",
    "VectorStoreFile",
    "Version",
    "Where",
    "build_context_block",
    "chunk",
    "chunk_text",
    "detect_chunk_overlap",
    "get_all_vector_store_file_contents",
    "get_filename_from_file",
    "get_vector_store_file_content",
    "inject_rag_context",
    "open_collection",
    "rag_search",
    "retrieve_and_reconstruct_files",
    "retrieve_chunks",
    "stitch",
    "stitch_chunks",
    "stitch_files",
    "uncovered",
]

# Where each of them is, for who runs this; type checkers read the same above.
_ROOMS = {
    "chat.events": "Answer Event",
    "chat.injection": "build_context_block inject_rag_context",
    "chat.request": "ChatRequest",
    "chunk_aware_retrieval": "ChunkAwareRetriever",
    "domain": "ChatTurn Chunk ChunkingStrategy Conversation Document Span Version",
    "engine": "Engine",
    "errors": "UnchunkError",
    "library.doctor": "Examination Finding",
    "library.ingest": "Outcome",
    "library.purging": "Receipt",
    "opening": "open open_collection rag_search retrieve_chunks",
    "ports": "Sampling",
    "rescue": "RAGTextRetrievalParams ReconstructionResult VectorStoreChunk VectorStoreFile"
    " get_all_vector_store_file_contents get_filename_from_file get_vector_store_file_content"
    " retrieve_and_reconstruct_files",
    "retrieval.amount": "Amount",
    "retrieval.collection": "Collection",
    "retrieval.evidence": "ChunkResult Gap Passage ReconstructedDocument",
    "retrieval.query": "QueryAnalyzer QueryPlan Turn",
    "retrieval.retriever": "Evidence Related",
    "retrieval.shelf": "Where",
    "retrieval.snippets": "Found Hit",
    "text.chunking": "chunk chunk_text uncovered",
    "text.stitching": "ChunkOverlapInfo Seam Stitched detect_chunk_overlap stitch stitch_chunks"
    " stitch_files",
}


# Rooms that are read as attributes of the package.
_OPEN_ROOMS = ("domain", "errors", "ports")

if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name in _OPEN_ROOMS:
            return import_module(f"{__name__}.{name}")
        for room, names in _ROOMS.items():
            if name in names.split():
                its_name = "open_library" if name == "open" else name
                found = getattr(import_module(f"{__name__}.{room}"), its_name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "open"})
