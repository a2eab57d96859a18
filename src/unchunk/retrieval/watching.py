"""A reranker whose calls are timed, and part of a trace."""

from collections.abc import Sequence

from unchunk.ports import Reranker
from unchunk.telemetry import Telemetry


class WatchedReranker:
    """`Reranker` around another."""

    def __init__(self, reranker: Reranker, telemetry: Telemetry) -> None:
        self._reranker, self._telemetry = reranker, telemetry

    @property
    def name(self) -> str:
        return self._reranker.name

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        with self._telemetry.stage("rerank", {"model": self.name, "texts": len(texts)}):
            return await self._reranker.rerank(question, texts)

    async def close(self) -> None:
        await self._reranker.close()
