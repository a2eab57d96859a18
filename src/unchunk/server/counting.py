"""How many tokens a text has, as OpenAI's newer models count, remembered for whole documents."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from unchunk.text.tokens import get_encoding

_REMEMBERED = 100_000


class TokenCounter:
    """Counts in a thread: a long text takes a while."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, int] = OrderedDict()

    async def of_texts(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        return await asyncio.to_thread(_counts, texts)

    async def of_document(self, checksum: str, text: Callable[[], Awaitable[str]]) -> int:
        """`checksum` is that of the text, which is asked for only the first time."""
        known = self._known.get(checksum)
        if known is None:
            [known] = await self.of_texts([await text()])
            self._known[checksum] = known
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known


def _counts(texts: Sequence[str]) -> list[int]:
    encoding = get_encoding("cl100k_base")
    return [encoding.count(text) for text in texts]
