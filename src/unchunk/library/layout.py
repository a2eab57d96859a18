"""A document's text into chunks that know their pages and headings, and fit the embedder."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from unchunk.domain import Chunk, Chunking, Extracted, Heading, Span
from unchunk.text.chunking import chunk
from unchunk.text.graphemes import border_before

# Texts that are Markdown, or that extraction writes as such.
_NOT_MARKDOWN = frozenset({"text/plain", "text/csv", "application/pdf", "application/json"})
_SPACE = " \t\n\r\f\v"

Count = Callable[[Sequence[str]], list[int]]


def lay_out(
    extracted: Extracted, chunking: Chunking, count: Count, limit: int
) -> tuple[Chunk, ...]:
    """Chunks that tile the text, none of more than `limit` tokens as `count` has them.

    `count` is the embedder's: what it does not read would be stored and never found.
    """
    boundaries = chunking.boundaries
    if boundaries == "markdown" and extracted.media_type in _NOT_MARKDOWN:
        boundaries = "boundary"
    text = extracted.text
    spans = chunk(text, chunking.strategy, boundaries=boundaries)
    paths = _paths(extracted.headings)
    starts = [heading.at for heading in extracted.headings]
    chunks = []
    for at, span in enumerate(_fitting(text, spans, count, limit)):
        first, last = _pages(extracted.pages, text, span)
        path = _path(starts, paths, text, span)
        chunks.append(Chunk(at, span.start, span.end, first, last, path))
    return tuple(chunks)


def embedded_text(text: str, chunk: Chunk) -> str:
    """What is embedded and indexed of a chunk: its words with single blanks between them.

    The canonical text keeps every character; white space means nothing to a model.
    """
    return " ".join(text[chunk.start : chunk.end].split())


def _fitting(text: str, spans: Sequence[Span], count: Count, limit: int) -> Iterator[Span]:
    """The spans, and those that are too long for the embedder in halves, as often as needed."""
    # A token takes a byte at least: a short text fits, whatever it says and with any prefix.
    long = [span for span in spans if span.end - span.start > limit // 8]
    counts = dict(zip(long, count([span.of(text) for span in long]), strict=True)) if long else {}
    for span in spans:
        if counts.get(span, 0) <= limit or span.end - span.start <= 1:
            yield span
        else:
            yield from _fitting(text, _halves(text, span), count, limit)


def _halves(text: str, span: Span) -> list[Span]:
    """Two spans where there was one, parted behind white space if there is any in reach."""
    middle = (span.start + span.end) // 2
    space = max(text.rfind(blank, span.start + 1, middle) for blank in " \n") + 1
    cut = space if space > (span.start + middle) // 2 else border_before(text, middle, span.start)
    if not span.start < cut < span.end:
        cut = middle
    return [span._replace(end=cut), span._replace(start=cut)]


def _pages(pages: Sequence[int], text: str, span: Span) -> tuple[int, int] | tuple[None, None]:
    """The first and last page that a span has visible text on."""
    if not pages:
        return None, None
    start, end = _visible(text, span)
    return max(1, bisect_right(pages, start)), max(1, bisect_right(pages, max(start, end - 1)))


def _visible(text: str, span: Span) -> tuple[int, int]:
    start, end = span.start, span.end
    while start < end - 1 and text[start] in _SPACE:
        start += 1
    while end > start + 1 and text[end - 1] in _SPACE:
        end -= 1
    return start, end


def _paths(headings: Sequence[Heading]) -> list[tuple[str, ...]]:
    """The path of each heading: the titles above it, and its own."""
    paths = []
    open_: list[Heading] = []
    for heading in headings:
        while open_ and open_[-1].level >= heading.level:
            open_.pop()
        open_.append(heading)
        paths.append(tuple(one.title for one in open_))
    return paths


def _path(
    starts: Sequence[int], paths: Sequence[tuple[str, ...]], text: str, span: Span
) -> tuple[str, ...]:
    if span.heading_path or not starts:
        return span.heading_path
    above = bisect_right(starts, _visible(text, span)[0])
    return paths[above - 1] if above else ()
