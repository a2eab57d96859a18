"""Files: all documents of their owner, whoever brought them."""

import asyncio
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError
from unchunk.server.access import House, InHouse, Owner
from unchunk.server.attachments import Original
from unchunk.server.openai.faults import about, refuse
from unchunk.server.openai.ids import document_of, file_id, no_file
from unchunk.server.openai.paging import PartOfFiles, cursors, listed
from unchunk.server.openai.shapes import deleted_shape, file_shape, pollable
from unchunk.server.rendering import reply
from unchunk.server.uploads import Upload, received
from unchunk.stores import File, limits

router = APIRouter()

_PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
_ANCHOR, _SECONDS = "expires_after[anchor]", "expires_after[seconds]"
_NUMBER = re.compile(r"[0-9]{1,10}")


@router.post("/files")
async def create_file(request: Request, house: InHouse, owner: Owner) -> Response:
    """Take a file; it is read while nobody waits for it."""
    options = house.options
    await house.jobs.check(owner)
    with house.metrics.uploading():
        async with received(request, options.upload_folder, options.max_upload) as sent:
            house.metrics.uploaded(sent.path.stat().st_size)
            purpose, lasts = _purpose(sent), _lasts(sent)
            with about("file"):
                file = await house.engine.stores.add_file(
                    sent.path, sent.name, purpose=purpose, expires_after=lasts, owner=owner
                )
    await house.jobs.begin("upload", file.document)
    return pollable(file_shape(*file))


@router.get("/files")
async def list_files(
    part: PartOfFiles,
    house: InHouse,
    owner: Owner,
    purpose: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    with cursors(part, file_id):
        files, has_more = await house.engine.stores.files(part, purpose=purpose, owner=owner)
    # In a thread: ten thousand take a while to write down.
    return await asyncio.to_thread(_listed, files, has_more)


@router.get("/files/{file}")
async def retrieve_file(file: str, house: InHouse, owner: Owner) -> Response:
    return pollable(file_shape(*await _found(house, file, owner)))


@router.delete("/files/{file}")
async def delete_file(file: str, house: InHouse, owner: Owner) -> Response:
    """It is gone from all stores, and from the library."""
    document, stores = document_of(file), house.engine.stores
    try:
        await stores.delete_file(document, house.forgetting, owner=owner)
    except NotFoundError:
        raise no_file(file) from None
    return reply(deleted_shape(file, "file"))


@router.get("/files/{file}/content")
async def file_content(file: str, house: InHouse, owner: Owner) -> Response:
    """The bytes that were sent."""
    document, note = await _found(house, file, owner)
    return Original(house.engine, owner, document.id, note.filename)


def _listed(files: Sequence[File], has_more: bool) -> Response:
    return reply(listed([file_shape(*one) for one in files], has_more=has_more))


async def _found(house: House, file: str, owner: OwnerId) -> File:
    try:
        return await house.engine.stores.file(document_of(file), owner=owner)
    except NotFoundError:
        raise no_file(file) from None


def _purpose(sent: Upload) -> str:
    given = sent.fields.get("purpose", "")
    if given not in _PURPOSES:
        message = f"purpose must be one of {', '.join(_PURPOSES)}"
        raise refuse(message, param="purpose")
    return given


def _lasts(sent: Upload) -> timedelta | None:
    anchor, seconds = sent.fields.get(_ANCHOR), sent.fields.get(_SECONDS)
    if anchor is None and seconds is None:
        return None
    if anchor != "created_at":
        raise refuse("a file expires after its `created_at`", param="expires_after.anchor")
    length = int(seconds) if seconds and _NUMBER.fullmatch(seconds) else 0
    with about("expires_after.seconds"):
        return limits.file_life(timedelta(seconds=length))
