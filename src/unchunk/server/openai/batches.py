"""Files that come into a vector store together."""

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.ports import MemberStatus
from unchunk.server.access import InHouse, Owner
from unchunk.server.openai.bodies import NewBatchBody, addition, strategy_of
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.ids import among, document_of, file_id
from unchunk.server.openai.paging import PartOfMembers, cursors, listed
from unchunk.server.openai.shapes import batch_shape, member_shape, pollable
from unchunk.server.rendering import reply
from unchunk.stores import Addition

router = APIRouter(prefix="/vector_stores/{store}/file_batches")


@router.post("")
async def create_batch(store: str, body: NewBatchBody, house: InHouse, owner: Owner) -> Response:
    stores = house.engine.stores
    files = body.file_ids or [one.file_id for one in body.files or ()]
    async with among(stores, store, files, owner):
        made = await stores.attach_batch(store, _additions(body), owner=owner)
    return pollable(batch_shape(*made))


@router.get("/{batch}")
async def retrieve_batch(store: str, batch: str, house: InHouse, owner: Owner) -> Response:
    return pollable(batch_shape(*await house.engine.stores.batch(store, batch, owner=owner)))


@router.post("/{batch}/cancel")
async def cancel_batch(store: str, batch: str, house: InHouse, owner: Owner) -> Response:
    """What is not there yet is no longer waited for; what is there stays."""
    return pollable(batch_shape(*await house.engine.stores.cancel(store, batch, owner=owner)))


@router.get("/{batch}/files")
async def list_batch_files(  # noqa: PLR0917 - named by the path and the query
    store: str,
    batch: str,
    part: PartOfMembers,
    house: InHouse,
    owner: Owner,
    filter: MemberStatus | None = None,  # noqa: A002 - OpenAI calls it so
) -> Response:
    stores = house.engine.stores
    found, _ = await stores.batch(store, batch, owner=owner)
    with cursors(part, file_id):
        members, has_more = await stores.members(
            store, part, status=filter, batch=found.id, owner=owner
        )
    return reply(listed([member_shape(one) for one in members], has_more=has_more))


def _additions(body: NewBatchBody) -> list[Addition]:
    if (body.file_ids is None) == (body.files is None):
        raise refuse("give either `file_ids` or `files`", param="file_ids")
    if body.files is not None:
        return [addition(one, f"files[{at}].") for at, one in enumerate(body.files)]
    strategy, said = strategy_of(body.chunking_strategy), body.attributes or {}
    return [Addition(document_of(one), strategy, said) for one in body.file_ids or ()]
