"""What a library notes of its spaces: how each was made, and which one is in use.

A name is used once: a space that is made again, after it was retired, has the next number behind
it. So whoever is late drops an index of a name that nobody uses any more.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Final

from unchunk.domain import Chunking, ChunkingStrategy, EmbedderIdentity
from unchunk.ports import ACTIVE, SPACE

CHUNKING: Final = "chunking"
KEYS: Final = (ACTIVE, CHUNKING, SPACE)
"""How the keys of these notes begin."""
_MAKING = "making"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings ask for; `embedder` and `index` as they name them.

    `making` is what else they say of how an index is made: one that is there stays as it is, until
    all is migrated.
    """

    embedder: str
    chunking: Chunking
    index: str
    language: str
    making: str = ""


def kind_of(index: str) -> str:
    """The kind of index: where a server of that kind is, may change."""
    return index.partition(":")[0]


def without_password(index: str) -> str:
    """As it is noted: for an index of the same kind the settings have all that is needed."""
    named = re.sub(r"(://[^/?#,@:]*):[^,]*@", r"\1@", index)
    return re.sub(r"(?<=[?&])password=[^&,]*&?", "", named).rstrip("?&")


def name_of(
    identity: EmbedderIdentity, wanted: Wanted, notes: Mapping[str, str], *, as_made: bool = False
) -> str:
    """Of the space that is wanted: one that there is, or the next that there never was.

    `as_made` takes one that there is however it was made.
    """
    parts = (identity.fingerprint, kind_of(wanted.index), wanted.language)
    first = sha256(repr(parts).encode()).hexdigest()[:16]
    numbers = {
        int(number or 0): value
        for key, value in notes.items()
        if key.startswith(SPACE)
        for name, _, number in [key.removeprefix(SPACE).partition("-")]
        if name == first and (number.isdecimal() or not number)
    }
    suits = [
        _numbered(first, number)
        for number, recipe in sorted(numbers.items())
        if recipe and (as_made or json.loads(recipe).get(_MAKING, "") == wanted.making)
    ]
    if notes.get(ACTIVE) in suits:
        return notes[ACTIVE]
    return suits[-1] if suits else _numbered(first, max(numbers, default=-1) + 1)


def _numbered(first: str, number: int) -> str:
    return f"{first}-{number}" if number else first


def recipe_of(identity: EmbedderIdentity, wanted: Wanted, noted: str | None) -> dict[str, str]:
    """What is noted of a space that is wanted; `noted` is what was, if there is one."""
    making = json.loads(noted).get(_MAKING, "") if noted else wanted.making
    recipe = {
        "embedder": wanted.embedder,
        "index": without_password(wanted.index),
        "language": wanted.language,
        "identity": json.dumps(asdict(identity)),
    }
    return recipe | ({_MAKING: making} if making else {})


def chunking_in(value: str) -> Chunking:
    record = json.loads(value)
    return Chunking(ChunkingStrategy(**record["strategy"]), record["boundaries"])


def noted_spaces(notes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What a library notes of its spaces, by name: how each was made. None for a fresh one."""
    return {
        key.removeprefix(SPACE): json.loads(value)
        for key, value in notes.items()
        if key.startswith(SPACE) and value
    }


def retired_spaces(notes: Mapping[str, str]) -> set[str]:
    """Names that nobody uses any more."""
    return {
        key.removeprefix(SPACE) for key, it in notes.items() if key.startswith(SPACE) and not it
    }


def elsewhere(
    recipe: Mapping[str, str], wanted: Wanted, there: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """The name and the recipe of a space with the same vectors in another library, which notes
    what is `there`.
    """
    identity = EmbedderIdentity(**json.loads(recipe["identity"]))
    same = replace(wanted, embedder=recipe["embedder"], language=recipe["language"])
    name = name_of(identity, same, there, as_made=True)
    return name, recipe_of(identity, same, there.get(SPACE + name))
