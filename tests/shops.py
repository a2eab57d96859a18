"""What tests of stores begin with: files that came in, and a time that a test sets."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from homes import Home
from unchunk.domain import DocumentId
from unchunk.engine import Engine
from unchunk.ports import StoreId
from unchunk.stores import Addition, VectorStores

ME, OTHER = "local", "somebody else"
TIDES = "The tide comes in twice a day, and the moon draws it. "
ROME = "Rome fell in the year 476, and nobody rang a bell. "


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **much: float) -> None:
        self.now += timedelta(**much)


def room(engine: Engine, clock: Callable[[], datetime]) -> VectorStores:
    """The engine's own, at another time."""
    stores = engine.stores
    return VectorStores(engine, stores._catalog, replace(stores._parts, clock=clock))


async def bring(
    engine: Engine, home: Home, name: str, content: str | bytes, owner: str = ME
) -> DocumentId:
    """A file that came in."""
    file = await engine.stores.add_file(home.file(name, content), name, owner=owner)
    await engine.retry(file.document.id, owner=owner)
    return file.document.id


async def fill(engine: Engine, *documents: DocumentId, owner: str = ME) -> StoreId:
    """A new store with documents in it."""
    store = await engine.stores.create(owner=owner)
    if documents:
        await engine.stores.attach_batch(store.id, [Addition(it) for it in documents], owner=owner)
    return store.id
