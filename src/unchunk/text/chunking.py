"""Texts into spans: plain windows, chunks that end at boundaries, chunks of Markdown.

All three take time and memory in proportion to the text and never cut a grapheme cluster.
No chunk has more units than the strategy's `size`, except one that is a single cluster larger
than that: a million accents on one letter are one character to a reader. Tokens are counted
in the tokenisation of the whole text, and a token that a border cuts counts on neither side.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import get_args

from unchunk.domain import Boundaries, ChunkingStrategy, Span
from unchunk.errors import InvalidStrategyError, InvalidTextError
from unchunk.text.boundaries import split
from unchunk.text.markdown import read_outline
from unchunk.text.units import fitting, measure
from unchunk.text.windows import windows

# Made for each chunk: `Span(...)` takes a third longer.
_span = partial(tuple.__new__, Span)


def chunk(
    text: str, strategy: ChunkingStrategy, *, boundaries: Boundaries = "window"
) -> list[Span]:
    """Spans that tile the text: none of it is outside, and each begins in or right behind another.

    "window" cuts by the clock alone. "boundary" ends a chunk with a paragraph, line, sentence
    or word, and lets the next one begin with a sentence or word, at most `overlap` units back.
    "markdown" does so inside each section, keeps code fences and tables whole where they fit,
    and gives each span the path of headings that it begins under; sections do not overlap.
    """
    if not isinstance(text, str):
        raise InvalidTextError(
            f"only a str can be chunked, not {type(text).__name__}: decode or read it first"
        )
    if boundaries not in get_args(Boundaries):
        raise InvalidStrategyError(
            f"boundaries {boundaries!r} is unknown: use 'window', 'boundary' or 'markdown'"
        )
    if not text:
        return []
    if boundaries == "window":
        return windows(text, strategy)
    if boundaries == "markdown":
        return _markdown_chunks(text, strategy)
    bounds = measure(text, strategy)
    edges = split(text, bounds, strategy, (0, len(text)))
    return [_span((start, end, ())) for start, end in edges]


def chunk_text(content: str, max_words: int = 320, overlap_words: int = 80) -> list[str]:
    """Plain windows of words, with all the white space that the text has there.

    The white space behind a word belongs to it, and what stands before the first word to that.
    """
    strategy = ChunkingStrategy("words", max_words, overlap_words)
    return [span.of(content) for span in chunk(content, strategy)]


def uncovered(spans: Iterable[Span]) -> Iterator[Span]:
    """Of each span the part that no earlier one covers; joined, they are the text again."""
    covered = 0
    for span in spans:
        if span.end > covered:
            yield span._replace(start=max(span.start, covered))
            covered = span.end


def _markdown_chunks(text: str, strategy: ChunkingStrategy) -> list[Span]:
    outline, bounds = read_outline(text), measure(text, strategy)
    solids = fitting(bounds, outline.solids, strategy.size)
    spans: list[Span] = []
    for section in outline.sections(text):
        path, edges = outline.common_path(*section), split(text, bounds, strategy, section, solids)
        if path is None:
            spans += [Span(start, end, outline.path_of(text, start, end)) for start, end in edges]
        else:
            spans += [_span((start, end, path)) for start, end in edges]
    return spans
