"""One document from one library into another: whole, or not at all."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

import numpy as np

from unchunk.domain import ChunkKey, Document, OwnerId, Version
from unchunk.errors import IntegrityError, NotFoundError, TransientError
from unchunk.library.embedding import Batch, batches, digest, points
from unchunk.library.places import Passage, Place, Way
from unchunk.library.withdrawing import take_back
from unchunk.ports import Vectors
from unchunk.ports.moving import LeftBehindError, Unit

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Carried:
    """A document whose originals and points are over there, to be flushed and then written.

    `before` is the mark of what it is to replace over there.
    """

    unit: Unit
    before: bytes | None
    document: Document
    size: int
    flaws: tuple[str, ...]


async def carry(way: Way, key: str, before: bytes | None) -> Carried | None:
    """Bring originals and points of a document; None if it was deleted meanwhile."""
    for _ in range(_TRIES):
        unit = await way.source.records.read("document", key)
        if unit is None:
            return None
        await way.target.records.announce(unit, before)
        try:
            return await _carry(way, unit, before)
        except (LeftBehindError, IntegrityError, NotFoundError) as error:
            await take_back(way, unit)
            again = await way.source.records.read("document", key)
            if again is not None and again.mark == unit.mark:
                raise LeftBehindError(str(error)) from error
    raise LeftBehindError("it changes all the time: run the same command again")


async def _carry(way: Way, unit: Unit, before: bytes | None) -> Carried:
    document = await _document(way.source, unit)
    versions = [it for it in (document.live, document.draft) if it is not None]
    blobs = list(dict.fromkeys(it.blob for it in versions if it.blob))
    if document.live is not None:
        await _put_points(way, document, document.live)
    size, flaws = 0, []
    for version in versions:
        if version.blob in blobs:
            blobs.remove(version.blob)
            try:
                size += await _put_original(way, version)
            except NotFoundError:
                # A draft's bytes may never have come.
                if version == document.live:
                    flaws.append("its original is gone over here, too; its text was moved")
    return Carried(unit, before, document, size, tuple(flaws))


async def _document(source: Place, unit: Unit) -> Document:
    (row,) = unit.rows["documents"]
    document = await source.catalog.get(cast("OwnerId", row["owner"]), cast("str", row["id"]))
    seen = (document.live, document.draft)
    if tuple(it and it.generation for it in seen) != (row["live"], row["draft"]):
        raise NotFoundError("it was written anew meanwhile")
    return document


async def _put_original(way: Way, version: Version) -> int:
    async with way.source.blobs.local(version.blob) as path:
        await way.target.blobs.put(version.blob, path)
        return (await asyncio.to_thread(path.stat)).st_size


async def _put_points(way: Way, document: Document, live: Version) -> None:
    source, passage = way.source, way.passages[live.space]
    try:
        text, chunks = await source.catalog.text(live), await source.catalog.chunks(live)
    except IntegrityError:
        text, chunks = "", []
    is_whole = sha256(text.encode("utf-8", "surrogatepass")).hexdigest() == live.text_checksum
    if not is_whole or len(chunks) != live.chunk_count:
        raise LeftBehindError("its text is damaged: run `unchunk doctor --fix` over here first")
    index = await way.target.index_of(passage.name, passage.recipe)
    for batch in batches(text, chunks):
        vectors = await vectors_of(source, passage, document, live.generation, batch)
        await index.upsert(points(document, live.generation, batch, vectors, passage.lexicon))


async def vectors_of(
    source: Place, passage: Passage, document: Document, generation: int, batch: Batch
) -> Vectors:
    """From the index, or where that does not have them or is in use, from the cache."""
    keys = keys_of(document, generation, [chunk.chunk_index for chunk in batch.chunks])
    try:
        index = await source.index_of(passage.former_name, passage.former)
        found = dict(await index.fetch(keys))
    except TransientError:
        found = {}
    marks = {key: digest(text) for key, text in zip(keys, batch.texts, strict=True)}
    lacking = {key: mark for key, mark in marks.items() if key not in found}
    if lacking:
        print_ = passage.identity.fingerprint
        known = await source.cache.recall(document.owner, print_, list(lacking.values()))
        found |= {key: known[mark] for key, mark in lacking.items() if mark in known}
    if len(found) < len(keys):
        raise LeftBehindError(
            "vectors are neither in the index nor in the cache: is a server using this library?"
            " Stop it, or run `unchunk doctor --fix` over here first"
        )
    return np.stack([found[key] for key in keys])


def keys_of(document: Document, generation: int, numbers: Sequence[int]) -> list[ChunkKey]:
    return [ChunkKey(document.owner, document.id, generation, number) for number in numbers]
