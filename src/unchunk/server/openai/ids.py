"""Names of things: a file is a document, under its id with a prefix."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from unchunk.domain import DocumentId, OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import StoreId
from unchunk.stores import VectorStores

_FILE = "file-"
_LONGEST = 100


def file_id(document: DocumentId) -> str:
    return f"{_FILE}{document}"


def document_of(file: str) -> DocumentId:
    """The document that a file is; whether there is such a one is not looked up."""
    document = file.removeprefix(_FILE)
    if document == file or not document:
        raise no_file(file)
    return document


def no_file(file: str) -> NotFoundError:
    return NotFoundError(f"there is no file {file[:_LONGEST]!r}")


@asynccontextmanager
async def among(
    stores: VectorStores, store: StoreId, files: Sequence[str], owner: OwnerId
) -> AsyncIterator[None]:
    """What is done with a store and files; what of them is not there is told as it was sent.

    The library knows of documents, and tells of those.
    """
    try:
        yield
    except NotFoundError as error:
        await stores.get(store, owner=owner)
        known = await stores.filenames([document_of(one) for one in files], owner=owner)
        for one in files:
            if document_of(one) not in known:
                raise no_file(one) from error
        if len(files) != 1:
            raise
        message = f"there is no file {files[0][:_LONGEST]!r} in vector store {store!r}"
        raise NotFoundError(message) from error
