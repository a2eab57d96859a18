"""How collections are made in a Qdrant server or cluster, and what is told of those that are there."""

import asyncio
import math
from dataclasses import dataclass
from typing import Any, Literal

from unchunk.adapters.index.qdrant_nodes import Nodes
from unchunk.adapters.index.qdrant_points import DENSE, TERMS
from unchunk.adapters.index.spaces import check_kept
from unchunk.domain import Space
from unchunk.errors import (
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    UnchunkError,
)
from unchunk.telemetry import log

try:
    from qdrant_client import AsyncQdrantClient, models
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

Tenants = Literal["payload", "shards"]
Quantization = Literal["none", "scalar", "binary"]

_KEYWORD = models.PayloadSchemaType.KEYWORD
_FIELDS: dict[str, Any] = {
    "owner": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "document": _KEYWORD,
    "folder": _KEYWORD,
    "generation": models.PayloadSchemaType.INTEGER,
}
# So that a cluster can grow to twice its nodes by moving shards: their number stays as it is.
_SHARDS_OF_A_NODE = 2


@dataclass(frozen=True, slots=True)
class Making:
    """For collections yet to be made; 0 is what suits the cluster, as docs/scaling.md tells."""

    shards: int = 0
    replicas: int = 0
    write_consistency: int = 0
    tenants: Tenants = "payload"
    quantization: Quantization = "none"
    on_disk: bool = False


def made_as(quantization: str, tenants: str) -> tuple[Quantization, Tenants]:
    """Words of the settings as those that are known here."""
    known: dict[str, Quantization] = {"none": "none", "scalar": "scalar", "binary": "binary"}
    ways: dict[str, Tenants] = {"payload": "payload", "shards": "shards"}
    if quantization not in known:
        raise InvalidSettingError(
            f"there is no qdrant_quantization {quantization!r}: use none, scalar or binary"
        )
    if tenants not in ways:
        raise InvalidSettingError(f"there is no qdrant_tenants {tenants!r}: use payload or shards")
    return known[quantization], ways[tenants]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a collection is like, however it was made."""

    by_shards: bool
    quantization: Quantization
    shards: int
    replicas: int


async def ensure(nodes: Nodes, collection: str, space: Space, making: Making) -> Layout:
    if not await nodes.ask(lambda client: client.collection_exists(collection)):
        await _make(nodes, collection, space, making)
    info = await nodes.ask(lambda client: client.get_collection(collection))
    vectors: Any = info.config.params.vectors or {}
    check_kept(space, vectors[DENSE].size if DENSE in vectors else 0)
    by_shards = info.config.params.sharding_method == models.ShardingMethod.CUSTOM
    await asyncio.gather(
        *(
            _index(nodes, collection, field, by_shards=by_shards)
            for field in _FIELDS
            if field not in info.payload_schema
        )
    )
    for told in _differences(info, making):
        log("the collection %s has %s: it stays as it was made", collection, told)
    params = info.config.params
    return Layout(
        by_shards,
        _quantized(info),
        params.shard_number or 1,
        params.replication_factor or 1,
    )


async def _make(nodes: Nodes, collection: str, space: Space, making: Making) -> None:
    count = await nodes.ask(_peers)
    on_disk = making.on_disk or None
    dense = models.VectorParams(
        size=space.dimensions or 1, distance=models.Distance.COSINE, on_disk=on_disk
    )
    terms = models.SparseVectorParams(
        modifier=models.Modifier.IDF,
        index=models.SparseIndexParams(on_disk=True) if making.on_disk else None,
    )
    by_shards = making.tenants == "shards"
    wanted: dict[str, Any] = {
        "vectors_config": {DENSE: dense} if space.dimensions else {},
        "sparse_vectors_config": {TERMS: terms},
        # By shard key it is the number for each key.
        "shard_number": making.shards or (1 if by_shards else max(_SHARDS_OF_A_NODE * count, 1)),
        "sharding_method": models.ShardingMethod.CUSTOM if by_shards else None,
        "replication_factor": making.replicas or min(count, 2) or None,
        "write_consistency_factor": making.write_consistency or 1,
        "on_disk_payload": on_disk,
        "hnsw_config": models.HnswConfigDiff(on_disk=True) if making.on_disk else None,
        "quantization_config": _quantization(making.quantization),
        "timeout": math.ceil(nodes.timeout),
    }
    if not count and not by_shards:
        wanted["shard_number"] = making.shards or None
    try:
        await nodes.ask(lambda client: client.create_collection(collection, **wanted), writes=True)
    except UnchunkError:
        # Another process may have been quicker.
        if not await nodes.ask(lambda client: client.collection_exists(collection)):
            raise


async def _peers(client: AsyncQdrantClient) -> int:
    """How many nodes there are; 0 for a server that is no cluster."""
    status = await client.cluster_status()
    return len(getattr(status, "peers", None) or ())


async def _index(nodes: Nodes, collection: str, field: str, *, by_shards: bool) -> None:
    async def made(client: AsyncQdrantClient) -> object:
        return await client.create_payload_index(collection, field, _FIELDS[field], wait=True)

    try:
        await nodes.ask(made, writes=True)
    except InvalidInputError:
        # Noted for the shards to come, though it is said to be wrong while there is none.
        if not by_shards:
            raise


def _quantization(kind: Quantization) -> Any:  # noqa: ANN401 -- a union of theirs
    if kind == "scalar":
        scalar = models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=0.99, always_ram=True
        )
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _quantized(info: models.CollectionInfo) -> Quantization:
    config = info.config.quantization_config
    if isinstance(config, models.ScalarQuantization):
        return "scalar"
    return "binary" if isinstance(config, models.BinaryQuantization) else "none"


def _differences(info: models.CollectionInfo, making: Making) -> list[str]:
    """What was asked for, and is not so."""
    params = info.config.params
    vectors: Any = params.vectors or {}
    by_shards = params.sharding_method == models.ShardingMethod.CUSTOM
    on_disk = bool(vectors[DENSE].on_disk) if DENSE in vectors else making.on_disk
    pairs = (
        ("qdrant_shards", making.shards, params.shard_number),
        ("qdrant_replicas", making.replicas, params.replication_factor),
        ("qdrant_write_consistency", making.write_consistency, params.write_consistency_factor),
        ("qdrant_tenants", making.tenants, "shards" if by_shards else "payload"),
        ("qdrant_quantization", making.quantization, _quantized(info)),
        ("qdrant_on_disk", making.on_disk, on_disk),
    )
    return [
        f"{name}={there}, not {wanted}"
        for name, wanted, there in pairs
        # 0 asks for nothing.
        if wanted != there and (wanted or isinstance(wanted, bool))
    ]
