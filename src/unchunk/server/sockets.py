"""Answers over a WebSocket: one at a time, each with the events that all other edges have.

The client sends `{"type": "ask", "id": ..., ...}` with what `POST /api/chat` takes, and
`{"type": "cancel", "id": ...}`. It gets `{"type": KIND, "id": ..., ...}`. To ask while an answer
is being written is refused; to close the socket stops the answer. One over which nothing is asked
for long is closed.
"""

import asyncio
import json
from contextlib import aclosing, suppress
from logging import ERROR
from traceback import format_exc

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from unchunk.chat.events import Event, Failed
from unchunk.chat.request import ChatRequest
from unchunk.domain import OwnerId
from unchunk.errors import UnchunkError
from unchunk.server.access import House, InHouse, Owner, RequestId, limited_of
from unchunk.server.bodies import ChatBody
from unchunk.server.entrance import admit_again
from unchunk.server.faults import described, failed
from unchunk.server.rendering import rendered
from unchunk.server.stream import STOPPED
from unchunk.server.streams import LAST_WORDS, SHUTTING_DOWN
from unchunk.telemetry import job, log

router = APIRouter(tags=["chat"])
_LONGEST_ID = 100
_END = 1.0
_GOING_AWAY = 1001


@router.websocket("/api/chat/ws")
async def chat_socket(socket: WebSocket, house: InHouse, owner: Owner, name: RequestId) -> None:
    await socket.accept()
    await _Conversing(socket, house, owner, name).run()


class _Conversing:
    """One open socket."""

    def __init__(self, socket: WebSocket, house: House, owner: OwnerId, name: str) -> None:
        self._socket, self._house, self._owner, self._name = socket, house, owner, name
        self._asked, self._active = 0, _now()
        self._current = ""
        self._work: asyncio.Task[object] | None = None
        self._is_told = self._has_begun = False
        self._lost = asyncio.Event()

    async def run(self) -> None:
        """Until the client goes, takes nothing any more, or asks nothing for long."""
        hearing = asyncio.create_task(self._listen())
        losing = asyncio.create_task(self._lost.wait())
        resting = asyncio.create_task(self._rest())
        try:
            await asyncio.wait({hearing, losing, resting}, return_when=asyncio.FIRST_COMPLETED)
            if hearing.done():
                hearing.result()
            elif resting.done():
                await self._close()
        finally:
            for one in (hearing, losing, resting):
                one.cancel()
            await asyncio.wait([hearing, losing, resting])
            await self._stop()

    async def _rest(self) -> None:
        """Until nothing was asked for as long as the options say, and nothing is being answered."""
        while (left := self._active + self._house.options.socket_seconds - _now()) > 0:
            await asyncio.sleep(left)
            if self._work is not None and not self._work.done():
                await asyncio.wait([self._work])

    async def _close(self) -> None:
        with suppress(WebSocketDisconnect, OSError):
            await self._socket.close(_GOING_AWAY, "nothing was asked for long: open another")

    async def _listen(self) -> None:
        with suppress(WebSocketDisconnect, OSError):
            while (message := await self._socket.receive())["type"] != "websocket.disconnect":
                await self._hear(message.get("text"))

    async def _hear(self, text: str | None) -> None:
        try:
            given = json.loads(text or "")
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            await self._say("", Failed("malformed", "a message must be an object of JSON"))
            return
        kind, about = given.pop("type", None), given.pop("id", "")
        if not isinstance(about, str) or len(about) > _LONGEST_ID:
            message = f"an id must be a text of at most {_LONGEST_ID} characters"
            await self._say("", Failed("malformed", message))
        elif kind == "ask":
            await self._ask(about, given)
        elif kind == "cancel":
            if self._is_busy and about in ("", self._current):
                await self._stop()
            else:
                await self._say(about, Failed("not-found", "no such answer is being written"))
        else:
            await self._say(about, Failed("malformed", "the type must be `ask` or `cancel`"))

    @property
    def _is_busy(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _ask(self, about: str, body: dict[str, object]) -> None:
        if self._work is not None and self._is_told:
            # The client has all of it, while its end is still being noted.
            await asyncio.wait([self._work], timeout=_END)
        if self._is_busy:
            message = "an answer is being written: wait for it, or cancel it"
            await self._say(about, Failed("busy", message, transient=True))
            return
        self._asked += 1
        name = f"{self._name}.{self._asked}"
        about = about or name
        try:
            await admit_again(self._socket)
            request = ChatBody.model_validate(body).request()
            self._house.streams.check(limited_of(self._socket))
        except ValidationError as error:
            await self._say(about, Failed("malformed", described(error.errors())[0]))
        except UnchunkError as error:
            await self._say(about, failed(error))
        else:
            self._is_told = self._has_begun = False
            with job(name):
                self._work = asyncio.create_task(self._answer(about, request, name))
            self._current, self._active = about, _now()
            self._house.streams.follow(self._work, self._owner)

    async def _answer(self, about: str, request: ChatRequest, name: str) -> object:
        # A task that is cancelled before this says nothing by itself.
        self._has_begun = True
        events = self._house.engine.chat(request, owner=self._owner, request_id=name)
        try:
            async with aclosing(events):
                async for event in events:
                    self._is_told = event.kind in ("done", "error")
                    await self._say(about, event)
        except asyncio.CancelledError:
            is_closing = self._house.streams.is_closing
            await self._last_word(about, SHUTTING_DOWN if is_closing else STOPPED)
            raise
        except (WebSocketDisconnect, OSError):
            self._lost.set()
        except UnchunkError as error:
            await self._last_word(about, failed(error))
        except Exception as error:  # noqa: BLE001 - the edge of this task: whoever asked is told
            log("an answer failed: %s", format_exc(), level=ERROR)
            await self._last_word(about, failed(error))
        finally:
            self._active = _now()
        return None

    async def _last_word(self, about: str, event: Event) -> None:
        with suppress(WebSocketDisconnect, OSError):
            await self._say(about, event)

    async def _say(self, about: str, event: Event) -> None:
        """Whoever takes nothing for too long loses the connection."""
        if WebSocketState.DISCONNECTED in (
            self._socket.client_state,
            self._socket.application_state,
        ):
            return
        body = rendered({**event.as_dict(), "type": event.kind, "id": about})
        try:
            async with asyncio.timeout(self._house.options.stall_seconds):
                await self._socket.send_text(body.decode())
        except TimeoutError as error:
            self._lost.set()
            raise WebSocketDisconnect(1001) from error

    async def _stop(self) -> None:
        work = self._work
        if work is not None and not work.done():
            has_begun = self._has_begun
            work.cancel()
            await asyncio.wait([work], timeout=LAST_WORDS)
            if not has_begun:
                await self._last_word(self._current, STOPPED)


def _now() -> float:
    return asyncio.get_running_loop().time()
