"""Stitching as it was first specified: one overlap, measured once, cut off every chunk.

Kept for whoever asks for it by name. A window of so many tokens overlaps by a varying number
of characters, so this gets next to no file of token windows back; use `stitch`.
"""

from collections.abc import Iterable
from typing import Protocol

from unchunk.errors import InvalidTextError


class HasText(Protocol):
    """A chunk as the OpenAI SDK gives it."""

    @property
    def text(self) -> str: ...


def stitch_chunks(chunks: Iterable[str | HasText], overlap_chars: int) -> str:
    """Join `chunks`, the first `overlap_chars` characters of each but the first cut off.

    A chunk that is no longer than that, and every one where the overlap is 0, is put behind
    a newline.
    """
    if overlap_chars < 0:
        raise InvalidTextError(f"overlap_chars must be at least 0, not {overlap_chars}")
    parts: list[str] = []
    for chunk in chunks:
        text = chunk if isinstance(chunk, str) else getattr(chunk, "text", None)
        if not isinstance(text, str):
            raise InvalidTextError(f"a chunk is {type(chunk).__name__}, not text")
        if not parts:
            parts.append(text)
        elif 0 < overlap_chars < len(text):
            parts.append(text[overlap_chars:])
        else:
            parts += ["\n", text]
    return "".join(parts)
