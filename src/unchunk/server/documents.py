"""The documents of a library: which there are, new ones, and gone ones.

The same routes stand under `/api` and, for Chunkenizer's clients, at the root: what these send is
understood, and what they expect is in every reply. Folders are ours alone.
"""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.responses import Response

from unchunk.domain import Document
from unchunk.library.purging import Receipt
from unchunk.server import samples
from unchunk.server.access import InHouse, Owner, RequestId
from unchunk.server.adding import FORM, Added, add
from unchunk.server.documented import told
from unchunk.server.listing import EXAMPLE, Listed, listed
from unchunk.server.progress import Begun
from unchunk.server.rendering import reply

router = APIRouter(tags=["documents"])
folders_router = APIRouter(prefix="/api", tags=["documents"])

_Name = Annotated[str, Query(max_length=1_000)]
_RECEIPT: dict[str, JsonValue] = {
    "clean": True,
    "vectors": 0,
    "blobs": 0,
    "cached": 0,
    "catalog": 0,
    "problem": "",
}
_NAMED: dict[str, JsonValue] = {
    "document_id": EXAMPLE["id"],
    "name": EXAMPLE["name"],
    **_RECEIPT,
}
_FOLDER: dict[str, JsonValue] = {
    "folder": "Sample",
    "documents": 4,
    "pending": 0,
    "failed": 0,
    "sample": True,
}


class Documents(BaseModel):
    """`total` is how many there are of that kind, of which these are some."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [EXAMPLE], "total": 1}]}
    )

    documents: list[Listed]
    total: int


class ReceiptReply(BaseModel):
    """How much is left in each place; nothing, unless `problem` says why."""

    model_config = ConfigDict(json_schema_extra={"examples": [_RECEIPT]})

    clean: bool
    vectors: int
    blobs: int
    cached: int
    catalog: int
    problem: str


class Deleted(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "message": "Document deleted successfully",
                    "document_id": EXAMPLE["id"],
                    "receipt": _RECEIPT,
                }
            ]
        }
    )

    message: str
    document_id: str
    receipt: ReceiptReply


class Folder(BaseModel):
    """`sample` is what came with unchunk, and can be removed with all that is in it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FOLDER]})

    folder: str
    documents: int
    pending: int
    failed: int
    sample: bool


class Folders(BaseModel):
    """What stands in no folder is in the one with an empty name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"folders": [_FOLDER]}]})

    folders: list[Folder]


class NamedReceipt(ReceiptReply):
    model_config = ConfigDict(json_schema_extra={"examples": [_NAMED]})

    document_id: str
    name: str


class FolderDeleted(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"deleted": 1, "clean": True, "receipts": [_NAMED]}]}
    )

    deleted: int
    clean: bool
    receipts: list[NamedReceipt]


@router.get("/documents", responses=told(Documents))
async def list_documents(  # noqa: PLR0917 - named by the query
    house: InHouse,
    owner: Owner,
    folder: _Name | None = None,
    state: Literal["live", "pending", "failed"] | None = None,
    q: Annotated[str, Query(max_length=1_000, description="A part of the name")] = "",
    limit: Annotated[int | None, Query(ge=1, le=1_000)] = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> Response:
    """The newest first. Without a limit, all of them."""
    found, total = await house.engine.browse(
        folder=folder, status=state, part=q, limit=limit, offset=offset, owner=owner
    )
    # In a thread: all of a large library takes a while to write down.
    return await asyncio.to_thread(_listed, found, total)


@router.post(
    "/documents",
    openapi_extra=FORM,
    responses=told(Added, 400, 404, 409, 415, 507)
    | {202: {"model": Begun | Added, "description": "It is kept, and comes in by and by."}},
)
async def upload(request: Request, house: InHouse, owner: Owner, name: RequestId) -> Response:
    """Add a file. The same bytes under the same name are left as they are, unless forced.

    With `wait=false` the reply comes as soon as nothing can be lost any more, with a job that tells
    how far it is.
    """
    return await add(request, house, owner, name)


@router.get("/documents/{document}", responses=told(Listed, 404))
async def get_document(document: str, house: InHouse, owner: Owner) -> Response:
    """One document, by its id."""
    return reply(listed(await house.engine.exactly(document, owner=owner)))


@router.delete("/documents/{document}", responses=told(Deleted, 404))
async def delete_document(document: str, house: InHouse, owner: Owner) -> Response:
    """Remove a document from everywhere; the receipt counts what is left of it."""
    found = await house.engine.exactly(document, owner=owner)
    with house.forgetting(found.id):
        receipt = await house.engine.delete(found.id, owner=owner)
    body = {
        "message": "Document deleted successfully",
        "document_id": found.id,
        "receipt": _receipt(receipt),
    }
    return reply(body)


@folders_router.get("/folders", responses=told(Folders))
async def list_folders(house: InHouse, owner: Owner) -> Response:
    """The folders that documents stand in, and how many in each."""
    found = await house.engine.folders(owner=owner)
    has_sample = owner == house.options.owner and await samples.is_there(house.engine)
    body = [
        {**one._asdict(), "sample": has_sample and one.folder == samples.FOLDER} for one in found
    ]
    return reply({"folders": body})


@folders_router.delete("/folders", responses=told(FolderDeleted))
async def delete_folder(
    house: InHouse, owner: Owner, folder: Annotated[str, Query(min_length=1, max_length=1_000)]
) -> Response:
    """Remove all documents that stand in a folder, with a receipt for each."""
    if folder == samples.FOLDER and owner == house.options.owner:
        await samples.removed(house.engine)
    found = await house.engine.documents(folder, owner=owner)
    with house.forgetting(*(one.id for one in found)):
        receipts = await house.engine.delete_folder(folder, owner=owner)
    body = {
        "deleted": len(receipts),
        "clean": all(one.clean for one in receipts),
        "receipts": [
            {"document_id": one.document, "name": one.name, **_receipt(one)} for one in receipts
        ],
    }
    return reply(body)


def _listed(found: list[Document], total: int) -> Response:
    return reply({"documents": [listed(one) for one in found], "total": total})


def _receipt(receipt: Receipt) -> dict[str, object]:
    return {
        "clean": receipt.clean,
        "vectors": receipt.vectors,
        "blobs": receipt.blobs,
        "cached": receipt.cached,
        "catalog": receipt.catalog,
        "problem": receipt.problem,
    }
