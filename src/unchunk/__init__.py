"""Ask your documents, and get them back out of any chunk store. All of the public API."""

from unchunk.domain import ChunkingStrategy, Span
from unchunk.errors import UnchunkError
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
    "ChunkOverlapInfo",
    "ChunkingStrategy",
    "Seam",
    "Span",
    "Stitched",
    "UnchunkError",
    "chunk",
    "chunk_text",
    "detect_chunk_overlap",
    "stitch",
    "stitch_chunks",
    "stitch_files",
    "uncovered",
]
