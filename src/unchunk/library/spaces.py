"""Which embedder and which chunking a library was built with, and its indexes.

All that can be compared is one space, with an index of its own: vectors of one embedder, terms
of one language, in one kind of index. A library has one; while it is migrated, two: each
document is live in exactly one of them, a search looks into both, and the old one is dropped
when nothing lives there any more.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TypeVar

from unchunk.domain import EmbedderIdentity, Space
from unchunk.errors import (
    IndexUnavailableError,
    IntegrityError,
    MigrationNeededError,
    PermanentError,
    TransientError,
    UnchunkError,
)
from unchunk.library.calibration import uncalibrated
from unchunk.library.desk import Desk
from unchunk.library.lazy import LazyIndex
from unchunk.library.recipes import (
    CHUNKING,
    KEYS,
    Wanted,
    chunking_in,
    kind_of,
    name_of,
    noted_spaces,
    recipe_of,
    retired_spaces,
)
from unchunk.ports import ACTIVE, SPACE, Catalog, Embedder, Index, Indexes, OpenSpace
from unchunk.telemetry import log

T = TypeVar("T")

# Whoever changes which spaces there are holds this, among all processes.
_MIGRATION = "spaces"
_CLOSED = "the library is closed"

# Makes an embedder from how it is named in the settings, and from what is known of it.
MakeEmbedder = Callable[[str, EmbedderIdentity | None], Awaitable[Embedder]]
# Makes what keeps indexes, from how the settings name it.
MakeIndexes = Callable[[str], Indexes]


class Spaces:
    """The spaces of an open library, kept in step with its catalog."""

    def __init__(
        self,
        catalog: Catalog,
        make_indexes: MakeIndexes,
        make: MakeEmbedder,
        wanted: Wanted,
        desk: Desk,
    ) -> None:
        self._catalog = catalog
        self._desk = desk
        self._noted: dict[str, str] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._make_indexes = make_indexes
        self._indexes = {wanted.index: make_indexes(wanted.index)}
        self._make = make
        self._wanted = wanted
        self._open: dict[str, OpenSpace] = {}
        self._recipes: dict[str, dict[str, str]] = {}
        self._made: dict[str, Embedder] = {}
        self._problems: dict[str, UnchunkError] = {}
        self._users: dict[str, int] = {}
        self._changed = asyncio.Condition()
        # Who changes the spaces here, and who looks at what is noted of them.
        self._migrating, self._looking = asyncio.Lock(), asyncio.Lock()
        self._looks = self._seen = 0
        self._active = ""
        self.chunking = wanted.chunking

    async def open(self) -> None:
        """Open what the catalog names; a fresh library becomes what the settings want.

        No index is touched, and an embedder that is not to be had is told when it is needed.
        """
        await self._look()
        if not self._active:
            try:
                await self.settle()
            except TransientError as error:
                self._problems[""] = error

    async def settle(self) -> None:
        """Make a fresh library what the settings want, unless another process has done so."""
        async with self._migrating, self._desk.hold(_MIGRATION):
            await self._look()
            if not self._active:
                await self._adopt()

    async def refresh(self) -> bool:
        """See which spaces there are by now, for other processes change them, too.

        Tells whether that is otherwise than it was. Costs nothing where there are no others.
        """
        if not self._desk.is_shared:
            return False
        before = self._active, set(self._open)
        await self._look()
        return before != (self._active, set(self._open))

    async def _look(self) -> None:
        """Be as the catalog notes it by now. Never done while somebody's work is waited for."""
        asked = self._looks
        async with self._looking:
            if self._seen > asked:
                return  # another one has looked, and began when this was asked for already
            self._looks += 1
            await self._take_over(await self._catalog.notes())
            self._seen = self._looks

    async def _take_over(self, notes: Mapping[str, str]) -> None:
        noted = {key: it for key, it in notes.items() if key.startswith(KEYS)}
        if self._is_closed or ACTIVE not in noted or noted == self._noted:
            return
        known = noted_spaces(noted)
        for name, recipe in known.items():
            if name not in self._open:
                await self._open_known(name, recipe)
        active = noted[ACTIVE]
        if active not in known:
            raise IntegrityError(
                f"the catalog does not know its own index {active!r}; restore a backup"
            )
        self._recipes |= known
        self._active, self.chunking = active, chunking_in(noted[CHUNKING])
        for name in [name for name in self._open if name not in known]:
            leaving = asyncio.create_task(self._leave(self._open.pop(name)))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        self._noted = noted

    async def _leave(self, space: OpenSpace) -> None:
        """Close one that another process retired, when nobody here uses it any more."""
        await self._unused(space.name)
        await _close(space)

    async def _unused(self, name: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._users.get(name))

    @property
    def active(self) -> OpenSpace:
        if self._is_closed:
            raise IndexUnavailableError(_CLOSED)
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
        await self.refresh()
        if self._is_closed:
            # Nowhere is not everywhere: who purges would believe that all is gone.
            raise IndexUnavailableError(_CLOSED)
        found = {}
        for space in self.all:
            try:
                found[space.name] = await work(space.index)
            except IndexUnavailableError:
                if not await self.is_gone(space):
                    raise
        return found

    async def is_gone(self, space: OpenSpace) -> bool:
        """Whether a space that cannot be used was dropped, here or elsewhere."""
        if space in self.all:
            await self.refresh()
        # What is only closed is there the next time.
        return space not in self.all and not self._is_closed

    @property
    def kind(self) -> str:
        """The kind of the active index."""
        recipe = self._recipes.get(self._active, {})
        return kind_of(recipe.get("index", self._wanted.index))

    @property
    def embedder(self) -> Embedder:
        """The active space's; raises why, if it is not to be had."""
        return self.embedder_of(self.active)

    def embedder_of(self, space: OpenSpace) -> Embedder:
        if space.embedder is None:
            self.check()
            raise self._problems[space.name]
        return space.embedder

    def changes(self) -> list[str]:
        """What the settings want otherwise than the library is, in words."""
        recipe = self._recipes[self.active.name]
        wanted = self._wanted
        changes = [
            f"{what} {recipe[what]!r}, not {asked!r}"
            for what, asked in (("embedder", wanted.embedder), ("language", wanted.language))
            if recipe[what] != asked
        ]
        if kind_of(recipe["index"]) != kind_of(wanted.index):
            changes.append(f"index {kind_of(recipe['index'])!r}, not {kind_of(wanted.index)!r}")
        if wanted.chunking != self.chunking:
            changes.append(f"chunks of {self.chunking}, not {wanted.chunking}")
        return changes

    def remarks(self) -> list[str]:
        """What a search should say of a library that is not as its settings want it."""
        remarks = [one for space in self.all for one in uncalibrated(space.embedder)]
        changes = self.changes() if self.all else []
        if any(word in change for change in changes for word in ("index", "language")):
            remarks.append(
                f"this library has {' and '.join(changes)}: `unchunk reindex --all` migrates it"
            )
        return remarks

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
        """The active space, which this process does not drop while it is used."""
        await self.refresh()
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
        async with self._migrating, self._desk.hold(_MIGRATION):
            await self._look()
            await self._adopt()

    async def _adopt(self) -> None:
        embedder = await self._make(self._wanted.embedder, None)
        try:
            name = await self._note_wanted(embedder.identity)
            self._made[name] = embedder
            await self._look()
            space = self._open.get(name)
            if space is not None and space.embedder is None:
                self._open[name] = replace(space, embedder=embedder)
                self._problems.pop(name, None)
        finally:
            self._made.clear()
            if all(space.embedder is not embedder for space in self._open.values()):
                await embedder.close()
        await self._drop_retired()

    async def _note_wanted(self, identity: EmbedderIdentity) -> str:
        """Note that the wanted space is the active one, and tell its name."""
        wanted = self._wanted
        while True:
            notes = await self._catalog.notes()
            name = name_of(identity, wanted, notes)
            recipe = recipe_of(identity, wanted, notes.get(SPACE + name))
            # What is there already, and noted nowhere, is of another time: it is not to be used.
            is_odd = ACTIVE in notes and SPACE + name not in notes
            is_there = is_odd and name in await self._indexes_of(recipe).names()
            if is_there and await self._catalog.retire_space(name):
                continue
            said = {ACTIVE: name, CHUNKING: json.dumps(asdict(wanted.chunking))}
            if await self._catalog.adopt_space(name, json.dumps(recipe), said):
                return name

    async def _drop_retired(self) -> None:
        """What could not be dropped when it was left goes, should it be there again."""
        if retired := retired_spaces(await self._catalog.notes()):
            try:
                indexes = self._indexes_of(self._recipes[self._active])
                for name in retired.intersection(await indexes.names()):
                    await indexes.drop(name)
            except UnchunkError as error:
                log("former indexes could not be dropped: %s", error)

    async def retire(self) -> list[str]:
        """Drop the spaces that nothing lives in and nobody here uses; their names are returned.

        Whoever writes into one elsewhere is refused by the catalog, and begins again.
        """
        gone = []
        async with self._migrating, self._desk.hold(_MIGRATION):
            await self._look()
            for space in self.all[1:]:
                await self._unused(space.name)
                if await self._catalog.retire_space(space.name):
                    gone.append(space.name)
                    await self._look()
                    if self._leaving:
                        await asyncio.wait(self._leaving)
                    await self._drop_former(space.name)
        return gone

    async def _drop_former(self, name: str) -> None:
        try:
            await self._indexes_of(self._recipes[name]).drop(name)
        except UnchunkError as error:
            # Its server may be gone for good, and the library has left it.
            log("the former index %s could not be dropped: %s", name, error)

    async def strays(self) -> list[str]:
        """Names of indexes that no space belongs to."""
        # Before and after: one that is made or dropped meanwhile is no stray.
        known = noted_spaces(await self._catalog.notes()).keys() | self._open
        names = await self._indexes[self._wanted.index].names()
        known |= noted_spaces(await self._catalog.notes()).keys() | self._open
        strays = [name for name in names if name not in known]
        # Whoever migrates is about to drop what it has retired.
        return [] if strays and await self._desk.is_held(_MIGRATION) else strays

    async def drop(self, name: str) -> None:
        """Remove a stray, unless it has become a space meanwhile."""
        async with self._migrating, self._desk.hold(_MIGRATION):
            if name in noted_spaces(await self._catalog.notes()).keys() | self._open:
                return
            # From now on it cannot become one.
            if await self._catalog.retire_space(name):
                await self._indexes[self._wanted.index].drop(name)

    async def close(self) -> None:
        self._is_closed = True
        if self._leaving:
            await asyncio.wait(self._leaving)
        while self._open:
            _, space = self._open.popitem()
            await _close(space)

    async def _open_known(self, name: str, recipe: dict[str, str]) -> None:
        """Open a space of the catalog; without its embedder, if that is not to be had."""
        identity = EmbedderIdentity(**json.loads(recipe["identity"]))
        embedder = self._made.get(name)
        try:
            embedder = embedder or await self._make(recipe["embedder"], identity)
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
            indexes = self._indexes_of(recipe)
            index = await indexes.open(space)
        except PermanentError as error:
            if kind_of(recipe["index"]) == kind_of(self._wanted.index):
                raise
            # It is to be left, and that must be possible without it.
            raise IndexUnavailableError(f"the former index cannot be used: {error}") from error
        # Dropped elsewhere before this process knew, it has been made once more.
        try:
            notes = await self._catalog.notes() if self._desk.is_shared else {}
        except BaseException:
            await index.close()
            raise
        if space.name in retired_spaces(notes):
            await index.close()
            await indexes.drop(space.name)
            raise IndexUnavailableError(f"the index {space.name!r} was dropped")
        return index

    def _indexes_of(self, recipe: dict[str, str]) -> Indexes:
        """What keeps a space: of its own kind, and for that kind where the settings say it is."""
        index = recipe["index"]
        if kind_of(index) == kind_of(self._wanted.index):
            index = self._wanted.index
        if index not in self._indexes:
            self._indexes[index] = self._make_indexes(index)
        return self._indexes[index]


async def _close(space: OpenSpace) -> None:
    await space.index.close()
    if space.embedder is not None:
        await space.embedder.close()
