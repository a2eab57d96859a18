"""An embedder that remembers the questions of the last minutes."""

from collections.abc import Sequence

from unchunk.domain import EmbedderIdentity
from unchunk.ports import Embedder, Role, Vectors
from unchunk.retrieval.cache import TimedCache

_QUESTIONS, _SECONDS = 1000, 300.0


class RememberingEmbedder:
    """`Embedder` around another: a follow-up or the next page asks the same question again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: TimedCache[str, Vectors] = TimedCache(_QUESTIONS, _SECONDS)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if role != "query" or len(texts) != 1:
            return await self._embedder.embed(texts, role)
        # One that is not calibrated is asked anew: its next answer may show that it can be.
        known = self._known.get(texts[0]) if self.identity.min_score else None
        if known is None:
            known = await self._embedder.embed(texts, role)
            self._known.put(texts[0], known)
        return known

    async def close(self) -> None:
        await self._embedder.close()
