"""Whether a document that was brought is over there as it is here."""

import asyncio
from hashlib import sha256
from random import Random
from typing import cast

import numpy as np

from unchunk.domain import Document, OwnerId, Version
from unchunk.errors import NotFoundError
from unchunk.library.carrying import keys_of, vectors_of
from unchunk.library.embedding import batches
from unchunk.library.places import Passage, Place, Way
from unchunk.library.reindexing import checksum_of
from unchunk.ports.moving import Unit

_COMPARED = 50
# Servers keep vectors at length one, which they make so themselves.
_NEAR = 1e-4


async def differences(way: Way, carried: Unit) -> list[str]:
    """What of a document is not over there as it is here, all of it looked at again."""
    target = way.target
    unit = await target.records.read("document", carried.key)
    if unit is None or unit.mark != carried.mark:
        return ["what is noted of it is not the same: somebody changed it over there"]
    (row,) = unit.rows["documents"]
    document = await target.catalog.get(cast("OwnerId", row["owner"]), cast("str", row["id"]))
    found = []
    for version in (document.live, document.draft):
        if version is not None and version.blob:
            is_draft = version == document.draft
            found += await _of_original(target, version, is_draft=is_draft)
    if document.live is not None:
        if unit.rows["layouts"] != carried.rows["layouts"]:
            found.append("its chunks are not the same")
        found += await _of_text(target, document.live)
        found += await _of_points(way, document, document.live, carried)
    return found


async def _of_original(target: Place, version: Version, *, is_draft: bool) -> list[str]:
    try:
        async with target.blobs.local(version.blob) as path:
            same = await asyncio.to_thread(checksum_of, path) == version.checksum
    except NotFoundError:
        return [] if is_draft else ["its original is not there"]
    return [] if same else ["its original is not the one that came in"]


async def _of_text(target: Place, live: Version) -> list[str]:
    text = await target.catalog.text(live)
    same = sha256(text.encode()).hexdigest() == live.text_checksum
    return [] if same else ["its text is not the same"]


async def _of_points(way: Way, document: Document, live: Version, carried: Unit) -> list[str]:
    target, passage = way.target, _passage_of(way, carried)
    index = await target.index_of(passage.name, passage.recipe)
    kept = (await index.census(document.id)).get((document.id, live.generation), 0)
    if kept != live.chunk_count:
        return [f"the index holds {kept} of its {live.chunk_count} chunks"]
    text, chunks = await target.catalog.text(live), await target.catalog.chunks(live)
    some = Random(document.id).sample(chunks, min(_COMPARED, len(chunks)))  # noqa: S311 - a sample
    if not some:
        return []
    (batch,) = batches(text, sorted(some))
    expected = await vectors_of(way.source, passage, document, live.generation, batch)
    keys = keys_of(document, live.generation, [chunk.chunk_index for chunk in batch.chunks])
    found = await index.fetch(keys)
    if len(found) != len(keys):
        return [f"the index gives {len(found)} of {len(keys)} vectors"]
    rows = np.stack([found[key] for key in keys])
    return [] if np.abs(rows - expected).max() < _NEAR else ["its vectors are not the same"]


def _passage_of(way: Way, unit: Unit) -> Passage:
    """The one of its live version, as it is in the source."""
    (row,) = unit.rows["documents"]
    return next(
        way.passages[cast("str", one["space"])]
        for one in unit.rows["versions"]
        if one["generation"] == row["live"]
    )
