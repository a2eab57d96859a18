"""What spaces are called."""

import json

from unchunk.domain import Chunking, ChunkingStrategy, EmbedderIdentity
from unchunk.library.recipes import Wanted, elsewhere, name_of, recipe_of
from unchunk.ports import ACTIVE, SPACE

IDENTITY = EmbedderIdentity("hashing", 256, 512)
WANTED = Wanted("hashing", Chunking(ChunkingStrategy("chars", 100, 0)), "edge", "english")
OTHERWISE = Wanted("hashing", WANTED.chunking, "edge", "english", "qdrant_shards=3")
FIRST = name_of(IDENTITY, WANTED, {})
PLAIN = json.dumps(recipe_of(IDENTITY, WANTED, None))
SHARDED = json.dumps(recipe_of(IDENTITY, OTHERWISE, None))


def test_the_first_has_no_number_and_one_that_there_is_keeps_its_name() -> None:
    assert FIRST.isalnum()
    assert name_of(IDENTITY, WANTED, {SPACE + FIRST: PLAIN}) == FIRST
    assert "making" not in PLAIN


def test_after_one_that_was_retired_comes_the_next_number() -> None:
    notes = {SPACE + FIRST: "", f"{SPACE}{FIRST}-1": "", f"{SPACE}{FIRST}-x": "", SPACE + "b": ""}
    assert name_of(IDENTITY, WANTED, notes) == f"{FIRST}-2"
    notes[f"{SPACE}{FIRST}-2"] = PLAIN
    assert name_of(IDENTITY, WANTED, notes) == f"{FIRST}-2"
    notes[f"{SPACE}{FIRST}-9"] = ""
    assert name_of(IDENTITY, WANTED, notes) == f"{FIRST}-2"


def test_one_that_is_to_be_made_otherwise_is_another_one() -> None:
    notes = {SPACE + FIRST: PLAIN, ACTIVE: FIRST}
    assert name_of(IDENTITY, OTHERWISE, notes) == f"{FIRST}-1"
    assert name_of(IDENTITY, OTHERWISE, notes, as_made=True) == FIRST
    both = notes | {f"{SPACE}{FIRST}-1": SHARDED}
    assert name_of(IDENTITY, OTHERWISE, both) == f"{FIRST}-1"
    assert name_of(IDENTITY, WANTED, both) == FIRST


def test_what_is_moved_gets_no_name_that_was_retired_over_there() -> None:
    recipe = json.loads(SHARDED)
    assert elsewhere(recipe, WANTED, {}) == (FIRST, json.loads(PLAIN))
    retired = {SPACE + FIRST: ""}
    assert elsewhere(recipe, WANTED, retired) == (f"{FIRST}-1", json.loads(PLAIN))
    # As it was made there it stays.
    there = {SPACE + FIRST: SHARDED, ACTIVE: FIRST}
    assert elsewhere(json.loads(PLAIN), WANTED, there) == (FIRST, recipe)
