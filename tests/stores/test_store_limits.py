"""What may be said of stores and files is as much as OpenAI allows, and errors name the field."""

from datetime import timedelta

import pytest

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError
from unchunk.stores import limits


@pytest.mark.parametrize(("size", "overlap"), [(100, 0), (100, 50), (4096, 2048), (801, 400)])
def test_a_strategy_within_bounds_is_taken(size: int, overlap: int) -> None:
    assert limits.strategy(size, overlap) == ChunkingStrategy("tokens", size, overlap)


@pytest.mark.parametrize(
    ("size", "overlap", "field"),
    [
        (99, 0, "max_chunk_size_tokens"),
        (4097, 0, "max_chunk_size_tokens"),
        (800.0, 0, "max_chunk_size_tokens"),
        (True, 0, "max_chunk_size_tokens"),
        (None, 0, "max_chunk_size_tokens"),
        (800, 401, "chunk_overlap_tokens"),
        (801, 401, "chunk_overlap_tokens"),
        (800, -1, "chunk_overlap_tokens"),
        (800, "1", "chunk_overlap_tokens"),
    ],
)
def test_a_strategy_out_of_bounds_is_refused_by_the_name_of_its_field(
    size: object, overlap: object, field: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"^{field} must be"):
        limits.strategy(size, overlap)


def test_attributes_within_bounds_are_kept_as_they_are() -> None:
    given = {"k" * 64: "v" * 512, "n": 1, "f": 0.5, "t": True, "e": ""}
    assert repr(limits.attributes(given)) == repr(given)
    assert len(limits.attributes({str(at): at for at in range(16)})) == 16


@pytest.mark.parametrize(
    "given",
    [
        {str(at): at for at in range(17)},
        {"k" * 65: 1},
        {"": 1},
        {1: 1},
        {"a": "v" * 513},
        {"a": None},
        {"a": [1]},
        {"a": float("inf")},
        {"a": 10**400},
        {"a": "\ud800"},
        {"\ud800": 1},
        ["a"],
    ],
)
def test_attributes_out_of_bounds_are_refused(given: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^attributes"):
        limits.attributes(given)


def test_metadata_are_texts() -> None:
    assert limits.metadata({"a": "v" * 512}) == {"a": "v" * 512}
    for given in ({"a": 1}, {"a": "v" * 513}, {str(at): "" for at in range(17)}, None):
        with pytest.raises(InvalidInputError, match=r"^metadata"):
            limits.metadata(given)


def test_names_are_bounded() -> None:
    assert limits.label("n" * 1000, "name") == "n" * 1000
    for given in ("n" * 1001, "\ud800"):
        with pytest.raises(InvalidInputError, match=r"^name"):
            limits.label(given, "name")


def test_times_to_live_are_bounded() -> None:
    assert limits.store_life(None) is None
    assert limits.store_life(timedelta(days=365)) == timedelta(days=365)
    assert limits.file_life(timedelta(hours=1)) == timedelta(hours=1)
    for life in (timedelta(hours=1), timedelta(days=366), timedelta(-1)):
        with pytest.raises(InvalidInputError, match=r"^expires_after.days"):
            limits.store_life(life)
    for life in (timedelta(minutes=59), timedelta(days=31)):
        with pytest.raises(InvalidInputError, match=r"^expires_after.seconds"):
            limits.file_life(life)
