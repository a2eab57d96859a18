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
        """Whether any node that answers knows it: one may be behind the others."""
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
        """All shards by name, as any node knows them; None where they have no names."""
        if not self._layout.by_shards:
            return None
        self._known |= await self._there()
        return sorted(self._known)

    async def _there(self) -> set[str]:
        infos = await self._nodes.ask_all(
            lambda client: client.collection_cluster_info(self._collection)
        )
        shards: list[Any] = [it for one in infos for it in (*one.local_shards, *one.remote_shards)]
        return {str(one.shard_key) for one in shards if one.shard_key is not None}
