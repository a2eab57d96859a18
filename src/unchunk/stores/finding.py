"""What a store's files say to a question: the library's own search, shown as the store cuts."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

from unchunk.domain import DocumentId, OwnerId, Version
from unchunk.errors import NotFoundError
from unchunk.ports import Attribute, Catalog, StoreFile, StoreId
from unchunk.retrieval.amount import MOST
from unchunk.retrieval.shelf import MovedError, Where
from unchunk.retrieval.snippets import Hit, settled
from unchunk.stores.filters import Filter, matches
from unchunk.stores.limits import queries as check_queries
from unchunk.stores.limits import results as check_results
from unchunk.stores.limits import threshold as check_threshold
from unchunk.stores.parts import Library, StoreParts
from unchunk.stores.register import used
from unchunk.stores.windows import WindowCache, best_window, words_of
from unchunk.telemetry import log
from unchunk.text.token_windows import TokenWindows

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
    """`documents` are those that may be found."""

    store: StoreId
    documents: tuple[DocumentId, ...]
    filters: Filter | None
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
        """Documents in any of the stores that can be searched and are as the filter says, by id."""
        for store in stores:
            await used(self._parts, store, owner)
        now, members = self._parts.clock(), self._parts.members
        if filters is None:
            return tuple(await members.searchable(owner, stores, now))
        found = await members.completed(owner, stores, now)
        # In one order: what a search finds is remembered by where it looked.
        return tuple(sorted({it.document for it in found if matches(filters, it.attributes)}))

    async def attributes(
        self,
        stores: Sequence[StoreId],
        documents: Sequence[DocumentId],
        filters: Filter | None = None,
        *,
        owner: OwnerId,
    ) -> dict[DocumentId, Mapping[str, Attribute]]:
        """What is said of files that can be searched, in the first of the stores where it is as the
        filter says.
        """
        found = await self._files(stores, documents, filters, owner)
        return {document: file.attributes for document, file in found.items()}

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
        check_results(limit)
        check_threshold(threshold)
        check_queries(queries)
        documents = await self.documents([store], filters, owner=owner)
        if not documents:
            return []
        asked = _Asked(store, documents, filters, limit, threshold, owner)
        best: dict[tuple[DocumentId, int], StoreHit] = {}
        for query in queries:
            for hit in await settled(partial(self._ask, query, asked)):
                place = hit.document, hit.window_index
                if place not in best or best[place].score < hit.score:
                    best[place] = hit
        return sorted(best.values(), key=lambda hit: -hit.score)[:limit]

    async def _files(
        self,
        stores: Sequence[StoreId],
        documents: Sequence[DocumentId],
        filters: Filter | None,
        owner: OwnerId,
    ) -> dict[DocumentId, StoreFile]:
        """What documents are in the first of the stores where they are as the filter says."""
        now = self._parts.clock()
        found = await self._parts.members.completed(owner, stores, now, documents)
        last_first = sorted(found, key=lambda file: -stores.index(file.store))
        return {
            file.document: file
            for file in last_first
            if filters is None or matches(filters, file.attributes)
        }

    async def _ask(self, query: str, asked: _Asked) -> list[StoreHit]:
        """The windows for one query. Raises `MovedError` if a document changed meanwhile."""
        where, wanted = Where(documents=asked.documents), asked.limit * _SPARE
        while True:
            found = await self._library.search_library(
                query, limit=wanted, where=where, owner=asked.owner
            )
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
        those = list({hit.document: 0 for hit in hits})
        files = await self._files([asked.store], those, asked.filters, asked.owner)
        known = await self._parts.notes.get(asked.owner, those, self._parts.clock())
        shown = dict[tuple[DocumentId, int], StoreHit]()
        for hit, score in zip(hits, _scores(hits), strict=True):
            if score < asked.threshold or len(shown) == asked.limit:
                break
            if hit.document not in known or hit.document not in files:
                continue  # deleted or detached meanwhile
            (document, note), file = known[hit.document], files[hit.document]
            if document.live is None:
                continue
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
