"""A Chunkenizer server: it searches, and gives what it finds. It has no way to fetch a chunk."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from itertools import product
from math import isfinite

import httpx2

from unchunk.adapters.sources.asking import NOT_UNDERSTOOD, NotUnderstoodError
from unchunk.adapters.sources.fields import Fields
from unchunk.adapters.sources.reading import Record, first_chunks, read
from unchunk.adapters.sources.result_limit import ResultLimit
from unchunk.domain import DocumentId
from unchunk.errors import (
    InvalidInputError,
    InvalidSettingError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import Among, ForeignChunks, ForeignDocument, SourceNature
from unchunk.telemetry import log, trace_headers

# What a person gave with the document says nothing of a single chunk. Only some servers, such as
# ours, tell where a chunk stands in its text.
_ANSWER = Fields(
    document=("document_id",),
    chunk_count=(),
    text=("chunk_text",),
    title=("document_name",),
    content_type=(),
    page=(),
)
_LISTED = Fields(
    document=("id",),
    chunk_index=(),
    chunk_count=("chunk_count",),
    text=(),
    title=("name",),
    content_type=("content_type",),
    start=(),
    end=(),
    page=(),
)
# What a chunk is filtered by is called otherwise than what is answered.
_FILTERS = {"documents": "doc_id", "titles": "name", "content_types": "content_type"}
_BUSY = frozenset({408, 409, 425, 429})
_LONGEST_MESSAGE = 300
_MOST_SEARCHES = 8


def check_url(url: str) -> httpx2.URL:
    """Refuse what cannot be the address of a server."""
    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InvalidSettingError(f"the Chunkenizer URL {url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.host:
        raise InvalidSettingError(
            f"the Chunkenizer URL {url!r} is not a server URL: use http://HOST:PORT"
        )
    return parts


class ChunkenizerSource:
    """`ChunkSource` over a server, which embeds questions itself. Connects at first use.

    Belongs to the event loop that it is first used in. Filters are exact matches on what the
    server keeps, one value each; for several values, it is searched several times.
    """

    def __init__(self, url: str, *, key: str = "", timeout: float = 10.0) -> None:
        parts = check_url(url)
        self._url = url.rstrip("/")
        # Without a password that may stand in it.
        self._where = f"Chunkenizer at {parts.copy_with(userinfo=b'')}"
        self._key = key
        self._timeout = timeout
        self._client: httpx2.AsyncClient | None = None
        self._limit = ResultLimit()

    @property
    def nature(self) -> SourceNature:
        return SourceNature(self._where, False, None)

    async def search(
        self,
        question: str,
        among: Among,
        limit: int,
        wanted: Mapping[DocumentId, Sequence[int]] | None = None,
    ) -> ForeignChunks:
        filters = self._filters(among)
        if among.is_empty or limit < 1 or wanted is not None:
            return ForeignChunks()
        every = await asyncio.gather(*(self.results(question, limit, one) for one in filters))
        results = [result for some, _ in every for result in some]
        asked = min(most for _, most in every)
        records = [Record("", *_flattened(one)) for one in results]
        scored = [record for record in records if record.score is not None]
        if records and not scored:
            raise ProviderRefusedError(f"no chunk of {self._where} can be used: they have no score")
        # The server does not show what it does not name in its answer.
        shown = among._replace(content_types=None)
        found = read(scored, _ANSWER, shown, self._where, can_map=False)
        notes = found.notes
        if len(scored) < len(records):
            notes += (f"{self._where}: some chunks were left out: no score",)
        if notes:
            log("Invalid response from Chunkenizer: %s", "; ".join(notes), level=logging.ERROR)
        best = sorted(found.chunks, key=lambda chunk: -(chunk.score or 0.0))
        return ForeignChunks(tuple(best[:limit]), notes, asked if asked < limit else None)

    async def results(
        self, question: str, limit: int, filters: Mapping[str, str | int | bool] | None = None
    ) -> tuple[list[dict[str, object]], int]:
        """What the server answers, unread; see `plain_chunk`. Also how many it was asked for."""
        # Halves of characters cannot be sent.
        query = question.encode("utf-8", "replace").decode()

        async def ask(top_k: int) -> list[dict[str, object]]:
            body = {"query": query, "top_k": top_k, "filters": filters or None}
            return await self._listed("POST", "search", "results", body)

        return await self._limit.search(limit, ask)

    async def fetch(
        self, wanted: Mapping[DocumentId, Sequence[int]], among: Among
    ) -> ForeignChunks:
        """Nothing, as `nature` says."""
        del wanted, among
        return ForeignChunks((), (f"{self._where} has no way to fetch a chunk",))

    async def documents(self, among: Among) -> list[ForeignDocument]:
        if among.is_empty:
            return []
        rows = await self._listed("GET", "documents", "documents")
        records = [Record(str(one.get("id") or ""), _described(one)) for one in rows]
        return first_chunks(records, _LISTED, among, self._where, can_map=False)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _filters(self, among: Among) -> list[dict[str, str | int | bool]]:
        """One set of filters for each search that it takes: a filter has one value."""
        filters = dict(among.fields)
        if len(filters) < len(set(among.fields)):
            raise InvalidInputError(f"{self._where} takes one value for each field")
        chosen = {
            name: values for what, name in _FILTERS.items() if (values := getattr(among, what))
        }
        searches = [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]
        if len(searches) > _MOST_SEARCHES:
            raise InvalidInputError(
                f"{self._where} filters by one value, so this takes {len(searches)} searches:"
                f" name fewer documents or filters ({_MOST_SEARCHES} searches at most)"
            )
        return [filters | one for one in searches]

    async def _listed(
        self, method: str, path: str, name: str, body: Mapping[str, object] | None = None
    ) -> list[dict[str, object]]:
        reply = await self._answer(method, path, body)
        rows = reply.get(name) if isinstance(reply, dict) else None
        if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
            raise ProviderRefusedError(
                f"the answer of {self._where} has no list of {name}; check the URL"
            )
        return rows

    async def _answer(self, method: str, path: str, body: Mapping[str, object] | None) -> object:
        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else None
            # Time is measured around the whole call.
            self._client = httpx2.AsyncClient(headers=headers, timeout=None)
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.request(
                    method, f"{self._url}/{path}", json=body, headers=trace_headers()
                )
        except TimeoutError as error:
            raise ProviderUnavailableError(
                f"{self._where} did not answer within {self._timeout:.3g} s"
            ) from error
        except httpx2.RequestError as error:
            reason = str(error) or type(error).__name__
            raise ProviderUnavailableError(f"no answer from {self._where}: {reason}") from error
        if not response.is_success:
            raise self._failure(response)
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise ProviderRefusedError(
                f"the answer of {self._where} cannot be read: {error}; check the URL"
            ) from error

    def _failure(self, response: httpx2.Response) -> Exception:
        status = response.status_code
        message = " ".join(response.text.split())[:_LONGEST_MESSAGE]
        said = f"{self._where} answered {status}: {message or response.reason_phrase}"
        if status >= 500 or status in _BUSY:
            return ProviderUnavailableError(said)
        refusal = NotUnderstoodError if status in NOT_UNDERSTOOD else ProviderRefusedError
        return refusal(f"{said}; check the URL and the key")


def plain_chunk(result: Mapping[str, object]) -> dict[str, object] | None:
    """A result with what a prompt needs, and nothing else; None if it is not one."""
    text, document, index = (result.get(it) for it in ("chunk_text", "document_id", "chunk_index"))
    score, metadata = _number(result.get("score")), result.get("metadata")
    fits = isinstance(text, str) and isinstance(document, str) and document and score is not None
    if not fits or isinstance(index, bool) or not isinstance(index, int):
        return None
    return {
        "chunk_text": text,
        "document_id": document,
        "chunk_index": index,
        "score": score,
        "metadata": metadata if isinstance(metadata, dict) else {},
    }


def _flattened(result: dict[str, object]) -> tuple[dict[str, object], float | None]:
    """A result with its metadata beside the rest, what the server itself says going first."""
    more = result.get("metadata")
    payload = (more if isinstance(more, dict) else {}) | {
        name: value for name, value in result.items() if name not in ("metadata", "score")
    }
    return payload, _number(result.get("score"))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _described(row: dict[str, object]) -> dict[str, object]:
    """A document as it is listed, with what was given with it, which is text that is JSON."""
    try:
        more = json.loads(str(row.get("metadata_json") or "{}"))
    except (ValueError, RecursionError):
        more = {}
    own = {name: value for name, value in row.items() if name != "metadata_json"}
    return (more if isinstance(more, dict) else {}) | own
