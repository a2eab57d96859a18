"""Documents' own bytes and texts on their way to a browser that is to save them, never to show.

Whatever a file holds, it is no page of ours: it is called a download, its kind is not guessed, and
what is opened all the same may do nothing.
"""

import asyncio
import re
from contextlib import aclosing
from typing import BinaryIO
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unchunk.domain import DocumentId, OwnerId
from unchunk.engine import Engine

_PIECE = 1 << 18
_LONGEST = 150
_PLAIN = re.compile(r"[^A-Za-z0-9 ._()+-]")
_SHOWS_NOTHING = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\ud800-\udfff]")


def disposition(name: str) -> str:
    """The header that makes a download of this name (RFC 6266), whatever the name is.

    Both forms have letters only that cannot end the header or lead to another folder.
    """
    name = name.replace("\\", "/").rpartition("/")[2]
    name = _SHOWS_NOTHING.sub("_", name).strip(" .")
    stem, dot, ending = name.rpartition(".")
    if len(name) > _LONGEST:
        name = f"{(stem or name)[:_LONGEST]}{dot}{ending[:20]}" if dot else name[:_LONGEST]
    plain = _PLAIN.sub("_", name) or "document"
    return (
        f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name or 'document', safe='')}"
    )


class Attachment(Response):
    """Sent piece by piece. What is wrong with it is raised before anything is sent."""

    def __init__(self, engine: Engine, owner: OwnerId, document: DocumentId, name: str) -> None:
        self._engine, self._owner, self._document = engine, owner, document
        self.status_code, self.background = 200, None
        self.init_headers(
            {
                "Content-Disposition": disposition(name),
                "Content-Security-Policy": "default-src 'none'; sandbox",
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "private, no-store",
            }
        )

    async def _begin(self, send: Send, size: int | None = None) -> None:
        headers = list(self.raw_headers)
        if size is not None:
            headers.append((b"content-length", str(size).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _go_on(self, send: Send, piece: bytes) -> None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _end(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Original(Attachment):
    """The file as it came in."""

    media_type = "application/octet-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        async with self._engine.original(self._document, owner=self._owner) as path:
            with await asyncio.to_thread(path.open, "rb") as file:
                size = await asyncio.to_thread(_size_of, file)
                await self._begin(send, size)
                while piece := await asyncio.to_thread(file.read, _PIECE):
                    await self._go_on(send, piece)
        await self._end(send)


class PlainText(Attachment):
    """The canonical text."""

    media_type = "text/plain"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        async with aclosing(self._engine.pieces(self._document, owner=self._owner)) as pieces:
            first = await anext(pieces, "")
            await self._begin(send)
            await self._go_on(send, first.encode("utf-8", "replace"))
            async for piece in pieces:
                await self._go_on(send, piece.encode("utf-8", "replace"))
        await self._end(send)


def _size_of(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size
