"""What nobody sees any more goes out of index, blobs and cache, and then it is counted."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from unchunk.domain import Document, DocumentId, Remains
from unchunk.errors import NotFoundError, OutputError, TransientError
from unchunk.library.parts import Parts
from unchunk.ports import Index
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


async def delete(parts: Parts, documents: Sequence[Document]) -> list[Receipt]:
    """Make documents invisible at once, then remove all of them and count what is left.

    One that somebody else deleted meanwhile has no receipt.
    """
    buried: dict[DocumentId, tuple[str, list[Remains]]] = {}
    for one in documents:
        with suppress(NotFoundError):
            buried[one.id] = one.name, await parts.catalog.bury(one.owner, one.id)
            # Whoever is writing it now stops at the next batch; what they wrote then goes, too.
            parts.desk.dismiss(one.id)
    parts.telemetry.count("deleted_documents", len(buried))
    async with AsyncExitStack() as stack:
        # In one order, so that no two wait for each other.
        for document in sorted(buried):
            await stack.enter_async_context(parts.desk.hold(document))
        remains = [one for _, its in buried.values() for one in its]
        log("deleted %s: %d versions to purge", ", ".join(buried), len(remains))
        problem = ""
        try:
            await purge(parts, remains)
        except (TransientError, OutputError) as error:
            log("purge of %s was not finished: %s", ", ".join(buried), error)
            problem = str(error)
        return [
            await _receipt(parts, document, name, its, problem)
            for document, (name, its) in buried.items()
        ]


async def purge(parts: Parts, remains: Sequence[Remains]) -> None:
    """Remove versions for good. Can be called again after it failed: each step can be."""
    if not remains:
        return

    async def take_out(index: Index) -> None:
        for one in remains:
            await index.delete(one.document, None if one.gone else [one.generation])
        await index.flush()

    await parts.spaces.everywhere(take_out)
    for one in remains:
        if one.blob:
            await parts.blobs.delete(one.blob)
        if one.gone:
            await parts.cache.drop(one.document)
    await parts.catalog.forget(remains)


async def purge_document(parts: Parts, document: DocumentId) -> None:
    """Remove what is left of a document's older versions."""
    await purge(parts, [one for one in await parts.catalog.remains() if one.document == document])


async def sweep(parts: Parts) -> int:
    """Take chunks out of the index that are of no live version and of none that comes in."""
    swept = 0
    for space in parts.spaces.all:
        census = await space.index.census()
        documents = {one.id: one for one in await parts.catalog.find()}
        for (identity, generation), count in census.items():
            if not belongs(documents.get(identity), generation, space.name):
                await space.index.delete(identity, [generation])
                swept += count
        await space.index.flush()
    return swept


def belongs(document: Document | None, generation: int, space: str) -> bool:
    """Whether chunks of a generation are rightly in a space."""
    if document is None:
        return False
    live, draft = document.live, document.draft
    return (live is not None and (live.generation, live.space) == (generation, space)) or (
        draft is not None and draft.generation == generation
    )


async def _receipt(
    parts: Parts, document: DocumentId, name: str, remains: Sequence[Remains], problem: str
) -> Receipt:
    vectors = 0
    try:
        for census in (await parts.spaces.everywhere(lambda it: it.census(document))).values():
            # Half of a chunk, where an index has two parts, counts as none of it there.
            vectors += sum(max(1, count) for count in census.values())
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
