"""What the engines ask of a space before they keep it under its name."""

import re
from collections.abc import Sequence

import numpy as np

from unchunk.domain import ChunkKey, Space, Terms, Within
from unchunk.errors import InvalidInputError, MigrationNeededError
from unchunk.ports import Point, Vectors

# What is a folder on every system, and a collection in every engine.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a space: use up to 100 of A-Z a-z 0-9 . _ -, "
            "with a letter or a digit at both ends"
        )
    return name


def check_kept(space: Space, dimensions: int) -> None:
    """Refuse to open what was made for vectors of another length."""
    if dimensions != space.dimensions:
        raise MigrationNeededError(
            f"the index {space.name!r} holds vectors of {dimensions} dimensions, not of "
            f"{space.dimensions}: index the library anew for this embedder"
        )


def checked_query(query: Vectors | Terms, within: Within, space: Space) -> Vectors | Terms:
    check_texts(within.owner, *(within.documents or ()), *(within.folders or ()))
    if isinstance(query, Terms):
        return query
    if not space.dimensions:
        raise InvalidInputError(f"the index {space.name!r} holds terms only, no vectors")
    row: Vectors = _checked(np.asarray(query, np.float32).reshape(1, -1), space)[0]
    return row


def finds_nothing(query: Vectors | Terms, within: Within, limit: int) -> bool:
    """Whether the answer is known without a search."""
    nothing = isinstance(query, Terms) and not query.ids
    return nothing or limit < 1 or within.documents == () or within.folders == ()


def check_texts(*texts: str) -> None:
    """Refuse what no engine can keep: a lone half of a surrogate pair is no text."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"an owner, a document or a folder is not valid text: {error}"
        ) from error


def keys_by_id(keys: Sequence[ChunkKey]) -> dict[str, ChunkKey]:
    check_texts(*{name for key in keys for name in (key.owner, key.document)})
    return {str(key.id): key for key in keys}


def matrix(points: Sequence[Point], space: Space) -> Vectors:
    """The vectors of points, one to a row; none for a space without."""
    check_texts(*{name for each in points for name in (*each.key[:2], each.folder)})
    if not (points and space.dimensions):
        return np.empty((len(points), 0), np.float32)
    try:
        rows = np.asarray([point.vector for point in points], np.float32)
    except ValueError as error:
        raise InvalidInputError(f"vectors for {space.name!r} differ in length") from error
    return _checked(rows.reshape(len(points), -1), space)


def _checked(rows: Vectors, space: Space) -> Vectors:
    if rows.shape[1] != space.dimensions:
        raise InvalidInputError(
            f"the index {space.name!r} takes vectors of {space.dimensions} dimensions, "
            f"not of {rows.shape[1]}"
        )
    if not np.isfinite(rows).all():
        raise InvalidInputError(f"a vector for {space.name!r} has a value that is not a number")
    return rows
