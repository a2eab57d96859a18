"""Vector stores: lists of files under a name, and searches in them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.domain import OwnerId
from unchunk.errors import UnchunkError
from unchunk.ports import MemberCounts, VectorStore
from unchunk.server.access import House, InHouse, Owner
from unchunk.server.openai.bodies import (
    NewStoreBody,
    SearchBody,
    StoreBody,
    strategy_of,
)
from unchunk.server.openai.faults import about
from unchunk.server.openai.ids import among, document_of
from unchunk.server.openai.paging import PartOfList, cursors, listed
from unchunk.server.openai.shapes import Shape, deleted_shape, pollable, search_shape, store_shape
from unchunk.server.rendering import reply
from unchunk.stores import NOT_GIVEN, Addition
from unchunk.stores.filters import parse

router = APIRouter(prefix="/vector_stores")

_USUAL = 10


@router.post("")
async def create_store(house: InHouse, owner: Owner, body: NewStoreBody | None = None) -> Response:
    body = body or NewStoreBody()
    strategy = strategy_of(body.chunking_strategy)
    files = body.file_ids or []
    additions = [Addition(document_of(one), strategy) for one in files]
    stores = house.engine.stores
    store = await stores.create(
        name=body.name or "",
        description=body.description or "",
        metadata=body.metadata,
        expires_after=body.expires_after.as_time() if body.expires_after else None,
        owner=owner,
    )
    try:
        if additions:
            async with among(stores, store.id, files, owner):
                with about("file_ids"):
                    await stores.attach_batch(store.id, additions, owner=owner)
    except UnchunkError:
        # Whoever asked does not know of it.
        await stores.delete(store.id, owner=owner)
        raise
    [shape] = await _shapes(house, [store], owner)
    return pollable(shape)


@router.get("")
async def list_stores(part: PartOfList, house: InHouse, owner: Owner) -> Response:
    with cursors(part):
        stores, has_more = await house.engine.stores.page(part, owner=owner)
    return reply(listed(await _shapes(house, stores, owner), has_more=has_more))


@router.get("/{store}")
async def retrieve_store(store: str, house: InHouse, owner: Owner) -> Response:
    [shape] = await _shapes(house, [await house.engine.stores.get(store, owner=owner)], owner)
    return pollable(shape)


@router.post("/{store}")
async def update_store(store: str, body: StoreBody, house: InHouse, owner: Owner) -> Response:
    given = body.model_fields_set
    lasts = body.expires_after.as_time() if body.expires_after else None
    changed = await house.engine.stores.update(
        store,
        name=NOT_GIVEN if body.name is None else body.name,
        metadata=(body.metadata or {}) if "metadata" in given else NOT_GIVEN,
        expires_after=lasts if "expires_after" in given else NOT_GIVEN,
        owner=owner,
    )
    [shape] = await _shapes(house, [changed], owner)
    return pollable(shape)


@router.delete("/{store}")
async def delete_store(store: str, house: InHouse, owner: Owner) -> Response:
    """Its files stay."""
    await house.engine.stores.delete(store, owner=owner)
    return reply(deleted_shape(store, "vector_store.deleted"))


@router.post("/{store}/search")
async def search_store(store: str, body: SearchBody, house: InHouse, owner: Owner) -> Response:
    with about("filters"):
        filters = None if body.filters is None else parse(body.filters)
    hits = await house.engine.stores.search(
        store,
        body.query,
        filters=filters,
        limit=body.max_num_results or _USUAL,
        threshold=(body.ranking_options and body.ranking_options.score_threshold) or 0.0,
        owner=owner,
    )
    return reply(search_shape(body.query, hits))


async def _shapes(house: House, stores: Sequence[VectorStore], owner: OwnerId) -> list[Shape]:
    counts = await house.engine.stores.counts([one.id for one in stores], owner=owner)
    now = datetime.now(UTC)
    # One that was deleted meanwhile has none.
    return [store_shape(one, counts.get(one.id, MemberCounts()), now) for one in stores]
