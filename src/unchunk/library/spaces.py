"""Which embedder and which chunking a library was built with, and its indexes.

All vectors that one embedder made are one space, with an index of its own. A library has one;
while it is migrated, two: each document is live in exactly one of them, a search looks into
both, and the old one is dropped when nothing lives there any more.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from unchunk.domain import Chunking, ChunkingStrategy, EmbedderIdentity, Space
from unchunk.errors import IntegrityError, MigrationNeededError, PermanentError
from unchunk.ports import Catalog, Embedder, Indexes, OpenSpace
from unchunk.telemetry import log

_ACTIVE = "active space"
_CHUNKING = "chunking"
_SPACE = "space "

# Makes an embedder from how it is named in the settings, and from what is known of it.
MakeEmbedder = Callable[[str, EmbedderIdentity | None], Awaitable[Embedder]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings ask for; `embedder` is how they name it."""

    embedder: str
    chunking: Chunking


class Spaces:
    """The spaces of an open library, kept in step with its catalog."""

    def __init__(
        self, catalog: Catalog, indexes: Indexes, make: MakeEmbedder, wanted: Wanted
    ) -> None:
        self._catalog = catalog
        self._indexes = indexes
        self._make = make
        self._wanted = wanted
        self._open: dict[str, OpenSpace] = {}
        self._active = ""
        self.chunking = wanted.chunking

    async def open(self) -> None:
        """Open what the catalog names; a fresh library becomes what the settings want."""
        notes = await self._catalog.notes()
        for key, value in notes.items():
            if key.startswith(_SPACE) and value:
                spec, identity = _read_space(value)
                await self._open_space(spec, identity)
        if _ACTIVE not in notes:
            await self.adopt()
            return
        self._active = notes[_ACTIVE]
        self.chunking = _read_chunking(notes[_CHUNKING])
        if self._active not in self._open:
            raise IntegrityError(
                f"the catalog does not know its own index {self._active!r}; restore a backup"
            )

    @property
    def active(self) -> OpenSpace:
        return self._open[self._active]

    @property
    def all(self) -> list[OpenSpace]:
        """The active one first."""
        return sorted(self._open.values(), key=lambda space: space.name != self._active)

    def get(self, name: str) -> OpenSpace | None:
        return self._open.get(name)

    @property
    def embedder(self) -> Embedder:
        """The active space's; raises if it is not to be had, which only a migration mends."""
        if self.active.embedder is None:
            self.check()
            raise MigrationNeededError(f"embedder {self.active.spec!r} is not to be had")
        return self.active.embedder

    def check(self) -> None:
        """Raise if the settings want something else than what the library is."""
        changes = []
        if self._wanted.embedder != self.active.spec:
            changes.append(f"embedder {self.active.spec!r}, not {self._wanted.embedder!r}")
        if self._wanted.chunking != self.chunking:
            changes.append(f"chunks of {self.chunking}, not {self._wanted.chunking}")
        if changes:
            raise MigrationNeededError(
                f"this library has {' and '.join(changes)}: set it back,"
                " or run `unchunk reindex --all` to migrate (searches go on meanwhile)"
            )

    async def adopt(self) -> None:
        """Make what the settings want the active space; what is in others stays until moved."""
        same = self._active and self._wanted.embedder == self.active.spec
        space = self.active if same else await self._open_space(self._wanted.embedder, None)
        identity = json.dumps(asdict(space.identity))
        await self._catalog.note(
            _SPACE + space.name, json.dumps({"spec": space.spec, "identity": identity})
        )
        await self._catalog.note(_CHUNKING, _write_chunking(self._wanted.chunking))
        await self._catalog.note(_ACTIVE, space.name)
        self._active, self.chunking = space.name, self._wanted.chunking

    async def retire(self, in_use: set[str]) -> list[str]:
        """Drop the spaces that are neither active nor in use; their names are returned."""
        gone = [name for name in self._open if name not in in_use | {self._active}]
        for name in gone:
            space = self._open.pop(name)
            await _close(space)
            await self._indexes.drop(name)
            await self._catalog.note(_SPACE + name, "")
        return gone

    async def strays(self) -> list[str]:
        """Names of indexes that no space belongs to."""
        return [name for name in await self._indexes.names() if name not in self._open]

    async def drop(self, name: str) -> None:
        await self._indexes.drop(name)

    async def close(self) -> None:
        for space in self._open.values():
            await _close(space)
        self._open.clear()

    async def _open_space(self, spec: str, identity: EmbedderIdentity | None) -> OpenSpace:
        embedder = await self._embedder(spec, identity)
        if embedder is not None and identity is None:
            identity = embedder.identity
        assert identity is not None
        if embedder is not None and identity.fingerprint != embedder.identity.fingerprint:
            made = embedder.identity
            raise MigrationNeededError(
                f"embedder {spec!r} gives other vectors than those that this library holds"
                f" ({made.name}, {made.dimensions} dimensions, instead of {identity.name},"
                f" {identity.dimensions}): put the former model back"
            )
        index = await self._indexes.open(Space(identity.fingerprint, identity.dimensions))
        space = OpenSpace(identity.fingerprint, spec, identity, index, embedder)
        self._open[space.name] = space
        return space

    async def _embedder(self, spec: str, identity: EmbedderIdentity | None) -> Embedder | None:
        try:
            return await self._make(spec, identity)
        except PermanentError as error:
            if identity is None or spec == self._wanted.embedder:
                raise
            log("embedder %r of an old index is not to be had: %s", spec, error)
            return None


async def _close(space: OpenSpace) -> None:
    await space.index.close()
    if space.embedder is not None:
        await space.embedder.close()


def _read_space(value: str) -> tuple[str, EmbedderIdentity]:
    record = json.loads(value)
    return record["spec"], EmbedderIdentity(**json.loads(record["identity"]))


def _write_chunking(chunking: Chunking) -> str:
    return json.dumps(asdict(chunking))


def _read_chunking(value: str) -> Chunking:
    record = json.loads(value)
    return Chunking(ChunkingStrategy(**record["strategy"]), record["boundaries"])
