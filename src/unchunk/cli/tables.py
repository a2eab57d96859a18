"""Rows for people. Nothing is cut off: what is too long for the screen wraps."""

from collections.abc import Iterable, Iterator, Sequence

from unchunk.domain import Document
from unchunk.retrieval.snippets import Hit

_QUOTED = 300


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines with aligned columns; columns that are empty in all rows are left out."""
    rows = list(rows)
    if not rows:
        yield "there are no documents; `unchunk add PATH` adds some"
        return
    used = [at for at in range(len(titles)) if any(row[at] for row in rows)]
    widths = [max(len(titles[at]), *(len(row[at]) for row in rows)) for at in used]
    for row in (titles, *rows):
        cells = (row[at].ljust(width) for at, width in zip(used, widths, strict=True))
        yield "  ".join(cells).rstrip()


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def document_lines(documents: Iterable[Document]) -> Iterator[tuple[str, ...]]:
    for one in documents:
        version = one.live or one.draft
        yield (
            one.id[:12],
            one.status,
            f"{version.size:,}" if version else "",
            str(version.page_count or "") if version else "",
            str(one.live.chunk_count) if one.live else "",
            one.folder,
            one.name,
            f"{one.error_code}: {one.error}" if one.error else "",
        )


def hit_lines(hits: Iterable[Hit]) -> Iterator[str]:
    for at, hit in enumerate(hits, 1):
        where = [f"chunk {hit.chunk.chunk_index}"]
        if hit.chunk.first_page is not None:
            where.append(f"page {hit.chunk.first_page}")
        if hit.chunk.heading_path:
            where.append(" > ".join(hit.chunk.heading_path))
        yield f"{at}. {hit.name} ({', '.join(where)})"
        text = " ".join(hit.text.split())
        yield f"   {text[:_QUOTED]}{' ...' if len(text) > _QUOTED else ''}"
