"""Pages as they look, drawn once and kept for a while. Knows nothing of HTTP."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from unchunk.domain import Document, DocumentId, Mark, OwnerId
from unchunk.engine import Engine
from unchunk.errors import NotFoundError, TransientError

# Which document, which generation of it, which page, how wide, and whose it is.
_Key = tuple[DocumentId, int, int, int, OwnerId]


class Pictures:
    """At most `most_bytes` of them, those that nobody wanted for longest leave first.

    They are kept for each document alone, also where another owner has the same file. Few hands
    draw for all: `most_waiting` may wait for them, and of those one owner may be `most_of_one`.
    """

    def __init__(
        self, engine: Engine, most_bytes: int, most_waiting: int, most_of_one: int
    ) -> None:
        self._engine = engine
        self._most_bytes = most_bytes
        self._most_waiting, self._most_of_one = most_waiting, most_of_one
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._waiting: Counter[OwnerId] = Counter()
        self._size = self._drops = 0

    @property
    def size(self) -> int:
        return self._size

    async def of(self, document: Document, page: int, width: int) -> bytes:
        """A PNG. Where too many are being drawn, that is a `TransientError`."""
        generation = document.live.generation if document.live else 0
        key = (document.id, generation, page, width, document.owner)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        drops = self._drops
        with self._place(document.owner):
            drawn = await self._engine.draw_page(document.id, page, width, owner=document.owner)
        # What was deleted while it was drawn is not kept.
        if drops == self._drops:
            self._keep(key, drawn)
        return drawn

    async def marks(self, document: Document, page: int, start: int, end: int) -> list[Mark]:
        """Where a range of the text stands on a page; the same hands find that out."""
        with self._place(document.owner):
            return await self._engine.page_marks(
                document.id, page, start, end, owner=document.owner
            )

    def drop(self, document: DocumentId) -> None:
        """Nothing is left of a document that was deleted."""
        self._drops += 1
        for key in [one for one in self._kept if one[0] == document]:
            self._size -= len(self._kept.pop(key))

    async def sweep(self) -> None:
        """Nothing is held for long of documents that were deleted through another process."""
        for owner, document in {(key[4], key[0]) for key in self._kept}:
            try:
                await self._engine.exactly(document, owner=owner)
            except NotFoundError:
                self.drop(document)

    @contextmanager
    def _place(self, owner: OwnerId) -> Iterator[None]:
        waiting = self._waiting.total()
        if waiting >= self._most_waiting or self._waiting[owner] >= self._most_of_one:
            raise TransientError(f"{waiting} pages are being drawn: try again later")
        self._waiting[owner] += 1
        try:
            yield
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner]

    def _keep(self, key: _Key, drawn: bytes) -> None:
        self._size += len(drawn) - len(self._kept.pop(key, b""))
        self._kept[key] = drawn
        while self._size > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest)
