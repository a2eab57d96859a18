"""How much may be said of stores and files, as OpenAI has it; errors name its fields."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import isfinite
from typing import TypeGuard, TypeVar

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError
from unchunk.ports import Attribute

T = TypeVar("T")

_SMALLEST, _LARGEST = 100, 4096
_MOST_KEYS, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
_LONGEST_TEXTS = {"name": 1000, "description": 10_000, "filename": 1000, "purpose": 64}
_SHOWN_BITS = 64
_MOST_RESULTS, _MOST_QUERIES, _MOST_AT_ONCE = 50, 10, 2000
_STORE_LIFE = timedelta(days=1), timedelta(days=365)
_FILE_LIFE = timedelta(hours=1), timedelta(days=30)


def strategy(size: object, overlap: object) -> ChunkingStrategy:
    """A static strategy: 100 to 4096 tokens, of which at most half overlap."""
    size = chunk_size(size)
    if not _is_whole(overlap) or not 0 <= overlap <= size // 2:
        raise InvalidInputError(
            "chunk_overlap_tokens must be a whole number from 0 to half of max_chunk_size_tokens"
            f" ({size // 2}), not {told(overlap)}"
        )
    return ChunkingStrategy("tokens", size, overlap)


def chunk_size(size: object) -> int:
    if not _is_whole(size) or not _SMALLEST <= size <= _LARGEST:
        raise InvalidInputError(
            f"max_chunk_size_tokens must be a whole number from {_SMALLEST} to {_LARGEST}, not"
            f" {told(size)}"
        )
    return size


def results(wanted: int) -> int:
    """How many windows a search may give."""
    if not 0 < wanted <= _MOST_RESULTS:
        raise InvalidInputError(f"max_num_results must be from 1 to {_MOST_RESULTS}, not {wanted}")
    return wanted


def threshold(given: float) -> float:
    if not isfinite(given) or not 0 <= given <= 1:
        raise InvalidInputError(f"score_threshold must be from 0 to 1, not {given}")
    return given


def queries(given: Sequence[str]) -> Sequence[str]:
    if not 0 < len(given) <= _MOST_QUERIES or not all(one.strip() for one in given):
        raise InvalidInputError(
            f"query must be a question, or 1 to {_MOST_QUERIES} of them: none may be empty"
        )
    return given


def together(files: Sequence[T]) -> Sequence[T]:
    """Files that come into a store at once."""
    if not 0 < len(files) <= _MOST_AT_ONCE:
        raise InvalidInputError(
            f"{len(files)} files cannot be added at once: give 1 to {_MOST_AT_ONCE}"
        )
    return files


def attributes(given: object) -> dict[str, Attribute]:
    """What a file is said to have: texts, numbers and truths, under 16 names at most."""
    found = _pairs(given, "attributes")
    return {key: attribute(value, f"attributes.{key}") for key, value in found.items()}


def attribute(value: object, place: str) -> Attribute:
    """One value, as a file can have it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _short(value, place)
    if isinstance(value, (int, float)) and _is_finite(value):
        return value
    raise InvalidInputError(f"{place} must be a string, a number or a boolean, not {told(value)}")


def metadata(given: object) -> dict[str, str]:
    """What a store is said to be: texts under 16 names at most."""
    found = {}
    for key, value in _pairs(given, "metadata").items():
        if not isinstance(value, str):
            raise InvalidInputError(f"metadata.{key} must be a string, not {told(value)}")
        found[key] = _short(value, f"metadata.{key}")
    return found


def label(value: str, field: str) -> str:
    """A name, a description, a file name or a purpose that can be kept."""
    longest = _LONGEST_TEXTS[field]
    if len(value) > longest:
        raise InvalidInputError(f"{field} is longer than {longest} characters: shorten it")
    return _storable(value, field)


def store_life(given: timedelta | None) -> timedelta | None:
    if given is not None and not _STORE_LIFE[0] <= given <= _STORE_LIFE[1]:
        raise InvalidInputError("expires_after.days must be from 1 to 365")
    return given


def file_life(given: timedelta | None) -> timedelta | None:
    if given is not None and not _FILE_LIFE[0] <= given <= _FILE_LIFE[1]:
        raise InvalidInputError("expires_after.seconds must be from 3600 to 2592000")
    return given


def told(value: object) -> str:
    """A wrong value for a message: of large things, and of such as are nested, only the kind."""
    if value is None or isinstance(value, (str, bool, float)):
        return f"{value!r:.100}"
    is_small = isinstance(value, int) and value.bit_length() <= _SHOWN_BITS
    return repr(value) if is_small else f"a value of type {type(value).__name__}"


def _pairs(given: object, field: str) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{field} must be an object, not {type(given).__name__}")
    if len(given) > _MOST_KEYS:
        raise InvalidInputError(f"{field} has {len(given)} keys: at most {_MOST_KEYS} are allowed")
    for key in given:
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidInputError(
                f"{field} has the key {told(key)}: a key has 1 to {_LONGEST_KEY} characters"
            )
        _storable(key, field)
    return dict(given)


def _short(value: str, place: str) -> str:
    if len(value) > _LONGEST_VALUE:
        raise InvalidInputError(
            f"{place} has {len(value)} characters: at most {_LONGEST_VALUE} are allowed"
        )
    return _storable(value, place)


def _storable(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{place} has half a character (a lone surrogate)") from None
    return value


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number that is too large for any other
        return False


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
