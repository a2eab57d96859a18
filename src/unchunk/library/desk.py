"""Who works on which document, in this process: one at a time, and none on what was deleted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from unchunk.domain import DocumentId
from unchunk.errors import NotFoundError


class Desk:
    """Locks by name, as long as somebody holds or wants them."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}
        self._dismissed: set[DocumentId] = set()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Be the only one who works on a document, or on any other thing that has a name."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._locks[name], self._wanted[name]
                self._dismissed.discard(name)

    def is_held(self, name: str) -> bool:
        return name in self._locks

    def dismiss(self, document: DocumentId) -> None:
        """Whoever works on this document is to stop: it was deleted."""
        if document in self._locks:
            self._dismissed.add(document)

    def check(self, document: DocumentId) -> None:
        """Raise if there is no more to work for."""
        if document in self._dismissed:
            raise NotFoundError("it was deleted meanwhile")
