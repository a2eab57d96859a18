"""How the documents of a library are laid out, read without their texts."""

from collections.abc import Sequence

from unchunk.domain import Chunk, DocumentId, OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Catalog
from unchunk.retrieval.shelf import Layout, MovedError


async def layouts_of(
    catalog: Catalog, owner: OwnerId, wanted: Sequence[tuple[DocumentId, int]]
) -> dict[DocumentId, Layout]:
    """As `Shelf.layouts`, from a catalog."""
    there = await catalog.open(owner, {document: () for document, _ in wanted}) if wanted else {}
    layouts = {}
    for document, generation in wanted:
        if document not in there:
            continue
        version = there[document].version
        if version.generation != generation:
            raise MovedError
        try:
            chunks = await catalog.chunks(version)
            _, headings = await catalog.outline(version)
        except NotFoundError:
            raise MovedError from None
        layouts[document] = Layout(chunks, headings)
    return layouts


def touches(chunk: Chunk, pages: tuple[int, int]) -> bool:
    """Whether any of the pages, counted from 1 and both included, has a part of the chunk."""
    if chunk.first_page is None or chunk.last_page is None:
        return False
    return chunk.first_page <= pages[1] and pages[0] <= chunk.last_page
