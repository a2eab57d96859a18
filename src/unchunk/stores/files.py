"""Documents as files: what their senders called them, what for, and until when."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.library.purging import Receipt
from unchunk.ports import FileNote, Page
from unchunk.stores.limits import file_life, label
from unchunk.stores.parts import Library, StoreParts

# How much of a long name a library shows.
_LONGEST_NAME, _LONGEST_SUFFIX = 200, 20


class File(NamedTuple):
    document: Document
    note: FileNote


class Files:
    """The part of the room that is about files. Every document of an owner is one."""

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
        kept = await self._library.keep_file(path, _name(filename), owner=owner, distinct=True)
        if kept.result == "failed":
            with suppress(NotFoundError):
                await self._library.delete(kept.document, owner=owner)
            raise InvalidInputError(f"{filename}: {kept.error}")
        document, note = await self._find(kept.document, owner)
        note = FileNote(
            document.id,
            filename,
            purpose,
            None if expires_after is None else document.created_at + expires_after,
        )
        await self._parts.notes.note(owner, note)
        return File(document, note)

    async def file(self, document: DocumentId, *, owner: OwnerId) -> File:
        """One whose time is over is not there."""
        found = await self._find(document, owner)
        if self._is_over(found.note):
            raise _missing(document)
        return found

    async def files(
        self, part: Page, *, purpose: str = "", owner: OwnerId
    ) -> tuple[list[File], bool]:
        """Some of an owner's files, and whether there are more in the direction of reading."""
        found: list[File] = []
        while True:
            page, more = await self._parts.notes.page(owner, part, purpose=purpose)
            found += (File(*one) for one in page if not self._is_over(one[1]))
            # A page of nothing would tell a client that it has seen all.
            if found or not more or part.before:
                return found, more
            part = part._replace(after=page[-1][0].id)

    async def delete_file(self, document: DocumentId, *, owner: OwnerId) -> Receipt:
        """Remove the document from everywhere, out of all stores, too."""
        await self.file(document, owner=owner)
        return await self._library.delete(document, owner=owner)

    async def filenames(
        self, documents: Sequence[DocumentId], *, owner: OwnerId
    ) -> dict[DocumentId, str]:
        """What the senders of files called them; those that are not there are left out."""
        found = await self._parts.notes.get(owner, documents)
        return {document: note.filename for document, (_, note) in found.items()}

    async def _find(self, document: DocumentId, owner: OwnerId) -> File:
        found = await self._parts.notes.get(owner, [document])
        if document not in found:
            raise _missing(document)
        return File(*found[document])

    def _is_over(self, note: FileNote) -> bool:
        return note.expires_at is not None and note.expires_at <= self._parts.clock()


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
    return name if name.strip(".") else "file"
