"""Documents as files: what their senders called them, what for, and until when."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from unchunk.domain import Document, DocumentId, NewFile, OwnerId
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.library.purging import Receipt
from unchunk.ports import Catalog, FileNote, Page
from unchunk.stores.limits import file_life, label
from unchunk.stores.parts import Forgetting, Library, StoreParts, plainly

# How much of a long name a library shows.
_LONGEST_NAME, _LONGEST_SUFFIX = 200, 20


class File(NamedTuple):
    document: Document
    note: FileNote


class Files:
    """The part of the room that is about files. Every document of an owner is one."""

    _catalog: Catalog
    _library: Library
    _parts: StoreParts

    async def add_file(
        self,
        path: Path,
        filename: str,
        *,
        purpose: str = "assistants",
        expires_after: timedelta | None = None,
        owner: OwnerId,
    ) -> File:
        """Keep a file as a new document, whatever else has its name; `retry` goes on with it.

        What cannot be kept is refused, and nothing of it stays.
        """
        label(filename, "filename")
        label(purpose, "purpose")
        file_life(expires_after)
        said = NewFile("" if _is_blank(filename) else filename, purpose, expires_after)
        kept = await self._library.keep_file(path, _name(filename), owner=owner, said=said)
        if kept.result == "failed":
            with suppress(NotFoundError):
                await self._library.delete(kept.document, owner=owner)
            raise InvalidInputError(f"{filename}: {kept.error}")
        return await self.file(kept.document, owner=owner)

    async def file(self, document: DocumentId, *, owner: OwnerId) -> File:
        """One whose time is over is not there."""
        found = await self._parts.notes.get(owner, [document], self._parts.clock())
        if document not in found:
            raise _missing(document)
        return File(*found[document])

    async def files(
        self, part: Page, *, purpose: str = "", owner: OwnerId
    ) -> tuple[list[File], bool]:
        """Some of an owner's files, and whether there are more in the direction of reading."""
        now = self._parts.clock()
        found, more = await self._parts.notes.page(owner, part, now, purpose=purpose)
        return [File(*one) for one in found], more

    async def delete_file(
        self, document: DocumentId, forgetting: Forgetting = plainly, *, owner: OwnerId
    ) -> Receipt:
        """Remove the document from everywhere, out of all stores, too; also one whose time is over."""
        try:
            await self._catalog.get(owner, document)
        except NotFoundError:
            raise _missing(document) from None
        with forgetting(document):
            return await self._library.delete(document, owner=owner)

    async def filenames(
        self, documents: Sequence[DocumentId], *, owner: OwnerId
    ) -> dict[DocumentId, str]:
        """What the senders of files called them; those that are not there are left out."""
        found = await self._parts.notes.get(owner, documents, self._parts.clock())
        return {document: note.filename for document, (_, note) in found.items()}


def _missing(document: DocumentId) -> NotFoundError:
    return NotFoundError(f"there is no file {document[:100]!r}")


def _name(filename: str) -> str:
    """What a library can call a file: the last part of its name, without what no name has."""
    name = filename.replace("\\", "/").rpartition("/")[2]
    name = "".join(it for it in name if category(it) not in ("Cc", "Cs")).strip()
    if len(name) > _LONGEST_NAME:
        stem, dot, suffix = name.rpartition(".")
        kind = dot + suffix if stem and len(suffix) <= _LONGEST_SUFFIX else ""
        name = name[: _LONGEST_NAME - len(kind)] + kind
    return "file" if _is_blank(name) else name


def _is_blank(name: str) -> bool:
    return not any(it.isprintable() and it not in " ." for it in name)
