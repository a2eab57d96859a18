"""Which documents are in a store, how each is cut there, and what it says."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from unchunk.stores.limits import together
from unchunk.stores.parts import StoreParts
from unchunk.stores.register import ID_DIGITS, used
from unchunk.text.tokens import get_encoding

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

    async def attach(self, store: StoreId, addition: Addition, *, owner: OwnerId) -> Member:
        """Put a document into a store. One that is there already is cut anew.

        What is on its way into the library may be attached, too.
        """
        await self._put(store, [addition], owner)
        return await self.member(store, addition.document, owner=owner)

    async def attach_batch(
        self, store: StoreId, additions: Sequence[Addition], *, owner: OwnerId
    ) -> tuple[Batch, MemberCounts]:
        """The same for many at once, all or none; the batch tells what becomes of them."""
        together(additions)
        batch = Batch(f"vsfb_{uuid4().hex[:ID_DIGITS]}", store, self._parts.clock())
        await self._put(store, additions, owner, batch)
        return await self.batch(store, batch.id, owner=owner)

    async def _put(
        self,
        store: StoreId,
        additions: Sequence[Addition],
        owner: OwnerId,
        batch: Batch | None = None,
    ) -> None:
        checked = {one.document: _checked(one) for one in additions}
        await used(self._parts, store, owner)
        now = self._parts.clock()
        known = await self._parts.notes.get(owner, list(checked), now)
        for document in checked:
            if document not in known:
                raise NotFoundError(f"there is no file {document[:100]!r}")
        files = [
            StoreFile(store, one.document, now, one.strategy or _AUTO, one.attributes)
            for one in checked.values()
        ]
        await self._parts.members.put(owner, files, batch)

    async def member(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> Member:
        return await self._parts.members.get(owner, store, document, self._parts.clock())

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
        now = self._parts.clock()
        return await self._parts.members.page(owner, store, part, now, status=status, batch=batch)

    async def describe(
        self,
        store: StoreId,
        document: DocumentId,
        attributes: Mapping[str, Attribute],
        *,
        owner: OwnerId,
    ) -> Member:
        """Replace what is said of a file in a store."""
        said, now = attributes_of(attributes), self._parts.clock()
        return await self._parts.members.describe(owner, store, document, said, now)

    async def detach(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> None:
        """The document stays in the library."""
        await self._parts.members.remove(owner, store, document)

    async def content(self, store: StoreId, document: DocumentId, *, owner: OwnerId) -> list[str]:
        """The whole text, cut as the store cuts it: token windows, which overlap.

        Holds the text and its windows, which is up to thrice the text.
        """
        member = await self.member(store, document, owner=owner)
        while True:
            version = _live(member)
            try:
                text = await self._catalog.text(version)
                break
            except NotFoundError:
                # Deleted or replaced in between.
                member = await self.member(store, document, owner=owner)
                if member.document.live == version:
                    raise
        return await asyncio.to_thread(_windows, text, member.file.strategy)

    async def batch(
        self, store: StoreId, batch: BatchId, *, owner: OwnerId
    ) -> tuple[Batch, MemberCounts]:
        return await self._parts.batches.get(owner, store, batch, self._parts.clock())

    async def cancel(
        self, store: StoreId, batch: BatchId, *, owner: OwnerId
    ) -> tuple[Batch, MemberCounts]:
        """Give up what is on its way into the store: it is not in there until it is attached again.

        The documents come into the library all the same. A batch that is done stays as it is.
        """
        return await self._parts.batches.cancel(owner, store, batch, self._parts.clock())


def _checked(addition: Addition) -> Addition:
    strategy = addition.strategy
    if strategy is not None:
        if (strategy.unit, strategy.encoding) != (_AUTO.unit, _AUTO.encoding):
            raise InvalidInputError("a store cuts by tokens of cl100k_base, and by nothing else")
        strategy = strategy_of(strategy.size, strategy.overlap)
    return Addition(addition.document, strategy, attributes_of(addition.attributes))


def _live(member: Member) -> Version:
    document = member.document
    if member.status == "cancelled":
        raise InvalidInputError(
            f"{document.name} is not in this store: its batch was cancelled; attach it again"
        )
    if document.live is None:
        reason = document.error or "it is still on its way in: try again later"
        raise InvalidInputError(f"{document.name} has no text: {reason}")
    return document.live


def _windows(text: str, strategy: ChunkingStrategy) -> list[str]:
    encoding = get_encoding(strategy.encoding)
    return list(encoding.windows(text, strategy.size, strategy.overlap))
