"""A shard of its own for each owner, where a collection is made so."""

from typing import Any

from unchunk.adapters.index.qdrant_collections import Layout
from unchunk.adapters.index.qdrant_nodes import Nodes
from unchunk.errors import UnchunkError


class Tenancy:
    """Which shard is whose; None where owners are told apart by payload alone."""

    def __init__(self, nodes: Nodes, collection: str, layout: Layout) -> None:
        self._nodes = nodes
        self._collection = collection
        self._layout = layout
        self._known: set[str] = set()

    def shard(self, owner: str) -> str | None:
        return owner if self._layout.by_shards else None

    async def exists(self, shard: str | None) -> bool:
        if shard is not None and shard not in self._known:
            self._known |= await self._there()
        return shard is None or shard in self._known

    async def ensure(self, shard: str | None) -> None:
        if shard is None or await self.exists(shard):
            return
        call: Any = lambda client: client.create_shard_key(  # noqa: E731 -- a call of theirs
            self._collection,
            shard,
            shards_number=self._layout.shards,
            replication_factor=self._layout.replicas,
        )
        try:
            await self._nodes.ask(call, writes=True)
        except UnchunkError:
            # Another process may have been quicker.
            if not await self.exists(shard):
                raise
        self._known.add(shard)

    async def every(self) -> list[str] | None:
        """All shards by name, as they are now; None where they have no names."""
        return sorted(await self._there()) if self._layout.by_shards else None

    async def _there(self) -> set[str]:
        info = await self._nodes.ask(
            lambda client: client.collection_cluster_info(self._collection)
        )
        both: list[Any] = [*info.local_shards, *info.remote_shards]
        return {str(one.shard_key) for one in both if one.shard_key is not None}
