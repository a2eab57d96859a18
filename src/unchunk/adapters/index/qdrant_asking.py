"""One request with several searches, read without the client's own types: those cost as much CPU
as the search itself.
"""

from collections.abc import Sequence

from unchunk.adapters.index.qdrant_points import key_of
from unchunk.domain import ChunkKey, Scored
from unchunk.errors import MissingPartError

try:
    from qdrant_client import AsyncQdrantClient, grpc, models
    from qdrant_client.conversions.conversion import RestToGrpc
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing


async def found(
    client: AsyncQdrantClient,
    collection: str,
    requests: Sequence[models.QueryRequest],
    owner: str,
    seconds: int,
) -> list[list[Scored]]:
    """Hits of `owner`, for each of the requests."""
    if not client.init_options["prefer_grpc"]:
        replies = await client.query_batch_points(collection, requests, timeout=seconds)
        return [
            [Scored(key_of(owner, hit.payload or {}), hit.score) for hit in reply.points]
            for reply in replies
        ]
    asked = [RestToGrpc.convert_query_request(one, collection) for one in requests]
    batch = grpc.QueryBatchPoints(collection_name=collection, query_points=asked, timeout=seconds)
    told = await client.grpc_points.QueryBatch(batch, timeout=seconds)
    return [[_scored(owner, hit) for hit in one.result] for one in told.result]


def _scored(owner: str, hit: grpc.ScoredPoint) -> Scored:
    note = hit.payload
    key = ChunkKey(
        owner,
        note["document"].string_value,
        note["generation"].integer_value,
        note["chunk_index"].integer_value,
    )
    return Scored(key, hit.score)
