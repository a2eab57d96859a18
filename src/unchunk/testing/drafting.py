"""Documents in a catalog that is tried out, and scenes on one as tests."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

from unchunk.domain import (
    Chunk,
    Chunking,
    ChunkingStrategy,
    Document,
    Heading,
    Version,
    Whole,
)
from unchunk.ports import Catalog

S = TypeVar("S", bound="CatalogSuite")


def whole_of(version: Version, text: str, space: str = "space", blob: str | None = None) -> Whole:
    """The version with everything that goes with it, cut into pieces of ten characters."""
    chunks = tuple(
        Chunk(index, start, min(start + 10, len(text)), index + 1, index + 1, ("Part", str(index)))
        for index, start in enumerate(range(0, len(text), 10))
    )
    return Whole(
        replace(
            version,
            blob=version.blob if blob is None else blob,
            media_type="text/plain",
            title=text[:20],
            text_checksum=sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            text_length=len(text),
            page_count=len(chunks),
            chunk_count=len(chunks),
            chunking=Chunking(ChunkingStrategy("chars", 10, 0), "window"),
            space=space,
            notes=("read in full",),
        ),
        text,
        chunks,
        tuple(chunk.start for chunk in chunks),
        (Heading(0, 1, "Part"), Heading(min(10, len(text)), 2, "1")),
    )


async def added(
    catalog: Catalog, name: str, text: str, owner: str = "me", folder: str = ""
) -> Document:
    """A document that is live with this text."""
    draft = await drafted(catalog, name, text, owner, folder)
    assert await catalog.go_live([whole_of(draft, text)]) == [draft.document]
    return await catalog.get(owner, draft.document)


async def drafted(
    catalog: Catalog, name: str, text: str, owner: str = "me", folder: str = "", *, blob: str = ""
) -> Version:
    """The draft of a document whose bytes are `text`."""
    document = await catalog.begin(
        owner,
        folder,
        name,
        checksum=sha256(text.encode()).hexdigest(),
        size=len(text),
        blob=blob or f"uploads/{owner}/{name}/{text[:10]}",
    )
    assert document.draft is not None
    return document.draft


async def rewritten(catalog: Catalog, version: Version, text: str, space: str = "new") -> Whole:
    """The same bytes under a number of their own, as reindexing writes them."""
    generation = await catalog.next_generation(version.document)
    return whole_of(replace(version, generation=generation), text, space)


def live_of(document: Document) -> Version:
    assert document.live is not None
    return document.live


def on_a_catalog(scene: Callable[[S, Catalog], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh catalog."""

    async def play(suite: S) -> None:
        async with suite.opened() as catalog:
            await scene(suite, catalog)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class CatalogSuite:
    """Subclass it as `Test...`, and say how a catalog is opened."""

    def opened(self) -> AbstractAsyncContextManager[Catalog]:
        """A catalog that is empty at first, and the same one each time within one test."""
        raise NotImplementedError
