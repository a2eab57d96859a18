"""The two ends of a move: what each consists of, and what their indexes are called."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from unchunk.domain import EmbedderIdentity, Space
from unchunk.errors import InvalidInputError, MigrationNeededError, TransientError
from unchunk.library.desk import Desk
from unchunk.library.recipes import CHUNKING, Wanted, chunking_in, elsewhere, noted_spaces
from unchunk.ports import (
    ACTIVE,
    SPACE,
    Blobs,
    Catalog,
    Index,
    Indexes,
    Lexicon,
    VectorCache,
)
from unchunk.ports.moving import Records

LIBRARY = "library"
ORIGIN = "moved from"


@dataclass(frozen=True, slots=True)
class Place:
    """A library as far as a move needs it. `indexes` makes what keeps those that a note names;
    `index` is how the settings name theirs. `shown` is the place in words.
    """

    shown: str
    records: Records
    catalog: Catalog
    cache: VectorCache
    blobs: Blobs
    index: str
    indexes: Callable[[str], Indexes]
    desk: Desk
    opened: dict[str, Index] = field(default_factory=dict)

    async def index_of(self, name: str, recipe: Mapping[str, str]) -> Index:
        if name not in self.opened:
            identity = EmbedderIdentity(**json.loads(recipe["identity"]))
            spec = recipe["index"]
            if spec.partition(":")[0] == self.index.partition(":")[0]:
                spec = self.index  # where a server of that kind is, may have changed
            self.opened[name] = await self.indexes(spec).open(Space(name, identity.dimensions))
        return self.opened[name]

    async def close(self) -> None:
        for index in self.opened.values():
            await index.close()
        self.opened.clear()


class Passage(NamedTuple):
    """One space on its way: from which index into which, and what made its vectors and terms."""

    name: str
    recipe: dict[str, str]
    former_name: str
    former: dict[str, str]
    identity: EmbedderIdentity
    lexicon: Lexicon


class Way(NamedTuple):
    """Both ends, and what becomes of each space of the source, by its name there."""

    source: Place
    target: Place
    passages: dict[str, Passage]


async def prepare(
    source: Place, target: Place, wanted: Wanted, lexicons: Callable[[str], Lexicon]
) -> Way:
    """Make the target the library to be, without a document.

    Raises before anything is changed if the target is another library, or is to be one of
    another kind.
    """
    notes, there = await source.catalog.notes(), await target.catalog.notes()
    if ACTIVE not in notes:
        raise InvalidInputError(f"there is no library to move in {source.shown}: check --home")
    _check_kind(notes, wanted)
    if there.get(LIBRARY) == notes[LIBRARY]:
        raise InvalidInputError(
            f"{target.shown} is the same library as {source.shown}, or a copy of its files: name"
            " another target"
        )
    if there.get(ORIGIN) != notes[LIBRARY]:
        await _check_empty(target)
    former = noted_spaces(notes)
    renamed = {name: elsewhere(recipe, wanted, there) for name, recipe in former.items()}
    active, _ = renamed[notes[ACTIVE]]
    said = {ORIGIN: notes[LIBRARY], CHUNKING: notes[CHUNKING], ACTIVE: active}
    await _become(target, there, said, dict(renamed.values()))
    passages = {
        was: Passage(
            name,
            recipe,
            was,
            former[was],
            EmbedderIdentity(**json.loads(recipe["identity"])),
            lexicons(recipe["language"]),
        )
        for was, (name, recipe) in renamed.items()
    }
    return Way(source, target, passages)


def _check_kind(notes: Mapping[str, str], wanted: Wanted) -> None:
    recipe = noted_spaces(notes)[notes[ACTIVE]]
    chunking = chunking_in(notes[CHUNKING])
    changes = [
        f"{what} {asked!r}, and the library has {had!r}"
        for what, had, asked in (
            ("embedder", recipe["embedder"], wanted.embedder),
            ("language", recipe["language"], wanted.language),
            ("chunks", str(chunking), str(wanted.chunking)),
        )
        if had != asked
    ]
    if changes:
        raise MigrationNeededError(
            f"the target is to have {'; '.join(changes)}. Nothing is embedded while a library"
            " moves: move it as it is, then change the setting there and run"
            " `unchunk reindex --all`"
        )


async def _check_empty(target: Place) -> None:
    for kind in ("document", "conversation", "store", "key"):
        if await target.records.marks(kind):
            raise InvalidInputError(
                f"{target.shown} holds another library: name an empty place, or export that"
                " one and delete what is in it"
            )


async def _become(
    target: Place,
    there: Mapping[str, str],
    said: dict[str, str],
    spaces: Mapping[str, dict[str, str]],
) -> None:
    """Note what the target is from now on; what holds no document can become another kind."""
    is_other = there.get(ACTIVE, said[ACTIVE]) != said[ACTIVE]
    if is_other and await target.records.marks("document"):
        raise MigrationNeededError(
            f"{target.shown} has become a library of another kind: finish `unchunk reindex --all`"
            " in both, or move into an empty place"
        )
    recipes = {name: json.dumps(recipe) for name, recipe in spaces.items()}
    if not (said | {SPACE + name: it for name, it in recipes.items()}).items() <= there.items():
        # One that cannot be used is told before anything is noted, so that another can be chosen.
        for name, recipe in spaces.items():
            await target.index_of(name, recipe)
        # Which one is in use comes last, with all else that makes it this library.
        for name in sorted(spaces, key=lambda it: it == said[ACTIVE]):
            also = said if name == said[ACTIVE] else {}
            if not await target.catalog.adopt_space(name, recipes[name], also):
                raise TransientError(f"{target.shown} was migrated meanwhile: run this again")
    if is_other:
        for name in noted_spaces(there).keys() - spaces.keys():
            await target.catalog.retire_space(name)
