"""Which documents are in a store, how each is cut there, and what it says."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from unchunk.domain import ChunkingStrategy, DocumentId, OwnerId, Version
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import (
    Attribute,
    Batch,
    BatchId,
    Catalog,
    Member,
    MemberCounts,
    MemberStatus,
    Page,
    StoreFile,
    StoreId,
)
from unchunk.stores.limits import attributes as attributes_of
from unchunk.stores.limits import strategy as strategy_of
from unchunk.stores.parts import StoreParts
from unchunk.stores.register import ID_DIGITS, used
from unchunk.text.tokens import get_encoding

_MOST_AT_ONCE = 2000
# How OpenAI cuts what nobody says more of.
_AUTO = ChunkingStrategy("tokens", 800, 400)


@dataclass(frozen=True, slots=True)
class Addition:
    """A document that goes into a store; `strategy` None is 800 tokens, of which 400 overlap."""

    document: DocumentId
    strategy: ChunkingStrategy | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)


class Memberships:
    """The part of the room that is about the files of stores."""

    _catalog: Catalog
    _parts: StoreParts

    async def attach(
        self,
        store: StoreId,
        additions: Sequence[Addition],
        *,
        as_batch: bool = False,
        owner: OwnerId,
    ) -> tuple[Batch | None, list[Member]]:
        """Put documents into a store, all or none. One that is there already is cut anew.

        What is on its way into the library may be attached, too.
        """
        if not 0 < len(additions) <= _MOST_AT_ONCE:
            raise InvalidInputError(
                f"{len(additions)} files cannot be added at once: give 1 to {_MOST_AT_ONCE}"
            )
        checked = {one.document: _checked(one) for one in additions}
        await used(self._parts, store, owner)
        known = await self._parts.notes.get(owner, list(checked))
        for document in checked:
            if document not in known:
                raise NotFoundError(f"there is no file {document[:100]!r}")
        now, members = self._parts.clock(), self._parts.members
        batch = Batch(f"vsfb_{uuid4().hex[:ID_DIGITS]}", store, now) if as_batch else None
        if batch is not None:
            await members.save_batch(owner, batch)
        name = batch.id if batch else ""
        await members.put(
            owner,
            [
                StoreFile(store, one.document, now, one.strategy or _AUTO, one.attributes, name)
                for one in checked.values()
            ],
        )
        if batch is None:
            return None, [await members.get(owner, store, document) for document in checked]
        found, _ = await members.page(owner, store, Page(len(checked)), batch=batch.id)
        order = {document: at for at, document in enumerate(checked)}
        return batch, sorted(found, key=lambda member: order[member.file.document])

    async def member(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> Member:
        return await self._parts.members.get(owner, store, document)

    async def members(
        self,
        store: StoreId,
        part: Page,
        *,
        status: MemberStatus | None = None,
        batch: BatchId = "",
        owner: OwnerId,
    ) -> tuple[list[Member], bool]:
        """Some of a store's files, or of a batch's, and whether there are more."""
        return await self._parts.members.page(owner, store, part, status=status, batch=batch)

    async def describe(
        self,
        store: StoreId,
        document: DocumentId,
        attributes: Mapping[str, Attribute],
        *,
        owner: OwnerId,
    ) -> Member:
        """Replace what is said of a file in a store."""
        attributes = attributes_of(attributes)
        async with self._parts.desk.hold(store):
            file = (await self._parts.members.get(owner, store, document)).file
            await self._parts.members.put(owner, [replace(file, attributes=attributes)])
            return await self._parts.members.get(owner, store, document)

    async def attributes(
        self, stores: Sequence[StoreId], documents: Sequence[DocumentId], *, owner: OwnerId
    ) -> dict[DocumentId, Mapping[str, Attribute]]:
        """What is said of files that can be searched, in the first of the stores that has each."""
        found = await self._parts.members.live(owner, stores, documents)
        order = {store: at for at, store in reversed(list(enumerate(stores)))}
        found.sort(key=lambda file: -order[file.store])
        return {file.document: file.attributes for file in found}

    async def detach(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> None:
        """The document stays in the library."""
        await self._parts.members.remove(owner, store, document)

    async def content(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> list[str]:
        """The whole text, cut as the store cuts it: token windows, which overlap.

        Holds the text and its windows, which is up to thrice the text.
        """
        member = await self._parts.members.get(owner, store, document)
        while True:
            version = _live(member)
            try:
                text = await self._catalog.text(version)
                break
            except NotFoundError:
                # Deleted or replaced in between.
                member = await self._parts.members.get(owner, store, document)
                if member.document.live == version:
                    raise
        return await asyncio.to_thread(_windows, text, member.file.strategy)

    async def batch(
        self, store: StoreId, batch: BatchId, *, owner: OwnerId
    ) -> tuple[Batch, MemberCounts]:
        return await self._parts.members.batch(owner, store, batch)

    async def cancel(
        self, store: StoreId, batch: BatchId, *, owner: OwnerId
    ) -> tuple[Batch, MemberCounts]:
        """Give up what is on its way into the store; the documents come into the library all the
        same. A batch that is done stays as it is.
        """
        found, counts = await self._parts.members.batch(owner, store, batch)
        if counts.in_progress:
            await self._parts.members.save_batch(owner, replace(found, is_cancelled=True))
        return await self._parts.members.batch(owner, store, batch)


def _checked(addition: Addition) -> Addition:
    strategy = addition.strategy
    if strategy is not None:
        if (strategy.unit, strategy.encoding) != (_AUTO.unit, _AUTO.encoding):
            raise InvalidInputError("a store cuts by tokens of cl100k_base, and by nothing else")
        strategy = strategy_of(strategy.size, strategy.overlap)
    return Addition(addition.document, strategy, attributes_of(addition.attributes))


def _live(member: Member) -> Version:
    document = member.document
    if document.live is None:
        reason = document.error or "it is still on its way in: try again later"
        raise InvalidInputError(f"{document.name} has no text: {reason}")
    return document.live


def _windows(text: str, strategy: ChunkingStrategy) -> list[str]:
    encoding = get_encoding(strategy.encoding)
    return list(encoding.windows(text, strategy.size, strategy.overlap))
