"""Documents anew from their stored texts: after a change of settings, or of the index.

Each is written as a new generation beside the old one, which stays live until the new one is
whole. So searches go on, and what was interrupted goes on where it stopped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path

from unchunk.domain import Document, Extracted, Version
from unchunk.errors import IndexUnavailableError, IntegrityError, NotFoundError
from unchunk.library.committing import Flow, each
from unchunk.library.parts import Parts
from unchunk.library.writing import write

Report = Callable[[str, int, int], None]
Read = Callable[[Parts, Document, Version], Awaitable[Extracted]]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How many documents were written anew, and which indexes were dropped behind them."""

    documents: int
    dropped: tuple[str, ...] = ()


async def migrate(parts: Parts, flow: Flow, report: Report) -> Reindexed:
    """Bring the whole library to what the settings want; if it is there, write it all anew."""
    await parts.spaces.adopt()
    live = [document for document in await parts.catalog.find() if document.live]
    chosen = [document for document in live if not is_current(parts, document)] or live
    total, dropped = 0, await parts.spaces.retire() if not chosen else []
    while chosen:
        done = (await reindex(parts, chosen, flow, report)).documents
        total += done
        dropped += await parts.spaces.retire()
        # Files that were on their way into the old space meanwhile; unless somebody elsewhere has
        # migrated the library to something else by now.
        await parts.spaces.refresh()
        live = [document for document in await parts.catalog.find() if document.live]
        chosen = [document for document in live if not is_current(parts, document)] if done else []
    return Reindexed(total, tuple(dropped))


async def reindex(
    parts: Parts,
    documents: Sequence[Document],
    flow: Flow,
    report: Report,
    read: Read | None = None,
) -> Reindexed:
    """Write the live versions of some documents anew. `report` gets name, chunks done, of all.

    `read` is where their texts come from: the catalog, if not told otherwise.
    """
    read = read or stored

    async def one(document: Document) -> bool:
        size = document.live.text_length if document.live else 0
        # Room before the document, as everywhere: in another order two would wait for ever.
        async with flow.room.hold(size), parts.desk.hold(document.id):
            try:
                version = (await parts.catalog.get(document.owner, document.id)).live
                if version is None:
                    return False
                async with parts.spaces.using() as space:
                    extracted = await read(parts, document, version)
                    generation = await parts.catalog.next_generation(document.id)
                    version = replace(version, generation=generation)
                    step = partial(report, document.name)
                    whole = await write(parts, space, document, version, extracted, step=step)
                    return await flow.committer.commit(whole)
            except NotFoundError:
                return False  # deleted meanwhile
            except IndexUnavailableError:
                if await parts.spaces.is_gone(space):
                    return False  # migrated meanwhile, elsewhere
                raise

    return Reindexed(sum(await each(documents, flow.width, one)))


def is_current(parts: Parts, document: Document) -> bool:
    version = document.live
    return (
        version is not None
        and version.space == parts.spaces.active.name
        and version.chunking == parts.spaces.chunking
    )


async def from_original(parts: Parts, document: Document, version: Version) -> Extracted:
    """A version read from its file once more, if that is still what it was."""
    async with parts.blobs.local(version.blob) as path:
        if await asyncio.to_thread(checksum_of, path) != version.checksum:
            raise IntegrityError(f"the original of {document.name} is not the one that came in")
        return await parts.extractor.extract(path, document.name)


def checksum_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


async def stored(parts: Parts, document: Document, version: Version) -> Extracted:
    """A version as it was when it was read from its file."""
    pages, headings = await parts.catalog.outline(version)
    text = await parts.catalog.text(version)
    if sha256(text.encode()).hexdigest() != version.text_checksum:
        raise IntegrityError(
            f"the stored text of {document.name} is damaged: `unchunk doctor --fix` reads it"
            " again from its original"
        )
    return Extracted(text, version.media_type, pages, headings, version.title, version.notes)
