"""Documents anew from their stored texts: after a change of settings, or of the index.

Each is written as a new generation beside the old one, which stays live until the new one is
whole. So searches go on, and what was interrupted goes on where it stopped.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from unchunk.domain import Document, Extracted, Version
from unchunk.library.committing import Committer, Room, each
from unchunk.library.parts import Parts
from unchunk.library.writing import write

_ROOM = 64_000_000

Report = Callable[[str, int, int], None]
Read = Callable[[Parts, Document, Version], Awaitable[Extracted]]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How many documents were written anew, and which indexes were dropped behind them."""

    documents: int
    dropped: tuple[str, ...] = ()


async def migrate(parts: Parts, width: int, report: Report) -> Reindexed:
    """Bring the whole library to what the settings want; if it is there, write it all anew."""
    await parts.spaces.adopt()
    live = [document for document in await parts.catalog.find() if document.live]
    stale = [document for document in live if not is_current(parts, document)]
    done = await reindex(parts, stale or live, width, report)
    in_use = {one.live.space for one in await parts.catalog.find() if one.live}
    return replace(done, dropped=tuple(await parts.spaces.retire(in_use)))


async def reindex(
    parts: Parts,
    documents: Sequence[Document],
    width: int,
    report: Report,
    read: Read | None = None,
) -> Reindexed:
    """Write the live versions of some documents anew. `report` gets name, chunks done, of all.

    `read` is where their texts come from: the catalog, if not told otherwise.
    """
    read = read or stored
    committer, room = Committer(parts), Room(_ROOM)

    async def one(document: Document) -> bool:
        version = document.live
        if version is None:
            return False
        async with room.hold(version.text_length):
            extracted = await read(parts, document, version)
            generation = await parts.catalog.next_generation(document.id)
            whole = await write(
                parts,
                document,
                replace(version, generation=generation),
                extracted,
                partial(report, document.name),
            )
            return await committer.commit(whole)

    return Reindexed(sum(await each(documents, width, one)))


def is_current(parts: Parts, document: Document) -> bool:
    version = document.live
    return (
        version is not None
        and version.space == parts.spaces.active.name
        and version.chunking == parts.spaces.chunking
    )


async def from_original(parts: Parts, document: Document, version: Version) -> Extracted:
    """A version read from its file once more."""
    async with parts.blobs.local(version.blob) as path:
        return await parts.extractor.extract(path, document.name)


async def stored(parts: Parts, _: Document, version: Version) -> Extracted:
    """A version as it was when it was read from its file."""
    pages, headings = await parts.catalog.outline(version)
    text = await parts.catalog.text(version)
    return Extracted(text, version.media_type, pages, headings, version.title, version.notes)
