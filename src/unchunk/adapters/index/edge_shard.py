"""Qdrant Edge as the child process uses it: blocking, one folder, plain values in and out.

Its calls hold the interpreter while they work, so nothing else runs in that process.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

import qdrant_edge as engine

from unchunk.adapters.index.wire import Batch, Found, Query, Version, floats, integers, unpack_ids

# Up to here rows are scanned: that takes 4 ms, is exact, and building a graph for fewer takes
# longer than it ever saves.
SCANNED_KILOBYTES = 64_000
# No segment grows larger, so that to optimize new rows is not to build everything anew.
_SEGMENT_KILOBYTES = 200_000
_ALL = 2**31 - 1
_DENSE, _TERMS = "dense", "terms"


class Shard:
    def __init__(self, engine_shard: engine.EdgeShard) -> None:
        self._shard = engine_shard

    @classmethod
    def create(cls, folder: Path, dimensions: int) -> "Shard":
        """An empty one; without vectors for 0 dimensions."""
        folder.mkdir(parents=True)
        dense = engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Cosine)
        terms = engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)
        shard = engine.EdgeShard.create(
            str(folder),
            engine.EdgeConfig(
                vectors={_DENSE: dense} if dimensions else None,
                sparse_vectors={_TERMS: terms},
                optimizers=engine.EdgeOptimizersConfig(
                    indexing_threshold=SCANNED_KILOBYTES, max_segment_size=_SEGMENT_KILOBYTES
                ),
            ),
        )
        for field in ("owner", "document", "folder"):
            # Only owners are worth links of their own in the graph: what a document or a
            # folder holds is few enough to be scanned.
            keyword = engine.KeywordIndexParams(enable_hnsw=field == "owner")
            shard.update(engine.UpdateOperation.create_field_index(field, keyword))
        integer = engine.IntegerIndexParams(lookup=True, range=False, enable_hnsw=False)
        shard.update(engine.UpdateOperation.create_field_index("generation", integer))
        shard.flush()
        return cls(shard)

    @classmethod
    def load(cls, folder: Path) -> "Shard":
        return cls(engine.EdgeShard.load(str(folder)))

    def close(self) -> None:
        self._shard.close()

    def flush(self) -> None:
        # Whoever loads a shard does the last update in its log again: let that be nothing to do.
        self._shard.update(engine.UpdateOperation.delete_points([]))
        self._shard.flush()

    def optimize(self) -> None:
        self._shard.optimize()

    def count(self) -> int:
        return int(self._shard.info().points_count)

    def upsert(self, batch: Batch) -> None:
        self.put(list(engine_points(batch)))

    def put(self, points: list[engine.Point]) -> None:
        self._shard.update(engine.UpdateOperation.upsert_points(points))

    def delete(self, document: str, generations: Sequence[int] | None) -> int:
        """Take them out, and tell how many there were."""
        chosen: list[Any] = [_any("document", [document])]
        if generations is not None:
            chosen.append(_any("generation", list(generations)))
        these = engine.Filter(must=chosen)
        count = int(self._shard.count(engine.CountRequest(exact=True, filter=these)))
        if count:
            self._shard.update(engine.UpdateOperation.delete_points_by_filter(these))
        return count

    def search(self, query: Query) -> Found:
        if query.vector is None:
            sparse = engine.SparseVector(list(query.term_ids), list(query.weights))
            nearest = engine.Query.Nearest(sparse, using=_TERMS)
        else:
            nearest = engine.Query.Nearest(query.vector, using=_DENSE)
        request = engine.QueryRequest(
            query=nearest, limit=query.limit, with_payload=True, filter=_filter(query)
        )
        hits = self._shard.query(request)
        notes: list[dict[str, Any]] = [hit.payload or {} for hit in hits]
        return Found(
            [note["owner"] for note in notes],
            [note["document"] for note in notes],
            [note["generation"] for note in notes],
            [note["chunk_index"] for note in notes],
            [hit.score for hit in hits],
        )

    def fetch(self, ids: bytes, dimensions: int) -> tuple[list[int], bytearray]:
        """Which of the ids are there, and their vectors in the same order."""
        wanted: list[Any] = [*unpack_ids(ids)]
        # By position: by name it is refused, whatever the stubs say.
        records = self._shard.retrieve(wanted, False, [_DENSE] if dimensions else False)
        found: dict[Any, Any] = {record.id: record.vector for record in records}
        there = [at for at, point in enumerate(wanted) if point in found]
        if not dimensions:
            return there, bytearray()
        # Five times as fast as an array that is made of numbers one by one.
        row = Struct(f"{dimensions}f")
        rows = [row.pack(*found[wanted[at]][_DENSE]) for at in there]
        return there, bytearray().join(rows)

    def census(self, document: str | None) -> dict[Version, int]:
        """One pass over the rows for each generation there is, and they are few."""
        only = [] if document is None else [_any("document", [document])]
        counts: dict[Version, int] = {}
        for generation in self._facet("generation", only):
            these = [*only, _any("generation", [generation])]
            for name, count in self._facet("document", these).items():
                counts[str(name), int(generation)] = count
        return counts

    def copy_document(self, document: str, target: "Shard") -> int:
        """Make a document in `target` what it is here, and tell how many chunks it has."""
        target.delete(document, None)
        these = engine.Filter(must=[_any("document", [document])])
        offset: Any = None
        count = 0
        while True:
            records, offset = self._shard.scroll(
                engine.ScrollRequest(
                    offset=offset, limit=256, filter=these, with_payload=True, with_vector=True
                )
            )
            points = [
                engine.Point(record.id, record.vector or {}, record.payload) for record in records
            ]
            if points:
                target.put(points)
            count += len(points)
            if offset is None:
                return count

    def _facet(self, field: str, chosen: list[Any]) -> dict[Any, int]:
        request = engine.FacetRequest(
            key=field, limit=_ALL, exact=True, filter=engine.Filter(must=chosen) if chosen else None
        )
        return {hit.value: hit.count for hit in self._shard.facet(request).hits}


def engine_points(batch: Batch) -> Iterator[engine.Point]:
    term_ids: Any = integers(batch.term_ids)
    weights: Any = floats(batch.weights)  # tolist() is typed as if all were integers
    dense = floats(batch.vectors)
    size = len(dense) // max(len(batch.owners), 1)
    begin = 0
    for at, (point, end) in enumerate(zip(unpack_ids(batch.ids), batch.ends, strict=True)):
        vectors: dict[str, Any] = {}
        if size:
            vectors[_DENSE] = dense[at * size : (at + 1) * size].tolist()
        if end > begin:
            vectors[_TERMS] = engine.SparseVector(
                term_ids[begin:end].tolist(), weights[begin:end].tolist()
            )
        begin = end
        yield engine.Point(
            point,
            vectors,
            {
                "owner": batch.owners[at],
                "document": batch.documents[at],
                "folder": batch.folders[at],
                "generation": batch.generations[at],
                "chunk_index": batch.chunk_indices[at],
            },
        )


def _filter(within: Query) -> engine.Filter:
    chosen: list[Any] = [_any("owner", [within.owner])]
    if within.documents is not None:
        chosen.append(_any("document", list(within.documents)))
    if within.folders is not None:
        chosen.append(_any("folder", list(within.folders)))
    return engine.Filter(must=chosen)


def _any(field: str, values: list[Any]) -> engine.FieldCondition:
    match = engine.MatchValue(values[0]) if len(values) == 1 else engine.MatchAny(values)
    return engine.FieldCondition(key=field, match=match)
