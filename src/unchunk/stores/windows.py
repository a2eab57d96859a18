"""Which window of a document shows what was found; where they lie is remembered for a while."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Set as AbstractSet

from unchunk.domain import ChunkingStrategy, DocumentId, Version
from unchunk.ports import Catalog
from unchunk.text.token_windows import TokenWindows, token_windows
from unchunk.text.tokens import get_encoding

# In windows, each of which takes sixteen bytes.
_KEPT = 2_000_000
_WORD = re.compile(r"\w+")


def words_of(text: str) -> AbstractSet[str]:
    return frozenset(_WORD.findall(text.casefold()))


def best_window(
    windows: TokenWindows, start: int, found: str, asked: AbstractSet[str]
) -> int | None:
    """The window that shows most of what was `found`, which begins at `start`.

    That is the one that holds most of it. Where windows are smaller than that, the words that
    were `asked` for decide between those that hold about as much of it as any. None if it is not
    in this text at all.
    """
    end = start + len(found)
    held = {
        at: min(windows.ends[at], end) - max(windows.begins[at], start)
        for at in windows.touching(start, end)
    }
    most = max(held.values(), default=0)

    def worth(at: int) -> tuple[int, int, int]:
        begin, stop = windows.begins[at], windows.ends[at]
        part = found[max(begin - start, 0) : stop - start]
        # Of several that hold all of it, the one that it is amid.
        return len(asked & words_of(part)), held[at], -abs(begin + stop - start - end)

    return max((at for at in held if 2 * held[at] >= most), key=worth, default=None)


class WindowCache:
    """The windows of documents that were asked for lately: to find them costs the whole text."""

    def __init__(self, catalog: Catalog, kept: int = _KEPT) -> None:
        self._catalog, self._most, self._held = catalog, kept, 0
        self._kept: OrderedDict[tuple[DocumentId, int, ChunkingStrategy], TokenWindows]
        self._kept = OrderedDict()

    async def of(self, version: Version, strategy: ChunkingStrategy) -> TokenWindows:
        """Raises `NotFoundError` if that version is no more."""
        key = (version.document, version.generation, strategy)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        text = await self._catalog.text(version)
        found = await asyncio.to_thread(
            token_windows,
            get_encoding(strategy.encoding),
            text,
            strategy.size,
            strategy.overlap,
        )
        if key not in self._kept:
            self._kept[key] = found
            self._held += len(found) + 1
        while self._held > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._held -= len(oldest) + 1
        return found
