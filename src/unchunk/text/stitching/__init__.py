"""Overlapping chunks back into the text that they were cut from."""

from unchunk.text.stitching.borders import ChunkOverlapInfo, detect_chunk_overlap
from unchunk.text.stitching.files import stitch, stitch_files
from unchunk.text.stitching.literal import stitch_chunks
from unchunk.text.stitching.placed import stitch_placed
from unchunk.text.stitching.seams import Confidence, Seam, Stitched

__all__ = [
    "ChunkOverlapInfo",
    "Confidence",
    "Seam",
    "Stitched",
    "detect_chunk_overlap",
    "stitch",
    "stitch_chunks",
    "stitch_files",
    "stitch_placed",
]
