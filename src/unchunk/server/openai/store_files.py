"""The files of a vector store, each with its own way to be cut, and attributes to filter by."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.ports import MemberStatus
from unchunk.server.access import InHouse, Owner
from unchunk.server.openai.bodies import MemberBody, NewMemberBody, addition
from unchunk.server.openai.ids import among, document_of, file_id
from unchunk.server.openai.paging import PartOfMembers, cursors, listed
from unchunk.server.openai.shapes import content_shape, deleted_shape, member_shape, pollable
from unchunk.server.rendering import reply

router = APIRouter(prefix="/vector_stores/{store}/files")


@router.post("")
async def attach_file(store: str, body: NewMemberBody, house: InHouse, owner: Owner) -> Response:
    stores = house.engine.stores
    async with among(stores, store, [body.file_id], owner):
        member = await stores.attach(store, addition(body), owner=owner)
    return pollable(member_shape(member))


@router.get("")
async def list_store_files(
    store: str,
    part: PartOfMembers,
    house: InHouse,
    owner: Owner,
    filter: MemberStatus | None = None,  # noqa: A002 - OpenAI calls it so
) -> Response:
    stores = house.engine.stores
    with cursors(part, file_id):
        members, has_more = await stores.members(store, part, status=filter, owner=owner)
    return reply(listed([member_shape(one) for one in members], has_more=has_more))


@router.get("/{file}")
async def retrieve_store_file(store: str, file: str, house: InHouse, owner: Owner) -> Response:
    stores = house.engine.stores
    async with among(stores, store, [file], owner):
        member = await stores.member(store, document_of(file), owner=owner)
    return pollable(member_shape(member))


@router.post("/{file}")
async def describe_store_file(
    store: str, file: str, body: MemberBody, house: InHouse, owner: Owner
) -> Response:
    """Replace its attributes by those that are given."""
    stores, attributes = house.engine.stores, body.attributes or {}
    async with among(stores, store, [file], owner):
        member = await stores.describe(store, document_of(file), attributes, owner=owner)
    return pollable(member_shape(member))


@router.delete("/{file}")
async def detach_file(store: str, file: str, house: InHouse, owner: Owner) -> Response:
    """The file itself stays."""
    stores = house.engine.stores
    async with among(stores, store, [file], owner):
        await stores.detach(store, document_of(file), owner=owner)
    return reply(deleted_shape(file, "vector_store.file.deleted"))


@router.get("/{file}/content")
async def store_file_content(store: str, file: str, house: InHouse, owner: Owner) -> Response:
    """The text of a file, cut as this store cuts it: all of it at once."""
    stores = house.engine.stores
    async with among(stores, store, [file], owner):
        windows = await stores.content(store, document_of(file), owner=owner)
    # In a thread: a large text takes a while to write down.
    return await asyncio.to_thread(lambda: reply(content_shape(windows)))
