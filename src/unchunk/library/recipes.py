"""What a library notes of its spaces: how each was made, and which one is in use."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from unchunk.domain import Chunking, ChunkingStrategy, EmbedderIdentity
from unchunk.ports import SPACE

ACTIVE: Final = "active space"
CHUNKING: Final = "chunking"
KEYS: Final = (ACTIVE, CHUNKING, SPACE)
"""How the keys of these notes begin."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings ask for; `embedder` and `index` as they name them."""

    embedder: str
    chunking: Chunking
    index: str
    language: str


def kind_of(index: str) -> str:
    """The kind of index: where a server of that kind is, may change."""
    return index.partition(":")[0]


def without_password(index: str) -> str:
    """As it is noted: for an index of the same kind the settings have all that is needed."""
    named = re.sub(r"(://[^/?#,@:]*):[^,]*@", r"\1@", index)
    return re.sub(r"(?<=[?&])password=[^&,]*&?", "", named).rstrip("?&")


def name_of(identity: EmbedderIdentity, wanted: Wanted) -> str:
    parts = (identity.fingerprint, kind_of(wanted.index), wanted.language)
    return sha256(repr(parts).encode()).hexdigest()[:16]


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


def elsewhere(recipe: Mapping[str, str], index: str) -> tuple[str, dict[str, str]]:
    """The name and the recipe of a space in another index, with the same vectors."""
    identity = EmbedderIdentity(**json.loads(recipe["identity"]))
    chunking = Chunking(ChunkingStrategy("chars", 1, 0))  # a name does not depend on it
    wanted = Wanted(recipe["embedder"], chunking, index, recipe["language"])
    return name_of(identity, wanted), {**recipe, "index": without_password(index)}


def notes_of_spaces(
    notes: Mapping[str, str], renamed: Mapping[str, tuple[str, dict[str, str]]]
) -> dict[str, str]:
    """What a library notes that has the spaces of another one, under other names."""
    name, _ = renamed[notes[ACTIVE]]
    said = {SPACE + name: json.dumps(recipe) for name, recipe in renamed.values()}
    return said | {CHUNKING: notes[CHUNKING], ACTIVE: name}
