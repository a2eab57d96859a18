"""Which stores there are, and until when each of them lives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import Final
from uuid import uuid4

from unchunk.domain import OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import MemberCounts, Page, StoreId, VectorStore
from unchunk.stores.limits import label, store_life
from unchunk.stores.limits import metadata as metadata_of
from unchunk.stores.parts import StoreParts

# How many digits of an id are random.
ID_DIGITS = 24
# When a store was last used is noted no more often.
_NOTED_EVERY = timedelta(minutes=1)


class NotGiven(Enum):
    """That a field stays as it is, where None would mean something."""

    NOT_GIVEN = "not given"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN


class Register:
    """The part of the room that is about stores themselves."""

    _parts: StoreParts

    async def create(
        self,
        *,
        name: str = "",
        description: str = "",
        metadata: Mapping[str, str] | None = None,
        expires_after: timedelta | None = None,
        owner: OwnerId,
    ) -> VectorStore:
        """A new store, empty."""
        now = self._parts.clock()
        store = VectorStore(
            f"vs_{uuid4().hex[:ID_DIGITS]}",
            owner,
            label(name, "name"),
            now,
            now,
            label(description, "description"),
            metadata_of(metadata or {}),
            store_life(expires_after),
        )
        await self._parts.stores.add(store)
        return store

    async def get(self, store: StoreId, *, owner: OwnerId) -> VectorStore:
        """One whose time is over is still there, and says so."""
        return await self._parts.stores.get(owner, store)

    async def page(self, part: Page, *, owner: OwnerId) -> tuple[list[VectorStore], bool]:
        """Some of an owner's stores, and whether there are more in the direction of reading."""
        return await self._parts.stores.page(owner, part)

    async def counts(
        self, stores: Sequence[StoreId], *, owner: OwnerId
    ) -> dict[StoreId, MemberCounts]:
        """How much is in each store that is there."""
        return await self._parts.stores.counts(owner, stores, self._parts.clock())

    async def update(
        self,
        store: StoreId,
        *,
        name: str | NotGiven = NOT_GIVEN,
        description: str | NotGiven = NOT_GIVEN,
        metadata: Mapping[str, str] | NotGiven = NOT_GIVEN,
        expires_after: timedelta | NotGiven | None = NOT_GIVEN,
        owner: OwnerId,
    ) -> VectorStore:
        """Change what is given of a store. With `expires_after` its time begins anew, also where it
        was over.
        """
        async with self._parts.desk.hold(store):
            found = await self._parts.stores.get(owner, store)
            if name is not NOT_GIVEN:
                found = replace(found, name=label(name, "name"))
            if description is not NOT_GIVEN:
                found = replace(found, description=label(description, "description"))
            if metadata is not NOT_GIVEN:
                found = replace(found, metadata=metadata_of(metadata))
            if expires_after is not NOT_GIVEN:
                lasts, now = store_life(expires_after), self._parts.clock()
                found = replace(found, expires_after=lasts, last_active_at=now)
            await self._parts.stores.save(found)
        return found

    async def delete(self, store: StoreId, *, owner: OwnerId) -> None:
        """The documents that are in it stay."""
        await self._parts.stores.delete(owner, store)


async def used(parts: StoreParts, store: StoreId, owner: OwnerId) -> VectorStore:
    """A store that somebody uses now, which is noted: it lives on from here. Raises if it is over."""
    found, now = await parts.stores.get(owner, store), parts.clock()
    if found.is_expired(now):
        raise InvalidInputError(
            f"the vector store {store} has expired: update its expires_after, or make another"
        )
    if now - found.last_active_at < _NOTED_EVERY:
        return found
    await parts.stores.touch(owner, [store], now)
    return replace(found, last_active_at=now)
