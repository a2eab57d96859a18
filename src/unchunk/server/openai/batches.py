"""Files that come into a vector store together."""

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.ports import MemberStatus
from unchunk.server.access import InHouse, Owner
from unchunk.server.openai.bodies import NewBatchBody, addition, attributes_of, strategy_of
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.ids import document_of
from unchunk.server.openai.paging import PartOfMembers, listed
from unchunk.server.openai.shapes import batch_shape, member_shape, pollable
from unchunk.server.rendering import reply
from unchunk.stores import Addition

router = APIRouter(prefix="/vector_stores/{store}/file_batches")


@router.post("")
async def create_batch(store: str, body: NewBatchBody, house: InHouse, owner: Owner) -> Response:
    stores = house.engine.stores
    made, _ = await stores.attach(store, _additions(body), as_batch=True, owner=owner)
    assert made is not None
    return pollable(batch_shape(*await stores.batch(store, made.id, owner=owner)))


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
    members, has_more = await stores.members(
        store, part, status=filter, batch=found.id, owner=owner
    )
    return reply(listed([member_shape(one) for one in members], has_more=has_more))


def _additions(body: NewBatchBody) -> list[Addition]:
    if (body.file_ids is None) == (body.files is None):
        raise refuse("give either `file_ids` or `files`", param="file_ids")
    if body.files is not None:
        return [addition(one, f"files[{at}].") for at, one in enumerate(body.files)]
    strategy, attributes = strategy_of(body.chunking_strategy), attributes_of(body.attributes)
    return [Addition(document_of(one), strategy, attributes) for one in body.file_ids or ()]
