"""Which embedder and which chunking a library was built with, and its indexes.

All that can be compared is one space, with an index of its own: vectors of one embedder, terms
of one language, in one kind of index. A library has one; while it is migrated, two: each
document is live in exactly one of them, a search looks into both, and the old one is dropped
when nothing lives there any more.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import TypeVar

from unchunk.domain import Chunking, ChunkingStrategy, EmbedderIdentity, Space
from unchunk.errors import (
    IndexUnavailableError,
    IntegrityError,
    MigrationNeededError,
    PermanentError,
    TransientError,
    UnchunkError,
)
from unchunk.library.lazy import LazyIndex
from unchunk.ports import Catalog, Embedder, Index, Indexes, OpenSpace
from unchunk.telemetry import log

T = TypeVar("T")

_ACTIVE = "active space"
_CHUNKING = "chunking"
_SPACE = "space "

# Makes an embedder from how it is named in the settings, and from what is known of it.
MakeEmbedder = Callable[[str, EmbedderIdentity | None], Awaitable[Embedder]]
# Makes what keeps indexes, from how the settings name it.
MakeIndexes = Callable[[str], Indexes]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings ask for; `embedder` and `index` as they name them."""

    embedder: str
    chunking: Chunking
    index: str
    language: str


class Spaces:
    """The spaces of an open library, kept in step with its catalog."""

    def __init__(
        self,
        catalog: Catalog,
        make_indexes: MakeIndexes,
        make: MakeEmbedder,
        wanted: Wanted,
    ) -> None:
        self._catalog = catalog
        self._make_indexes = make_indexes
        self._indexes = {wanted.index: make_indexes(wanted.index)}
        self._make = make
        self._wanted = wanted
        self._open: dict[str, OpenSpace] = {}
        self._recipes: dict[str, dict[str, str]] = {}
        self._problems: dict[str, UnchunkError] = {}
        self._users: dict[str, int] = {}
        self._changed = asyncio.Condition()
        self._migrating = asyncio.Lock()
        self._active = ""
        self.chunking = wanted.chunking

    async def open(self) -> None:
        """Open what the catalog names; a fresh library becomes what the settings want.

        No index is touched, and an embedder that is not to be had is told when it is needed.
        """
        notes = await self._catalog.notes()
        for key, value in notes.items():
            if key.startswith(_SPACE) and value:
                await self._open_known(key.removeprefix(_SPACE), json.loads(value))
        if _ACTIVE not in notes:
            try:
                await self.adopt()
            except TransientError as error:
                self._problems[""] = error
            return
        self._active = notes[_ACTIVE]
        self.chunking = _read_chunking(notes[_CHUNKING])
        if self._active not in self._open:
            raise IntegrityError(
                f"the catalog does not know its own index {self._active!r}; restore a backup"
            )

    @property
    def active(self) -> OpenSpace:
        if self._active not in self._open:
            raise self._problems[""]
        return self._open[self._active]

    @property
    def all(self) -> list[OpenSpace]:
        """The active one first."""
        return sorted(self._open.values(), key=lambda space: space.name != self._active)

    def get(self, name: str) -> OpenSpace | None:
        return self._open.get(name)

    async def everywhere(self, work: Callable[[Index], Awaitable[T]]) -> dict[str, T]:
        """What `work` gives in each space, by name, but for those that are dropped meanwhile."""
        found = {}
        for space in self.all:
            try:
                found[space.name] = await work(space.index)
            except IndexUnavailableError:
                if space in self.all:
                    raise
        return found

    @property
    def kind(self) -> str:
        """The kind of the active index."""
        recipe = self._recipes.get(self._active, {})
        return _kind(recipe.get("index", self._wanted.index))

    @property
    def embedder(self) -> Embedder:
        """The active space's; raises why, if it is not to be had."""
        if self.active.embedder is None:
            self.check()
            raise self._problems[self._active]
        return self.active.embedder

    def changes(self) -> list[str]:
        """What the settings want otherwise than the library is, in words."""
        recipe = self._recipes[self.active.name]
        wanted = self._wanted
        changes = [
            f"{what} {recipe[what]!r}, not {asked!r}"
            for what, asked in (("embedder", wanted.embedder), ("language", wanted.language))
            if recipe[what] != asked
        ]
        if _kind(recipe["index"]) != _kind(wanted.index):
            changes.append(f"index {_kind(recipe['index'])!r}, not {_kind(wanted.index)!r}")
        if wanted.chunking != self.chunking:
            changes.append(f"chunks of {self.chunking}, not {wanted.chunking}")
        return changes

    def check(self) -> None:
        """Raise if the settings want something else than what the library is."""
        if changes := self.changes():
            raise MigrationNeededError(
                f"this library has {' and '.join(changes)}: set it back,"
                " or run `unchunk reindex --all` to migrate (searches go on meanwhile)"
            )
        if isinstance(problem := self._problems.get(self._active), MigrationNeededError):
            raise problem

    @asynccontextmanager
    async def using(self) -> AsyncIterator[OpenSpace]:
        """The active space, which is not dropped while it is used."""
        space = self.active
        self._users[space.name] = self._users.get(space.name, 0) + 1
        try:
            yield space
        finally:
            async with self._changed:
                self._users[space.name] -= 1
                self._changed.notify_all()

    async def adopt(self) -> None:
        """Make what the settings want the active space; what is in others stays until moved."""
        async with self._migrating:
            wanted, notes = self._wanted, await self._catalog.notes()
            embedder = await self._make(wanted.embedder, None)
            recipe = {
                "embedder": wanted.embedder,
                "index": wanted.index,
                "language": wanted.language,
                "identity": json.dumps(asdict(embedder.identity)),
            }
            name = _name(embedder.identity, wanted)
            try:
                if _ACTIVE in notes and not notes.get(_SPACE + name):
                    # What was left there, where it could not be dropped, is out of date.
                    await self._indexes_of(recipe).drop(name)
            except BaseException:
                await embedder.close()
                raise
            if name in self._open and self._open[name].embedder is not None:
                await embedder.close()
            else:
                self._add(name, recipe, embedder.identity, embedder)
            self._recipes[name] = recipe
            await self._catalog.note(_SPACE + name, json.dumps(recipe))
            await self._catalog.note(_CHUNKING, json.dumps(asdict(wanted.chunking)))
            await self._catalog.note(_ACTIVE, name)
            self._active, self.chunking = name, wanted.chunking

    async def retire(self, in_use: Callable[[], Awaitable[set[str]]]) -> list[str]:
        """Drop the spaces that nobody uses and nothing lives in; their names are returned."""
        gone = []
        async with self._migrating:
            for name in [name for name in self._open if name != self._active]:
                async with self._changed:
                    while self._users.get(name):
                        await self._changed.wait()
                if name not in await in_use():
                    gone.append(name)
                    await _close(self._open.pop(name))
                    await self._drop_former(name)
                    await self._catalog.note(_SPACE + name, "")
        return gone

    async def _drop_former(self, name: str) -> None:
        try:
            await self._indexes_of(self._recipes[name]).drop(name)
        except UnchunkError as error:
            # Its server may be gone for good, and the library has left it.
            log("the former index %s could not be dropped: %s", name, error)

    async def strays(self) -> list[str]:
        """Names of indexes that no space belongs to."""
        # Noted before: one that is dropped meanwhile is no stray.
        noted = await self._catalog.notes()
        names = await self._indexes[self._wanted.index].names()
        return [name for name in names if name not in self._open and not noted.get(_SPACE + name)]

    async def drop(self, name: str) -> None:
        """Remove a stray, unless it has become a space meanwhile."""
        async with self._migrating:
            if name not in self._open:
                await self._indexes[self._wanted.index].drop(name)

    async def close(self) -> None:
        for space in self._open.values():
            await _close(space)
        self._open.clear()

    async def _open_known(self, name: str, recipe: dict[str, str]) -> None:
        """Open a space of the catalog; without its embedder, if that is not to be had."""
        identity = EmbedderIdentity(**json.loads(recipe["identity"]))
        embedder: Embedder | None = None
        try:
            embedder = await self._make(recipe["embedder"], identity)
            if embedder.identity.fingerprint != identity.fingerprint:
                made = embedder.identity
                await embedder.close()
                embedder = None
                raise MigrationNeededError(
                    f"embedder {recipe['embedder']!r} now gives other vectors ({made.name},"
                    f" {made.dimensions} dimensions) than this library holds ({identity.name},"
                    f" {identity.dimensions}): put the former one back, or run"
                    " `unchunk reindex --all` to migrate"
                )
        except UnchunkError as error:
            log("the embedder of index %s is not to be had: %s", name, error)
            self._problems[name] = error
        self._add(name, recipe, identity, embedder)

    def _add(
        self,
        name: str,
        recipe: dict[str, str],
        identity: EmbedderIdentity,
        embedder: Embedder | None,
    ) -> None:
        space = Space(name, identity.dimensions)
        index = LazyIndex(partial(self._open_index, recipe, space), name)
        self._recipes[name] = recipe
        self._open[name] = OpenSpace(name, recipe["embedder"], identity, index, embedder)

    async def _open_index(self, recipe: dict[str, str], space: Space) -> Index:
        try:
            return await self._indexes_of(recipe).open(space)
        except PermanentError as error:
            if _kind(recipe["index"]) == _kind(self._wanted.index):
                raise
            # It is to be left, and that must be possible without it.
            raise IndexUnavailableError(f"the former index cannot be used: {error}") from error

    def _indexes_of(self, recipe: dict[str, str]) -> Indexes:
        """What keeps a space: of its own kind, and for that kind where the settings say it is."""
        index = recipe["index"]
        if _kind(index) == _kind(self._wanted.index):
            index = self._wanted.index
        if index not in self._indexes:
            self._indexes[index] = self._make_indexes(index)
        return self._indexes[index]


def _kind(index: str) -> str:
    """The kind of index: where a server of that kind is, may change."""
    return index.partition(":")[0]


def _name(identity: EmbedderIdentity, wanted: Wanted) -> str:
    parts = (identity.fingerprint, _kind(wanted.index), wanted.language)
    return sha256(repr(parts).encode()).hexdigest()[:16]


async def _close(space: OpenSpace) -> None:
    await space.index.close()
    if space.embedder is not None:
        await space.embedder.close()


def _read_chunking(value: str) -> Chunking:
    record = json.loads(value)
    return Chunking(ChunkingStrategy(**record["strategy"]), record["boundaries"])
