"""One space on disk, and how a better shard takes the place of its shard.

To optimize takes a second for 2,000 rows, and nothing else can be asked meanwhile. So another
process does it, on a copy. Documents that change meanwhile are carried over afterwards, some
after each request; then the copy becomes the current one. A search never waits for longer
than it takes to open a shard. Writes wait while the copy is made.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from unchunk.adapters.index.edge_home import Home, remove
from unchunk.adapters.index.edge_shard import SCANNED_KILOBYTES, Shard
from unchunk.adapters.index.wire import Batch, Found, Query, Version

if TYPE_CHECKING:
    from unchunk.adapters.index.edge_optimize import Optimizing

_CARRIED_AT_ONCE = 512


class Store:
    """Blocking; for the child process.

    It is optimized when `enough` rows were written since the last time, and none for `quiet`
    seconds; or twice as many. After a failure it is not tried again for `pause` seconds.
    """

    def __init__(
        self,
        folder: Path,
        dimensions: int,
        enough: int | None = None,
        quiet: float = 2.0,
        pause: float = 600.0,
    ) -> None:
        self._home = Home(folder)
        self._dimensions = dimensions
        self._enough = enough or SCANNED_KILOBYTES * 1000 // (4 * max(dimensions, 256))
        self._quiet, self._pause = quiet, pause
        kept = self._home.shard
        self._path = kept or self._home.fresh()
        if kept is None:
            self._shard = Shard.create(self._path, dimensions)
            self._home.make_current(self._path, dimensions)
        else:
            self._shard = Shard.load(self._path)
        self._home.tidy()
        noted = self._home.changes()
        self._changes = self._shard.count() if noted is None else noted
        self._dirty = False
        self._written = self._not_before = 0.0
        self._optimizing: Optimizing | None = None
        self._next: Shard | None = None
        self._stale: set[str] = set()
        self._carried = 0

    # What the index asks for.

    def upsert(self, batch: Batch) -> None:
        self._shard.upsert(batch)
        self._note(len(batch.owners), set(batch.documents))

    def delete(self, document: str, generations: Sequence[int] | None) -> None:
        count = self._shard.delete(document, generations)
        if count:
            self._note(count, {document})

    def flush(self) -> None:
        if self._dirty:
            self._shard.flush()
            self._dirty = False
            self._home.note_changes(self._changes)

    def search(self, *queries: Query) -> list[Found]:
        return [self._shard.search(query) for query in queries]

    def fetch(self, ids: bytes) -> tuple[list[int], bytearray]:
        return self._shard.fetch(ids, self._dimensions)

    def census(self, document: str | None) -> dict[Version, int]:
        return self._shard.census(document)

    def close(self) -> None:
        self._give_up()
        self.flush()
        self._shard.close()

    # What it does for itself.

    @property
    def copying(self) -> bool:
        """Whether writes have to wait."""
        return self._optimizing is not None and self._optimizing.state == "copying"

    @property
    def carrying(self) -> bool:
        """Whether there is a next step to take at once."""
        return self._next is not None

    def read_ahead(self) -> None:
        """Takes as long as the disk does; safe in another thread."""
        self._home.read_ahead()

    def go_on(self) -> None:
        """A step towards an optimized shard; to be called after each request and when idle."""
        try:
            if self._next is not None:
                self._carry(self._next)
            elif self._optimizing is None:
                self._begin()
            elif self._optimizing.state == "done":
                self._next = Shard.load(self._optimizing.target)
                self._carried = 0
            elif self._optimizing.state == "failed":
                self._give_up()
        except Exception:  # noqa: BLE001 the engine knows no better type; what there is still works
            self._give_up()

    def _begin(self) -> None:
        now = time.monotonic()
        busy = now < self._written + self._quiet and self._changes < 2 * self._enough
        if self._changes < self._enough or now < self._not_before or busy:
            return
        # Loaded when there is need, which is seldom: a first answer waits for all that is loaded.
        from unchunk.adapters.index.edge_optimize import Optimizing  # noqa: PLC0415

        self._not_before = now + self._pause
        if self._home.has_room():
            self.flush()
            self._stale.clear()
            self._optimizing = Optimizing(self._path, self._home.fresh())

    def _carry(self, target: Shard) -> None:
        before = self._carried
        while self._stale and self._carried < before + _CARRIED_AT_ONCE:
            self._carried += 1 + self._shard.copy_document(self._stale.pop(), target)
        if not self._stale and self._optimizing is not None:
            target.flush()
            path = self._optimizing.target
            self._home.make_current(path, self._dimensions)
            old, self._shard, self._path = self._shard, target, path
            self._optimizing = self._next = None
            self._changes, self._dirty, self._not_before = self._carried, True, 0.0
            with suppress(Exception):
                old.close()
            self._home.tidy()

    def _note(self, count: int, documents: set[str]) -> None:
        self._dirty = True
        self._changes += count
        self._written = time.monotonic()
        if self._optimizing is not None:
            self._stale |= documents

    def _give_up(self) -> None:
        optimizing, shard = self._optimizing, self._next
        self._optimizing = self._next = None
        if shard is not None:
            with suppress(Exception):
                shard.close()
        if optimizing is not None:
            optimizing.stop()
            remove(optimizing.target)
