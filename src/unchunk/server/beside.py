"""Calls of the commands on this machine to the server that has their library open.

They use the engine's own values and are meant for commands of the same version; other programs use
the rest of the API, which can do all of this, too.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from logging import ERROR
from traceback import format_exc
from typing import Any

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unchunk.beside.wire import (
    ADD,
    PATH,
    Documents,
    Explaining,
    Facts,
    FileName,
    Looking,
    RagSearch,
    read_body,
    written,
    written_error,
    written_event,
)
from unchunk.chat.explaining import Explanation
from unchunk.chat.request import ChatRequest
from unchunk.domain import OwnerId, json_object
from unchunk.engine import Counts, Makeup
from unchunk.errors import NotFoundError, TransientError, UnchunkError
from unchunk.library.ingest import Event, Outcome
from unchunk.library.purging import Receipt
from unchunk.library.reindexing import Reindexed
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Card
from unchunk.retrieval.snippets import Found
from unchunk.server.access import House, InHouse, Owner, RequestId, limited_of
from unchunk.server.rendering import rendered
from unchunk.server.streaming import NOBODY, attended
from unchunk.server.streams import LAST_WORDS, SHUTTING_DOWN
from unchunk.server.uploads import received
from unchunk.telemetry import log

router = APIRouter(include_in_schema=False)
UPLOADS = frozenset({ADD})

Line = dict[str, object]
Say = Callable[[object], None]
_INTERNAL = "something went wrong inside the server; its log tells what, under request {name}"


@router.post(ADD)
async def add(request: Request, house: InHouse, owner: Owner, name: RequestId) -> Response:
    """Add a file to the library, and report the progress."""
    async with received(request, house.options.upload_folder, house.options.max_upload) as sent:
        given = sent.fields.get("attributes")
        kept = await house.engine.keep_file(
            sent.path,
            sent.fields.get("name", ""),
            folder=sent.fields.get("folder", ""),
            owner=owner,
            attributes=None if given is None else _attributes(given),
        )

    async def work(say: Say) -> object:
        if kept.result != "waiting":
            return written(Outcome, kept)
        outcomes = await house.engine.retry(
            kept.document, owner=owner, report=lambda event: say(written(Event, event))
        )
        # There is none if somebody else has added it meanwhile.
        return written(Outcome, outcomes[0] if outcomes else replace(kept, result="unchanged"))

    return _Lines(house, owner, name, _told(work))


@router.post(f"{PATH}/{{call}}")
async def act(
    call: str, request: Request, house: InHouse, owner: Owner, name: RequestId
) -> Response:
    try:
        body = await request.body()
    except ClientDisconnect:
        return Response(status_code=NOBODY)
    if call == "chat":
        house.streams.check(limited_of(request))
        asked = read_body(ChatRequest, body)
        return _Lines(house, owner, name, _chat(house, asked, owner, name))
    if call == "explain":
        explained = read_body(Explaining, body)
        return _Lines(house, owner, name, _told(lambda _: _explain(house, owner, explained, name)))
    if call not in _CALLS:
        raise NotFoundError(f"there is no call {call[:50]!r}: is the command of another version?")
    kind, work = _CALLS[call]
    given = read_body(kind, body)
    return _Lines(house, owner, name, _told(lambda say: work(house, owner, given, say)))


def _attributes(given: str) -> dict[str, object]:
    return json_object(read_body(dict[str, object], given.encode()), "attributes")


async def _retry(house: House, owner: OwnerId, given: Documents, say: Say) -> object:
    outcomes = await house.engine.retry(
        *given.documents, owner=owner, report=lambda event: say(written(Event, event))
    )
    return [written(Outcome, one) for one in outcomes]


async def _delete(house: House, owner: OwnerId, given: Documents, _: Say) -> object:
    chosen = [await house.engine.document(one, owner=owner) for one in given.documents]
    with house.forgetting(*(one.id for one in chosen)):
        receipts = [await house.engine.delete(one.id, owner=owner) for one in chosen]
    return [written(Receipt, one) for one in receipts]


async def _reindex(house: House, owner: OwnerId, given: Documents, say: Say) -> object:
    done = await house.engine.reindex(*given.documents, owner=owner, report=lambda *step: say(step))
    return written(Reindexed, done)


async def _search(house: House, owner: OwnerId, given: Looking, _: Say) -> object:
    found = await house.engine.search(
        given.question, limit=given.limit, where=given.where, owner=owner
    )
    return written(Found, found)


async def _search_library(house: House, owner: OwnerId, given: Looking, _: Say) -> object:
    found = await house.engine.search_library(
        given.question, limit=given.limit, where=given.where, owner=owner
    )
    return written(Found, found)


async def _retrieve(house: House, owner: OwnerId, given: Looking, _: Say) -> object:
    evidence = await house.engine.retrieve(
        given.question,
        history=given.history,
        where=given.where,
        amount=given.wanted,
        owner=owner,
        rewritten=given.rewritten,
        mode=given.mode,
        include=given.include,
    )
    return written(Evidence, evidence)


async def _search_with_context(house: House, owner: OwnerId, given: Looking, _: Say) -> object:
    much = given.wanted or Amount(given.limit)
    found = await house.engine.search_with_context(
        given.question,
        much.limit,
        much.chunks_per_doc,
        much.include_adjacent,
        much.min_score,
        content_type=given.content_type,
        adjacent_documents=much.adjacent_documents,
        where=given.where,
        owner=owner,
    )
    return [written(ReconstructedDocument, one) for one in found]


async def _rag_search(house: House, owner: OwnerId, given: RagSearch, _: Say) -> object:
    return await house.engine.rag_search(
        given.query, given.use_chunk_aware, given.limit, given.show_content, owner=owner
    )


async def _find_file_by_name(house: House, owner: OwnerId, given: FileName, _: Say) -> object:
    found = await house.engine.find_file_by_name(given.file_name, owner=owner)
    return [written(Card, one) for one in found]


async def _explain(house: House, owner: OwnerId, given: Explaining, name: str) -> object:
    explained = await house.engine.explain(
        given.request, owner=owner, request_id=name, before_turn=given.before_turn
    )
    return written(Explanation, explained)


async def _counts(house: House, owner: OwnerId, _: Documents, __: Say) -> object:
    return written(Counts, await house.engine.counts(owner=owner))


async def _makeup(house: House, _: OwnerId, __: Documents, ___: Say) -> object:
    return written(Makeup, await house.engine.makeup())


async def _facts(house: House, _: OwnerId, __: Documents, ___: Say) -> object:
    return written(Facts, Facts(house.engine.embedder, house.engine.searches_elsewhere))


async def _health(house: House, _: OwnerId, __: Documents, ___: Say) -> object:
    return {name: one._asdict() for name, one in (await house.engine.health()).items()}


_CALLS: dict[str, tuple[type[Any], Callable[[House, OwnerId, Any, Say], Awaitable[object]]]] = {
    "retry": (Documents, _retry),
    "delete": (Documents, _delete),
    "reindex": (Documents, _reindex),
    "search": (Looking, _search),
    "search_library": (Looking, _search_library),
    "retrieve": (Looking, _retrieve),
    "search_with_context": (Looking, _search_with_context),
    "rag_search": (RagSearch, _rag_search),
    "find_file_by_name": (FileName, _find_file_by_name),
    "counts": (Documents, _counts),
    "makeup": (Documents, _makeup),
    "facts": (Documents, _facts),
    "health": (Documents, _health),
}


async def _chat(
    house: House, asked: ChatRequest, owner: OwnerId, name: str
) -> AsyncGenerator[Line]:
    async with aclosing(house.engine.chat(asked, owner=owner, request_id=name)) as events:
        async for event in events:
            yield {"told": written_event(event)}
    yield {"result": None}


async def _told(work: Callable[[Say], Awaitable[object]]) -> AsyncGenerator[Line]:
    """Yield the progress that `work` reports, then its result."""
    said: asyncio.Queue[Line | None] = asyncio.Queue()
    task = asyncio.ensure_future(work(lambda value: said.put_nowait({"told": value})))
    task.add_done_callback(lambda _: said.put_nowait(None))
    try:
        while (line := await said.get()) is not None:
            yield line
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=LAST_WORDS)
    yield {"result": task.result()}


class _Lines(Response):
    """Send lines of JSON while the work goes on; it is stopped if the client or the server leaves."""

    media_type = "application/x-ndjson"

    def __init__(
        self, house: House, owner: OwnerId, name: str, lines: AsyncGenerator[Line]
    ) -> None:
        self._house, self._owner, self._name, self._lines = house, owner, name, lines
        self._sending = asyncio.Lock()
        self.status_code = 200
        self.background = None
        self.init_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        work: asyncio.Task[object] = asyncio.create_task(self._send(send))
        self._house.streams.follow(work, self._owner)
        await attended(receive, work)

    async def _send(self, send: Send) -> object:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        beating = asyncio.create_task(self._beat(send))
        try:
            async for line in self._guarded():
                async with asyncio.timeout(self._house.options.stall_seconds), self._sending:
                    body = rendered(line) + b"\n"
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            beating.cancel()
            await asyncio.wait([beating])
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    async def _beat(self, send: Send) -> None:
        """An empty line now and then: whoever waits for long knows that the work goes on."""
        while True:
            await asyncio.sleep(self._house.options.heartbeat_seconds)
            async with self._sending:
                await send({"type": "http.response.body", "body": b"\n", "more_body": True})

    async def _guarded(self) -> AsyncIterator[Line]:
        """Send an error as the last line."""
        try:
            async with aclosing(self._lines) as lines:
                async for line in lines:
                    yield line
        except asyncio.CancelledError:
            if not self._house.streams.is_closing:
                raise
            yield {"error": written_error(TransientError(SHUTTING_DOWN.message))}
        except UnchunkError as error:
            yield {"error": written_error(error)}
        except Exception:  # noqa: BLE001 - the edge of this request: whoever asked is told
            log("a call failed: %s", format_exc(), level=ERROR)
            message = _INTERNAL.format(name=self._name)
            yield {"error": {"type": "", "message": message, "transient": False}}
