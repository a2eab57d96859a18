"""Somebody else's collection in Chroma, in a folder or on a server. It is read, and never written.

Of a folder that another process writes to, Chroma may show what was there a while ago, and does
not know it: then ask a server.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unchunk.adapters.chroma_clients import HTTPError, connected, disconnect, errors, folder_of
from unchunk.adapters.sources.fields import PAGES, Fields, Names, look_up
from unchunk.adapters.sources.reading import Record, first_chunks, read
from unchunk.adapters.sources.vectors import checked, cosines, doubts
from unchunk.adapters.sources.words import CACHE_SECONDS, Row, ScannedWords
from unchunk.domain import DocumentId
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import (
    Among,
    Embedder,
    ForeignChunks,
    ForeignDocument,
    Lexicon,
    SourceNature,
    Vectors,
)

_FILE = "chroma.sqlite3"
_ALL = ["embeddings", "metadatas", "documents"]
_MOST = 10_000
_PAGE = 1_000


async def open_chroma(
    where: str | Path,
    collection: str,
    embedder: Embedder | None,
    fields: Fields = PAGES,
    *,
    api_key: str | None = None,
    seconds: float = 30.0,
    sample: bool = True,
    lexicon: Lexicon | None = None,
    cache_seconds: float = CACHE_SECONDS,
) -> "ChromaSource":
    """The collection, after a look at whether `embedder` can have made its vectors.

    For that one of the chunks is embedded, whoever owns it, unless `sample` is false.

    `where` is a folder, or the address of a server as http://HOST:PORT. The embedder stays the
    caller's. The server has `seconds` for an answer. With a `lexicon` it can be searched by words.
    """
    name = f"the Chroma collection {collection!r}"
    client = await in_thread(name, connected_there, where, api_key, seconds)
    try:
        # No function that embeds: it would fetch a model.
        opened = await in_thread(name, client.get_collection, collection, embedding_function=None)
        kept = ["embeddings", "metadatas", "documents"]
        some = await in_thread(name, opened.get, limit=1, include=kept)
        rows = some["embeddings"]
        embedder = checked(embedder, len(rows[0]) if len(rows) else 0, name)
        notes: list[str] = []
        for row, note, document in zip(rows, some["metadatas"], some["documents"], strict=True):
            if sample and isinstance(text := look_up(note or {}, fields.text) or document, str):
                notes = await doubts(embedder, text, row, name)
    except BaseException:
        await asyncio.to_thread(disconnect, client)
        raise
    return ChromaSource(
        client,
        opened,
        embedder,
        fields,
        notes=tuple(notes),
        lexicon=lexicon,
        cache_seconds=cache_seconds,
    )


class ChromaSource:
    """`ChunkSource` over one collection. Scores are cosines, whatever Chroma measures by."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 theirs
        collection: Any,  # noqa: ANN401 theirs
        embedder: Embedder,
        fields: Fields,
        *,
        notes: tuple[str, ...] = (),
        lexicon: Lexicon | None = None,
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        self._client = client
        self._collection = collection
        self._where = f"the Chroma collection {collection.name!r}"
        self._embedder = embedder
        self._fields = fields
        self._doubts = notes
        # Chroma itself finds texts that contain something, and does not rank them.
        self._words = (
            None
            if lexicon is None
            else ScannedWords(
                self._pages, lexicon, fields, self._where, cache_seconds=cache_seconds
            )
        )

    @property
    def nature(self) -> SourceNature:
        return SourceNature(self._where, True, self._embedder.identity.min_score)

    async def search(
        self,
        question: str,
        among: Among,
        limit: int,
        wanted: Mapping[DocumentId, Sequence[int]] | None = None,
    ) -> ForeignChunks:
        if not self._can_have(wanted):
            return ForeignChunks()
        where = _where(self._fields, among, wanted, self._where)
        if among.is_empty or limit < 1:
            return ForeignChunks()
        (row,) = await self._embedder.embed([question], "query")
        reply = await in_thread(
            self._where,
            self._collection.query,
            query_embeddings=[row],
            n_results=limit,
            where=where,
            include=_ALL,
        )
        records = _scored({name: reply[name][0] for name in ("ids", *_ALL)}, row)
        records.sort(key=lambda record: -(record.score or 0.0))
        found = read(records, self._fields, among, self._where, wanted)
        return ForeignChunks(found.chunks, self._doubts + found.notes)

    async def search_words(self, question: str, among: Among, limit: int) -> ForeignChunks:
        """One call more than a search, for the cosines and what the chunks say now."""
        if self._words is None or among.is_empty or limit < 1:
            return ForeignChunks()
        where = _where(self._fields, among, None, self._where)
        ranked = await self._words.rank(question, among, limit)
        if not ranked.scores:
            return ForeignChunks((), ranked.notes)
        reply = await in_thread(
            self._where, self._collection.get, ids=list(ranked.scores), where=where, include=_ALL
        )
        try:
            (row,) = await self._embedder.embed([question], "query")
            records = _scored(reply, row)
        except (ProviderUnavailableError, ProviderRefusedError):
            records = _records(reply)
        records.sort(key=lambda record: -ranked.scores[record.id])
        found = read(records, self._fields, among, self._where)
        chunks = (replace(one, word_score=ranked.scores[one.id]) for one in found.chunks)
        return ForeignChunks(tuple(chunks), ranked.notes + found.notes)

    async def fetch(
        self, wanted: Mapping[DocumentId, Sequence[int]], among: Among
    ) -> ForeignChunks:
        if not self._can_have(wanted):
            return ForeignChunks()
        where = _where(self._fields, among, wanted, self._where)
        if among.is_empty:
            return ForeignChunks()
        records = await self._get(where, ["metadatas", "documents"])
        return read(records, self._fields, among, self._where, wanted)

    async def documents(self, among: Among) -> list[ForeignDocument]:
        where = _where(self._fields, among, None, self._where)
        if among.is_empty or not self._fields.chunk_index:
            return []
        first = _at(self._fields, [0])
        where = _all([where, first]) if where else first
        records = await self._get(where, ["metadatas"], _MOST)
        return first_chunks(records, self._fields, among, self._where)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await in_thread(self._where, disconnect, client)

    def _can_have(self, wanted: Mapping[DocumentId, Sequence[int]] | None) -> bool:
        return wanted is None or bool(self._fields.chunk_index and any(wanted.values()))

    async def _get(
        self, where: dict[str, Any] | None, include: list[str], limit: int | None = None
    ) -> list[Record]:
        reply = await in_thread(
            self._where, self._collection.get, where=where, include=include, limit=limit
        )
        return _records(reply)

    async def _pages(self) -> AsyncIterator[Sequence[Row]]:
        """All of it, page by page."""
        offset = 0
        while True:
            reply = await in_thread(
                self._where,
                self._collection.get,
                limit=_PAGE,
                offset=offset,
                include=["metadatas", "documents"],
            )
            records = _records(reply)
            yield [(one.id, one) for one in records]
            offset += len(records)
            if len(records) < _PAGE:
                return


