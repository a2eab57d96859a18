"""Points and queries of ours as the child takes them."""

from collections.abc import Sequence
from itertools import chain
from pickle import PickleBuffer
from typing import Any

import numpy as np
import numpy.typing as npt

from unchunk.adapters.index.spaces import check_texts, matrix
from unchunk.adapters.index.wire import Batch, Query
from unchunk.domain import ChunkKey, Space, Terms, Within
from unchunk.ports import Point, Vectors


def pack(points: Sequence[Point], space: Space) -> Batch:
    keys = [point.key for point in points]
    terms = [point.terms for point in points]
    rows = np.ascontiguousarray(matrix(points, space))
    term_ids = np.fromiter(chain.from_iterable(each.ids for each in terms), np.uint32)
    weights = np.fromiter(chain.from_iterable(each.weights for each in terms), np.float32)
    return Batch(
        pack_ids(keys),
        [key.owner for key in keys],
        [key.document for key in keys],
        [key.generation for key in keys],
        [key.chunk_index for key in keys],
        [point.folder for point in points],
        _aside(rows),
        np.cumsum([len(each.ids) for each in terms]).tolist(),
        _aside(term_ids),
        _aside(weights),
    )


def _aside(array: npt.NDArray[Any]) -> PickleBuffer:
    """Of the array itself: a view between the two may be collected before what hangs on it, which
    crashes the interpreter.
    """
    return PickleBuffer(array)  # type: ignore[arg-type]  # numpy tells so from Python 3.12 on


def pack_ids(keys: Sequence[ChunkKey]) -> bytes:
    check_texts(*{name for key in keys for name in key[:2]})
    return b"".join([key.id_bytes for key in keys])


def pack_query(query: Vectors | Terms, within: Within, limit: int) -> Query:
    if isinstance(query, Terms):
        return Query(None, query.ids, query.weights, *within, limit)
    return Query(query.tolist(), (), (), *within, limit)
