"""What nobody sees any more goes out of index, blobs and cache, and then it is counted."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from unchunk.domain import Document, DocumentId, Remains
from unchunk.errors import NotFoundError, OutputError, TransientError
from unchunk.library.parts import Parts
from unchunk.ports import Index, Taken
from unchunk.telemetry import log

# Documents whose remains go together: a flush costs the same for one as for many.
_AT_ONCE = 100
# Versions that are taken out again: so few that they are done soon.
_FEW = 20


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
    # Whoever is writing one now stops at the next batch; what they wrote then goes, too.
    await parts.desk.dismiss(*buried)
    parts.telemetry.count("deleted_documents", len(buried))
    async with parts.desk.hold(*buried):
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
    if any(not one.space and not one.gone for one in remains):
        # Somebody may be writing one of them, who slept and does not know that it is to go.
        remains = await parts.catalog.revoke(remains)
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


async def purge_remains(parts: Parts, known: Sequence[Remains]) -> int:
    """Of what is known to be left, remove what nobody works on, and tell how many versions."""
    versions = {(one.document, one.generation) for one in known}
    left = {document for document, _ in versions}
    free = sorted(left - await parts.desk.held(sorted(left)))
    purged = 0
    for at in range(0, len(free), _AT_ONCE):
        some = free[at : at + _AT_ONCE]
        async with parts.desk.hold_if_free(*some) as is_free:
            if is_free:
                purged += await _purge_some(parts, some, versions)
                continue
        # Somebody took one of them meanwhile.
        for one in some:
            async with parts.desk.hold_if_free(one) as is_free:
                purged += await _purge_some(parts, [one], versions) if is_free else 0
    return purged


async def _purge_some(
    parts: Parts, documents: Sequence[DocumentId], versions: AbstractSet[tuple[DocumentId, int]]
) -> int:
    """Asked for again: who held one before has purged it, or made it live."""
    wanted = {one for one in versions if one[0] in documents}
    left = await parts.catalog.remains()
    remains = [one for one in left if (one.document, one.generation) in wanted]
    await purge(parts, remains)
    return len(remains)


async def purge_again(parts: Parts, seconds: float) -> None:
    """Take out once more what was purged a while ago: some of it may have come after that.

    What is not done in so many seconds is left to others, or to the next time.
    """
    if parts.sharing.purged is None:
        return
    try:
        async with asyncio.timeout(seconds) as limit:
            while (taken := await parts.sharing.purged.take(_FEW)).versions:
                # One by one: what is done is not done again, however slow the index is.
                for one in taken.versions.items():
                    await parts.spaces.everywhere(partial(_take_out_again, *one))
                    await parts.sharing.purged.done(Taken(dict([one]), taken.until))
    except TimeoutError:
        if not limit.expired():
            raise


async def _take_out_again(document: DocumentId, generations: Sequence[int], index: Index) -> None:
    await index.delete(document, generations)
    await index.flush()


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