def _records(reply: Mapping[str, Any]) -> list[Record]:
    ids, notes = reply["ids"], reply["metadatas"]
    texts = reply["documents"] or [None] * len(ids)
    rows = zip(ids, notes, texts, strict=True)
    return [Record(one, note or {}, None, text) for one, note, text in rows]


def _scored(reply: Mapping[str, Any], question: Vectors) -> list[Record]:
    """With their cosines, whatever Chroma measures by."""
    kept = np.asarray(reply["embeddings"], np.float32).reshape(len(reply["ids"]), len(question))
    scores = cosines(kept, question)
    rows = zip(_records(reply), scores, strict=True)
    return [record._replace(score=float(score)) for record, score in rows]


def _where(
    fields: Fields,
    among: Among,
    wanted: Mapping[DocumentId, Sequence[int]] | None,
    where: str,
) -> dict[str, Any] | None:
    every: list[dict[str, Any]] = [{name: {"$eq": value}} for name, value in among.fields]
    for what in ("documents", "titles", "content_types"):
        if values := getattr(among, what):
            names = getattr(fields, what[:-1])
            if not names:
                raise InvalidInputError(f"{where} cannot be searched by {what}: no field has them")
            every.append(_one_of(names, values))
    if wanted:
        pairs = [
            _all([_one_of(fields.document, [document]), _at(fields, indices)])
            for document, indices in wanted.items()
            if indices
        ]
        every.append(_any(pairs))
    return _all(every) if every else None


def _one_of(names: Names, values: Sequence[str]) -> dict[str, Any]:
    """That one of the fields has one of the values, as text or as number."""
    numbers = [int(value) for value in values if value.isdecimal() and len(value) < 19]
    lists = [some for some in (list(values), numbers) if some]
    return _any([{name: {"$in": some}} for name in names for some in lists])


def _at(fields: Fields, indices: Sequence[int]) -> dict[str, Any]:
    return _any([{name: {"$in": sorted(set(indices))}} for name in fields.chunk_index])


def _any(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return parts[0] if len(parts) == 1 else {"$or": parts}


def _all(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return parts[0] if len(parts) == 1 else {"$and": parts}


def connected_there(where: str | Path, api_key: str | None, seconds: float) -> Any:  # noqa: ANN401 theirs
    """A client; a folder that is not there is not made."""
    folder = folder_of(where)
    if folder is not None and not (folder / _FILE).is_file():
        raise NotFoundError(f"{where} is not a Chroma folder: it has no {_FILE}")
    return connected(where, api_key, seconds)


async def in_thread(
    source: str,
    call: Callable[..., Any],
    *arguments: object,
    **named: object,
) -> Any:  # noqa: ANN401 theirs
    """Their call in a thread, their errors as ours."""
    try:
        return await asyncio.to_thread(call, *arguments, **named)
    except errors.NotFoundError as error:
        raise NotFoundError(f"{source} does not exist: {error}") from error
    except (errors.InvalidArgumentError, errors.InvalidDimensionException, ValueError) as error:
        raise InvalidInputError(f"{source} cannot be asked this: {error}") from error
    except (errors.ChromaAuthError, errors.AuthorizationError) as error:
        raise ProviderRefusedError(f"{source}: Chroma refuses: {error}. Check its key") from error
    except (errors.ChromaError, HTTPError) as error:
        raise IndexUnavailableError(f"{source} cannot be used: {error}") from error
