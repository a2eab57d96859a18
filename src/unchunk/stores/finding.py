"""What a store's files say to a question: the library's own search, shown as the store cuts."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from math import isfinite

from unchunk.domain import DocumentId, OwnerId, Version
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Attribute, Catalog, StoreFile, StoreId
from unchunk.retrieval.amount import MOST
from unchunk.retrieval.shelf import MovedError, Where
from unchunk.retrieval.snippets import Hit, settled
from unchunk.stores.filters import Filter, matches
from unchunk.stores.parts import Library, StoreParts
from unchunk.stores.register import used
from unchunk.stores.windows import WindowCache, best_window, words_of
from unchunk.telemetry import log
from unchunk.text.token_windows import TokenWindows

_MOST_HITS, _MOST_QUERIES = 50, 10
# How many chunks are asked for at first for each window that is wanted: some share one.
_SPARE = 3


@dataclass(frozen=True, slots=True)
class StoreHit:
    """A window that was found; `text` is the one of that index in the file's content.

    Scores are between 0 and 1, and never rise down a list.
    """

    document: DocumentId
    filename: str
    score: float
    attributes: Mapping[str, Attribute] = field(hash=False)
    text: str
    window_index: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """`files` are those that may be found."""

    files: Mapping[DocumentId, StoreFile]
    limit: int
    threshold: float
    owner: OwnerId


class Finding:
    """The part of the room that searches."""

    _catalog: Catalog
    _library: Library
    _parts: StoreParts
    _windows: WindowCache

    async def documents(
        self, stores: Sequence[StoreId], filters: Filter | None = None, *, owner: OwnerId
    ) -> tuple[DocumentId, ...]:
        """Documents in any of the stores that can be searched and are as the filter says."""
        # In one order: what a search finds is remembered by where it looked.
        return tuple(sorted(await self._files(stores, filters, owner)))

    async def search(
        self,
        store: StoreId,
        queries: Sequence[str],
        *,
        filters: Filter | None = None,
        limit: int = 10,
        threshold: float = 0.0,
        owner: OwnerId,
    ) -> list[StoreHit]:
        """The windows that answer best, each once, by its best score for any of the queries."""
        if not 0 < limit <= _MOST_HITS:
            raise InvalidInputError(f"max_num_results must be from 1 to {_MOST_HITS}, not {limit}")
        if not isfinite(threshold) or not 0 <= threshold <= 1:
            raise InvalidInputError(f"score_threshold must be from 0 to 1, not {threshold}")
        if not 0 < len(queries) <= _MOST_QUERIES or not all(one.strip() for one in queries):
            raise InvalidInputError(
                f"query must be a question, or 1 to {_MOST_QUERIES} of them: none may be empty"
            )
        files = await self._files([store], filters, owner)
        if not files:
            return []
        asked = _Asked(files, limit, threshold, owner)
        best: dict[tuple[DocumentId, int], StoreHit] = {}
        for query in queries:
            for hit in await settled(partial(self._ask, query, asked)):
                place = hit.document, hit.window_index
                if place not in best or best[place].score < hit.score:
                    best[place] = hit
        return sorted(best.values(), key=lambda hit: -hit.score)[:limit]

    async def _files(
        self, stores: Sequence[StoreId], filters: Filter | None, owner: OwnerId
    ) -> dict[DocumentId, StoreFile]:
        """The files of stores that are as the filter says."""
        for store in stores:
            await used(self._parts, store, owner)
        found = await self._parts.members.live(owner, stores) if stores else []
        return {
            one.document: one
            for one in found
            if filters is None or matches(filters, one.attributes)
        }

    async def _ask(self, query: str, asked: _Asked) -> list[StoreHit]:
        """The windows for one query. Raises `MovedError` if a document changed meanwhile."""
        where, wanted = Where(documents=tuple(asked.files)), asked.limit * _SPARE
        while True:
            found = await self._library.search(query, limit=wanted, where=where, owner=asked.owner)
            shown = await self._shown(found.hits, words_of(query), asked)
            is_all = len(found.hits) < wanted or wanted >= MOST
            is_enough = len(shown) >= asked.limit or (
                bool(found.hits) and found.hits[-1].score < asked.threshold
            )
            if is_all or is_enough:
                break
            wanted = min(wanted * 4, MOST)
        for note in found.notes:
            log("a search in a vector store: %s", note)
        return shown

    async def _shown(
        self, hits: Sequence[Hit], words: AbstractSet[str], asked: _Asked
    ) -> list[StoreHit]:
        """Hits as windows, each once, as many as are wanted."""
        known = await self._parts.notes.get(asked.owner, list({hit.document: 0 for hit in hits}))
        now, shown = self._parts.clock(), dict[tuple[DocumentId, int], StoreHit]()
        for hit, score in zip(hits, _scores(hits), strict=True):
            if score < asked.threshold or len(shown) == asked.limit:
                break
            if hit.document not in known:
                continue  # deleted meanwhile
            document, note = known[hit.document]
            if document.live is None or (note.expires_at is not None and note.expires_at <= now):
                continue
            file = asked.files[hit.document]
            try:
                windows = await self._windows.of(document.live, file.strategy)
                window = best_window(windows, hit.chunk.start, hit.text, words)
                if window is None:
                    raise MovedError
                if (hit.document, window) in shown:
                    continue
                text = await self._read(hit, document.live, windows, window)
            except NotFoundError:
                raise MovedError from None
            shown[hit.document, window] = StoreHit(
                hit.document, note.filename, score, file.attributes, text, window
            )
        return list(shown.values())

    async def _read(self, hit: Hit, version: Version, windows: TokenWindows, window: int) -> str:
        """A window's text. Raises `MovedError` if the hit is not of this version."""
        (start, end), chunk = windows.span(window), hit.chunk
        first, last = min(start, chunk.start), max(end, chunk.end)
        text = await self._catalog.text(version, first, last)
        if text[chunk.start - first : chunk.end - first] != hit.text:
            raise MovedError
        return windows.show(window, text[start - first : end - first])


def _scores(hits: Sequence[Hit]) -> list[float]:
    """How good each hit is, from 0 to 1: no worse than all that the library puts behind it.

    Those are cosines, and some hits are better than theirs, for their words. Where there are no
    cosines, since the embedder is away, the best has 1.
    """
    highest = max((hit.score for hit in hits if hit.score > 1), default=1.0)
    scores = [max(hit.score, 0.0) / highest for hit in hits]
    return list(accumulate(reversed(scores), max))[::-1]
