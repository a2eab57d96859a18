"""What nobody sees any more goes out of index, blobs and cache, and then it is counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from unchunk.domain import DocumentId, OwnerId, Remains
from unchunk.errors import NotFoundError, TransientError
from unchunk.library.parts import Parts
from unchunk.telemetry import log


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is left of a deleted document in each place: nothing, if all went well.

    Where something is left, `problem` says why. The document is invisible all the same, and
    the rest goes at the next start, or with `unchunk doctor --fix`.
    """

    document: DocumentId
    name: str
    vectors: int
    blobs: int
    cached: int
    catalog: int
    problem: str = ""

    @property
    def clean(self) -> bool:
        return not (self.vectors or self.blobs or self.cached or self.catalog or self.problem)


async def delete(parts: Parts, owner: OwnerId, document: DocumentId) -> Receipt:
    """Make a document invisible at once, then remove all of it and count what is left."""
    name = (await parts.catalog.get(owner, document)).name
    remains = await parts.catalog.bury(owner, document)
    parts.telemetry.count("deleted_documents")
    log("deleted %s: %d versions to purge", document, len(remains))
    problem = ""
    try:
        await purge(parts, remains)
    except TransientError as error:
        log("purge of %s was not finished: %s", document, error)
        problem = str(error)
    return await _receipt(parts, document, name, remains, problem)


async def purge(parts: Parts, remains: Sequence[Remains]) -> None:
    """Remove versions for good. Can be called again after it failed: each step can be."""
    if not remains:
        return
    touched = set()
    for one in remains:
        for space in parts.spaces.all:
            await space.index.delete(one.document, None if one.gone else [one.generation])
            touched.add(space.name)
        if one.blob:
            await parts.blobs.delete(one.blob)
        if one.gone:
            await parts.cache.drop(one.document)
    for space in parts.spaces.all:
        if space.name in touched:
            await space.index.flush()
    await parts.catalog.forget(remains)


async def _receipt(
    parts: Parts, document: DocumentId, name: str, remains: Sequence[Remains], problem: str
) -> Receipt:
    vectors = 0
    try:
        for space in parts.spaces.all:
            vectors += sum((await space.index.census(document)).values())
    except TransientError as error:
        problem = problem or str(error)
    left = [one for one in await parts.catalog.remains() if one.document == document]
    blobs = {one.blob for one in remains if one.blob}
    return Receipt(
        document,
        name,
        vectors,
        sum([await _is_there(parts, blob) for blob in blobs]),
        await parts.cache.count(document),
        len(left),
        problem,
    )


async def _is_there(parts: Parts, blob: str) -> bool:
    try:
        async with parts.blobs.local(blob):
            return True
    except NotFoundError:
        return False
