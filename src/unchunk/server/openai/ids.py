"""Names of things: a file is a document, under its id with a prefix."""

from unchunk.domain import DocumentId
from unchunk.errors import NotFoundError

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
