"""Points and hits as columns: cheap to send to another process, where a list of objects is not."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from unchunk.adapters.index.spaces import check_texts, matrix
from unchunk.domain import ChunkKey, Space
from unchunk.ports import Point, Vectors


class Batch(NamedTuple):
    """`ends[i]` is where the terms of point i end; they begin where those of the last one did."""

    ids: bytes
    owners: list[str]
    documents: list[str]
    generations: list[int]
    chunk_indices: list[int]
    folders: list[str]
    vectors: Vectors
    ends: list[int]
    term_ids: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]


class Found(NamedTuple):
    """Hits as columns, best first."""

    owners: list[str]
    documents: list[str]
    generations: list[int]
    chunk_indices: list[int]
    scores: list[float]


def pack(points: Sequence[Point], space: Space) -> Batch:
    keys = [point.key for point in points]
    terms = [point.terms for point in points]
    return Batch(
        pack_ids(keys),
        [key.owner for key in keys],
        [key.document for key in keys],
        [key.generation for key in keys],
        [key.chunk_index for key in keys],
        [point.folder for point in points],
        matrix(points, space),
        np.cumsum([len(each.ids) for each in terms]).tolist(),
        np.fromiter(chain.from_iterable(each.ids for each in terms), np.uint32),
        np.fromiter(chain.from_iterable(each.weights for each in terms), np.float32),
    )


def pack_ids(keys: Sequence[ChunkKey]) -> bytes:
    check_texts(*{name for key in keys for name in key[:2]})
    return b"".join([key.id.bytes for key in keys])


def unpack_ids(ids: bytes) -> list[UUID]:
    return [UUID(bytes=ids[at : at + 16]) for at in range(0, len(ids), 16)]
