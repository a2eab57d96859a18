"""An answer while it comes in."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx2

from unchunk.adapters.llm.chunks import DONE, EventReader, StreamedError, read_chunk
from unchunk.adapters.llm.faults import Faults
from unchunk.errors import ProviderUnavailableError, UnchunkError
from unchunk.ports import Delta, TokenUsage

# So long the end of a connection is waited for behind the end of an answer, to use it again.
_PARTING = 0.2
# And so long what may follow the last piece: the counts.
_TRAILING = 5.0


class Answer:
    """Reads one response to its end; `close` also ends it at the provider."""

    def __init__(self, response: httpx2.Response, faults: Faults, idle: float) -> None:
        self._response = response
        self._faults = faults
        self._idle = idle
        self._received = response.aiter_bytes()
        self._reader = EventReader()
        self._waiting: list[bytes] = []
        self._first: bytes | None = None

    async def begin(self) -> None:
        """Wait for the first event, and see to it that it is one: so far, it can be tried again."""
        if "html" in self._response.headers.get("content-type", ""):
            raise self._faults.unreadable("it is a web page")
        first = await self._next()
        if first != DONE:
            self._read(first)
        self._first = first

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """The pieces; the token counts come once, last."""
        finished, usage = False, None
        while (data := await self._piece(finished)) is not None:
            if data == DONE:
                finished = True
                break
            delta = self._read(data)
            finished = finished or bool(delta.finish)
            usage = delta.usage or usage
            if delta.text or delta.finish:
                yield Delta(delta.text, delta.finish)
        if usage is not None:
            yield Delta(usage=TokenUsage(*usage))
        await self._part()

    async def close(self) -> None:
        await self._response.aclose()

    async def _piece(self, finished: bool) -> bytes | None:
        """The data of the next event; None behind the last one of an answer that is whole."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        seconds = min(self._idle, _TRAILING) if finished else self._idle
        try:
            async with asyncio.timeout(seconds):
                return await self._next()
        except TimeoutError:
            fault = self._faults.slow("said nothing more", seconds)
        except ProviderUnavailableError as error:
            fault = error
        if finished:
            return None  # Nothing is missing but the counts.
        raise fault from None

    async def _next(self) -> bytes:
        while not self._waiting:
            try:
                received = await anext(self._received)
                self._waiting = self._reader.feed(received)
            except StopAsyncIteration:
                raise self._ended() from None
            except httpx2.RequestError as error:
                raise self._faults.cut_off(str(error) or type(error).__name__) from None
            except ValueError as error:
                raise self._faults.unreadable(str(error)) from None
        return self._waiting.pop(0)

    def _ended(self) -> UnchunkError:
        stray = self._reader.stray
        return (
            self._faults.unreadable(stray.decode("utf-8", "replace"))
            if stray
            else (self._faults.cut_off())
        )

    def _read(self, data: bytes) -> Delta:
        try:
            return read_chunk(data)
        except StreamedError as error:
            raise self._faults.streamed(error) from None
        except (ValueError, RecursionError) as error:
            raise self._faults.unreadable(str(error)) from None

    async def _part(self) -> None:
        with suppress(TimeoutError, httpx2.RequestError):
            async with asyncio.timeout(_PARTING):
                async for _ in self._received:
                    pass
