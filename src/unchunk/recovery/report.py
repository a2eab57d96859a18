"""What was recovered, for machines: one JSON-ready value per file."""

from typing import TypedDict

from unchunk.text.stitching import Stitched


class SeamReport(TypedDict):
    """One joint."""

    index: int
    start: int
    overlap: int
    confidence: str
    method: str
    missing: int


class FileReport(TypedDict):
    """One file. `order` is given only where the chunks were not in the order of the text."""

    file: str
    output: str
    chunks: int
    characters: int
    bytes: int
    confidence: str
    strategy: str | None
    missing: int
    order: list[int] | None
    notes: list[str]
    seams: list[SeamReport]


def report(name: str, output: str, written: int, stitched: Stitched) -> FileReport:
    return {
        "file": name,
        "output": output,
        "chunks": len(stitched.order),
        "characters": len(stitched.text),
        "bytes": written,
        "confidence": stitched.confidence,
        "strategy": str(stitched.strategy) if stitched.strategy else None,
        "missing": stitched.missing,
        "order": list(stitched.order) if stitched.reordered else None,
        "notes": list(stitched.notes),
        "seams": [
            {
                "index": seam.index,
                "start": seam.start,
                "overlap": seam.overlap,
                "confidence": seam.confidence,
                "method": seam.method,
                "missing": seam.missing,
            }
            for seam in stitched.seams
        ],
    }
