"""An embedder whose calls are counted and timed, and which is known by how the last one ended."""

from collections.abc import Sequence

from unchunk.domain import EmbedderIdentity
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Embedder, Role, Vectors
from unchunk.telemetry import Fact, Telemetry

EMBEDDER = "embedder"


class WatchedEmbedder:
    """`Embedder` around another."""

    def __init__(self, embedder: Embedder, telemetry: Telemetry) -> None:
        self._embedder, self._telemetry = embedder, telemetry

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        facts: dict[str, Fact] = {"model": self.identity.name, "texts": len(texts), "role": role}
        try:
            with self._telemetry.stage(EMBEDDER, facts):
                vectors = await self._embedder.embed(texts, role)
        except (ProviderUnavailableError, ProviderRefusedError) as error:
            # A text that it does not take says nothing of it.
            if not getattr(error, "about_text", False):
                self._telemetry.failed(EMBEDDER, str(error))
            raise
        self._telemetry.worked(EMBEDDER)
        return vectors

    async def close(self) -> None:
        await self._embedder.close()
