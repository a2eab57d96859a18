"""The files of a collection of chunks, whatever keeps it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol
from urllib.parse import quote

from unchunk.adapters.sources.bounds import Bounds, TooLongError
from unchunk.adapters.sources.characters import is_sound
from unchunk.adapters.sources.fields import Fields, Names
from unchunk.adapters.sources.listing import Listing
from unchunk.adapters.sources.ordering import in_order
from unchunk.adapters.sources.patience import Watch
from unchunk.adapters.sources.reading import Record
from unchunk.adapters.sources.recognising import recognised
from unchunk.errors import IntegrityError, InvalidInputError, NotFoundError
from unchunk.ports import LostChunks, LostFile

_LOOKED_AT, _PAGE, _AT_ONCE = 32, 1_000, 64
_LONGEST_FILE = 256 * 1024 * 1024


def bounds_within(timeout: float) -> Bounds:
    """Of a server, for whose collections there is no end to the number of rows."""
    return Bounds(reply=64 * 1024 * 1024, pages=20_000, patience=timeout)


def in_path(collection: str) -> str:
    """A name as part of an address."""
    if not is_sound(collection) or collection in ("", ".", ".."):
        raise InvalidInputError(f"{collection!a} is not a collection name")
    return quote(collection, safe="")


class Rows(Protocol):
    """A collection, row by row; each call is bounded. `where` is how it is called in messages."""

    where: str

    async def page(
        self, after: object, limit: int, without: Names
    ) -> tuple[list[Record], object | None]:
        """Rows behind `after`, which is None at first; then what the next page is behind.

        Fields that are named `without` need not come.
        """
        ...

    async def these(self, ids: Sequence[str]) -> list[Record]:
        """Those of the rows that are there, with all they carry, in any order."""
        ...

    async def close(self) -> None: ...


class CollectionFiles:
    """`LostFiles` over rows. What is listed is kept: the id of each row, and no text."""

    def __init__(self, rows: Rows, fields: Fields | None, bounds: Bounds) -> None:
        self._rows = rows
        self._fields = fields
        self._bounds = bounds
        self._listing: Listing | None = None
        self._listing_now = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._rows.where

    async def files(self) -> AsyncIterator[LostFile]:
        async with self._listing_now:
            self._listing = listing = await self._listed()
        for file in listing.files():
            yield file

    async def chunks(self, file: LostFile) -> LostChunks:
        async with self._listing_now:
            if self._listing is None:
                self._listing = await self._listed()
        ids = self._listing.ids(file.id)
        if ids is None or self._fields is None:
            raise NotFoundError(f"{self.name} has no file {file.id!r}")
        found = {record.id: record for record in await self._fetched(ids)}
        records = [found[one] for one in ids if one in found]
        ordered = await asyncio.to_thread(in_order, records, self._fields)
        if len(records) < len(ids):
            note = f"chunks deleted since they were listed: {len(ids) - len(records)}"
            ordered = ordered._replace(complete=False, notes=(*ordered.notes, note))
        return ordered

    async def close(self) -> None:
        await self._rows.close()

    async def _listed(self) -> Listing:
        if self._fields is None:
            some, _ = await self._rows.page(None, _LOOKED_AT, ())
            self._fields = recognised(some, self.name)
        listing = Listing(self._fields, self.name)
        without = _texts(self._fields)
        watch = Watch(self._bounds, f"the list of {self.name}")
        after, limit, pages = None, _PAGE, 0
        while True:
            watch.check()
            try:
                records, behind = await self._rows.page(after, limit, without)
            except TooLongError:
                if limit == 1:
                    raise
                limit = max(1, limit // 10)
                continue
            new = await asyncio.to_thread(_seen, listing, records)
            pages += 1
            if behind is None:
                return listing
            if not new or behind == after or pages >= self._bounds.pages:
                raise IntegrityError(f"{self.name} sends pages without end: it cannot be listed")
            after = behind

    async def _fetched(self, ids: Sequence[str]) -> list[Record]:
        records: list[Record] = []
        watch = Watch(self._bounds, f"a file of {self.name}")
        length, at, step = 0, 0, _AT_ONCE
        while at < len(ids):
            watch.check()
            try:
                some = await self._rows.these(ids[at : at + step])
            except TooLongError:
                if step == 1:
                    raise
                step = max(1, step // 8)
                continue
            records += some
            at += step
            length += sum(len(record.text or "") + len(str(record.payload)) for record in some)
            if length > _LONGEST_FILE:
                raise IntegrityError(
                    f"a file of {self.name} has more than {_LONGEST_FILE:,} characters: it is not"
                    " fetched"
                )
        return records


def _texts(fields: Fields) -> Names:
    """The fields that hold texts, and nothing that a list of files needs.

    A name with a dot may lead into text that is JSON, which comes whole or not at all.
    """
    needed = fields.document + fields.title + fields.content_type + fields.page + fields.file
    heads = {name.partition(".")[0] for name in needed}
    outer = {name: name.partition(".")[0] for name in fields.text}
    return tuple(name if head in heads else head for name, head in outer.items())


def _seen(listing: Listing, records: Sequence[Record]) -> int:
    """How many of them are new."""
    return sum([listing.see(record) for record in records])
