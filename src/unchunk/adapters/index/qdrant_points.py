"""Chunks as the points of a Qdrant collection, and back. Knows nothing of any connection."""

from collections.abc import Mapping
from typing import Any

from unchunk.domain import ChunkKey, Terms, Within
from unchunk.errors import MissingPartError
from unchunk.ports import Point, Vectors

try:
    from qdrant_client import models
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

DENSE, TERMS = "dense", "terms"
# What has to come back with a hit: its owner is who asks.
PLACE = ["document", "generation", "chunk_index"]


def struct(point: Point, row: Vectors) -> models.PointStruct:
    vectors: dict[str, Any] = {DENSE: row.tolist()} if row.size else {}
    if point.terms.ids:
        vectors[TERMS] = sparse(point.terms)
    note = dict(zip(ChunkKey._fields, point.key, strict=True))
    return models.PointStruct(
        id=str(point.key.id), vector=vectors, payload=note | {"folder": point.folder}
    )


def sparse(terms: Terms) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.ids), values=list(terms.weights))


def key_of(owner: str, note: Mapping[str, Any]) -> ChunkKey:
    return ChunkKey(owner, note["document"], note["generation"], note["chunk_index"])


def filter_of(within: Within) -> models.Filter:
    chosen: list[Any] = [any_of("owner", [within.owner])]
    if within.documents is not None:
        chosen.append(any_of("document", list(within.documents)))
    if within.folders is not None:
        chosen.append(any_of("folder", list(within.folders)))
    return models.Filter(must=chosen)


def any_of(field: str, values: list[Any]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=values))
