"""Documents as a shelf opens them, made of a text and where it is cut."""

import random
from collections.abc import Iterable

from hypothesis import strategies as st

from unchunk.domain import Boundaries, Chunk, ChunkingStrategy, Span
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.shelf import Metadata, Piece, Sheet
from unchunk.text.chunking import chunk

WORDS = ["the", "river", "of", "evidence", "runs", "past", "every", "house", "nobody", "counts"]


def sheet_of(
    text: str,
    spans: Iterable[Span],
    opened: Iterable[int] | None = None,
    *,
    name: str = "report.txt",
    title: str = "",
    content_type: str = "text/plain",
    metadata: Metadata | None = None,
) -> Sheet:
    """All of its chunks, or those that are there of the ones to be opened."""
    spans = list(spans)
    chosen = range(len(spans)) if opened is None else opened
    return Sheet(
        document=f"id-{name}",
        name=name,
        folder="",
        title=title,
        content_type=content_type,
        chunk_count=len(spans),
        pieces={
            index: Piece(
                Chunk(index, *spans[index][:2], None, None, spans[index].heading_path),
                spans[index].of(text),
            )
            for index in chosen
            if index in range(len(spans))
        },
        metadata=metadata or {},
    )


def prose(length: int, seed: int = 0) -> str:
    """Sentences of at least so many characters, no two texts alike."""
    rng = random.Random(seed)
    text = ""
    while len(text) < length:
        words = " ".join(rng.choices(WORDS, k=rng.randint(4, 11)))
        text += f"{words.capitalize()} {rng.randint(0, 10**6)}. "
    return text


def even(count: int, length: int = 100, overlap: int = 0, seed: int = 0) -> tuple[str, list[Span]]:
    """A text and so many equal chunks of it."""
    stride = length - overlap
    text = prose(stride * (count - 1) + length, seed)[: stride * (count - 1) + length]
    return text, [Span(at * stride, at * stride + length) for at in range(count)]


def coverage(document: ReconstructedDocument) -> list[tuple[int, int]]:
    return [(one.first_chunk, one.last_chunk) for one in document.passages]


def without_marks(document: ReconstructedDocument) -> str:
    text = document.full_content
    for gap in reversed(document.gaps):
        text = text[: gap.at] + text[gap.end :]
    return text


PIECES = [
    *"ab .\n[]<>:…",
    "Some words. ",
    "\n\n",
    "\r\n",
    "\n# Title\n",
    "[... chunks 4-7 omitted ...]",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "漢字。",
    "\u200b",
    "\x00",
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=80).map("".join)


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """Any text with any chunks: ours of every kind, or any spans by their beginnings."""
    text = draw(texts)
    if draw(st.booleans()):
        size = draw(st.integers(1, 12))
        strategy = ChunkingStrategy("chars", size, draw(st.integers(0, size - 1)))
        kinds: list[Boundaries] = ["window", "boundary", "markdown"]
        return text, chunk(text, strategy, boundaries=draw(st.sampled_from(kinds)))
    edges = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(edges, edges), max_size=20))
    return text, sorted(Span(min(pair), max(pair)) for pair in pairs)
