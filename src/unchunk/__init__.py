"""Ask your documents, and get them back out of any chunk store. All of the public API."""

from unchunk.domain import Chunk, ChunkingStrategy, Document, Span, Version
from unchunk.engine import Engine
from unchunk.errors import UnchunkError
from unchunk.library.doctor import Examination, Finding
from unchunk.library.ingest import Outcome
from unchunk.library.purging import Receipt
from unchunk.opening import open_library as open  # noqa: A004 - read as `unchunk.open`
from unchunk.retrieval.search import Found, Hit
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
    "Chunk",
    "ChunkOverlapInfo",
    "ChunkingStrategy",
    "Document",
    "Engine",
    "Examination",
    "Finding",
    "Found",
    "Hit",
    "Outcome",
    "Receipt",
    "Seam",
    "Span",
    "Stitched",
    "UnchunkError",
    "Version",
    "chunk",
    "chunk_text",
    "detect_chunk_overlap",
    "open",
    "stitch",
    "stitch_chunks",
    "stitch_files",
    "uncovered",
]
