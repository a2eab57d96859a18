"""What a move takes out of its target again, and what nobody over there sees any more."""

import json
from collections.abc import Collection
from typing import cast

from unchunk.domain import DocumentId
from unchunk.library.places import Way
from unchunk.library.recipes import noted_spaces
from unchunk.ports import Index
from unchunk.ports.moving import Kind, Unit


async def take_back(way: Way, unit: Unit) -> None:
    """Leave nothing of a document that was announced and is not over there after all.

    What is over there of it by now stays: nobody there has a number that was announced.
    """
    there = await way.target.records.read("document", unit.key)
    rows = there.rows["versions"] if there is not None else ()
    kept = {row["generation"] for row in rows}
    gone = sorted({cast("int", row["generation"]) for row in unit.rows["versions"]} - kept)
    for index in way.target.opened.values():
        if gone:
            await index.delete(identity_of(unit.key), gone if there is not None else None)
            await index.flush()
    blobs = {str(row["blob"]) for row in unit.rows["versions"]} - {str(it["blob"]) for it in rows}
    for blob in blobs - {""}:
        await way.target.blobs.delete(blob)


async def remove(way: Way, kind: Kind, key: str, before: bytes | None) -> None:
    """Take out what a move brought and the source no longer has.

    Raises `LeftBehindError` where somebody changed it over there meanwhile.
    """
    target = way.target
    await target.records.remove(kind, key, before)
    if kind == "document":
        identity = identity_of(key)
        await target.desk.dismiss(identity)
        brought = (await target.records.brought(kind))[key]
        for index in await _indexes(way):
            await index.delete(identity)
            await index.flush()
        for blob in brought.blobs:
            await target.blobs.delete(blob)
        await purge(way, {identity})
    await target.records.forget(kind, key)


async def purge(way: Way, documents: Collection[DocumentId]) -> None:
    """What nobody over there sees any more goes, of these documents, unless somebody holds one.

    Whatever is left is listed over there, and goes with the next start or beat of a process.
    """
    target = way.target
    left = {one.document for one in await target.records.remains(documents)}
    free = sorted(left - await target.desk.held(sorted(left)))
    spaces = noted_spaces(await target.catalog.notes()).keys()
    # Remains may be in any index over there, and one of them is nothing to this move.
    if not free or spaces - {it.name for it in way.passages.values()}:
        return
    async with target.desk.hold_if_free(*free) as is_free:
        if is_free:
            await _purge(way, free)


async def _purge(way: Way, documents: Collection[DocumentId]) -> None:
    target = way.target
    # Asked for again: who held one before may have made it live.
    remains = await target.records.remains(documents)
    for index in await _indexes(way):
        for one in remains:
            await index.delete(one.document, None if one.gone else [one.generation])
        await index.flush()
    for one in remains:
        if one.blob:
            await target.blobs.delete(one.blob)
        if one.gone:
            await target.cache.drop(one.document)
    await target.catalog.forget(remains)


async def _indexes(way: Way) -> list[Index]:
    recipes = {it.name: it.recipe for it in way.passages.values()}
    return [await way.target.index_of(name, recipe) for name, recipe in recipes.items()]


def identity_of(key: str) -> DocumentId:
    (identity,) = json.loads(key)
    return cast("DocumentId", identity)
