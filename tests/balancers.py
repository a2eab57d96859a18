"""A balancer as people put one before their servers: each request goes to the next of them.

No two requests of one connection need to reach the same server. One that cannot be reached is
passed over; one that dies while it answers breaks the connection, as any balancer would have it.
"""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress

_HEAD = 1 << 20
_UNREACHED = b'{"error":{"type":"no-server","message":"no server can be reached: try again"}}'
_BAD_GATEWAY = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_UNREACHED), _UNREACHED)
)
_GONE = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError)
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Balancer:
    """`backends` are addresses of 127.0.0.1 by their ports.

    With `key`, whoever comes without a known one has that: a house whose user needs none.
    """

    def __init__(self, backends: Sequence[int], key: str = "") -> None:
        self.backends = list(backends)
        self.served = dict.fromkeys(backends, 0)
        self._key, self._turn = key, 0
        self._meetings: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, ready: threading.Event, over: asyncio.Event) -> None:
        server = await asyncio.start_server(self._met, "127.0.0.1", 0, limit=_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await over.wait()
        server.close()
        # Whoever came last is met, too. Then, whoever is still here has no more to expect.
        await asyncio.sleep(0.02)
        for meeting in list(self._meetings):
            meeting.cancel()
        await asyncio.gather(*self._meetings, return_exceptions=True)

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        meeting = asyncio.current_task()
        assert meeting is not None
        self._meetings.add(meeting)
        try:
            with suppress(*_GONE, asyncio.CancelledError):
                while await self._exchanged(reader, writer):
                    pass
        finally:
            writer.close()
            self._meetings.discard(meeting)

    async def _exchanged(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is good for another request."""
        head = await reader.readuntil(b"\r\n\r\n")
        backend = await self._reached()
        if backend is None:
            # A reply before the end of what is sent would be lost with the connection.
            await _body(head, reader, None)
            writer.write(_BAD_GATEWAY)
            await writer.drain()
            return False
        if _says(head, b"connection", b"upgrade"):
            backend[1].write(self._with_key(head))
            await _joined((reader, writer), backend)
            return False
        backend[1].write(self._with_key(_once(head)))
        sending = asyncio.ensure_future(_body(head, reader, backend[1]))
        leaving = asyncio.ensure_future(_left(reader))
        is_bare = head.startswith(b"HEAD ")
        replying = asyncio.ensure_future(_reply(backend[0], writer, is_bare=is_bare))
        try:
            await asyncio.wait({leaving, replying}, return_when=asyncio.FIRST_COMPLETED)
            is_framed = replying.done() and replying.result()
            return is_framed and sending.done() and not _says(head, b"connection", b"close")
        finally:
            # First of all: this may be cancelled while it waits.
            backend[1].close()
            for task in (sending, leaving, replying):
                task.cancel()
            await asyncio.gather(sending, leaving, replying, return_exceptions=True)
            await _closed(backend[1])

    async def _reached(self) -> Ends | None:
        self._turn += 1
        at = self._turn % len(self.backends)
        for port in self.backends[at:] + self.backends[:at]:
            try:
                found = await asyncio.open_connection("127.0.0.1", port, limit=_HEAD)
            except OSError:
                continue
            self.served[port] = self.served.get(port, 0) + 1
            return found
        return None

    def _with_key(self, head: bytes) -> bytes:
        if not self._key or b" /api/session" in head.split(b"\r\n", 1)[0]:
            return head
        bare = re.sub(rb"\r\n(?i:authorization|api-key):[^\r]*", b"", head)
        return bare[:-2] + b"Authorization: Bearer " + self._key.encode() + b"\r\n\r\n"


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _says(head: bytes, name: bytes, value: bytes) -> bool:
    found = re.search(rb"\r\n" + name + rb":([^\r]*)", head, re.IGNORECASE)
    return found is not None and value in found[1].lower()


def _once(head: bytes) -> bytes:
    """The server closes behind its reply, which tells where that ends."""
    bare = re.sub(rb"\r\n(?i:connection|keep-alive):[^\r]*", b"", head)
    return bare[:-2] + b"Connection: close\r\n\r\n"


async def _body(
    head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter | None
) -> None:
    async for piece in _pieces(head, reader):
        if writer is not None:
            writer.write(piece)
            await writer.drain()


async def _pieces(head: bytes, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    length = re.search(rb"\r\n(?i:content-length):\s*(\d+)", head)
    if _says(head, b"transfer-encoding", b"chunked"):
        size = 1
        while size:
            line = await reader.readuntil(b"\r\n")
            size = int(line.partition(b";")[0], 16)
            yield line + await reader.readexactly(size + 2)
    left = int(length[1]) if length else 0
    while left:
        piece = await reader.read(min(left, 1 << 16))
        if not piece:
            raise ConnectionResetError
        left -= len(piece)
        yield piece


async def _reply(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_bare: bool
) -> bool:
    """Whether its reader knows by itself where it ended; a bare one has no body, whatever it says."""
    head = await reader.readuntil(b"\r\n\r\n")
    while head.split(b" ", 2)[1].startswith(b"1"):
        writer.write(head)
        head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\r\n(?i:content-length):\s*(\d+)", head)
    is_chunked = _says(head, b"transfer-encoding", b"chunked")
    is_bare = is_bare or head.split(b" ", 2)[1] in (b"204", b"304")
    is_framed = is_chunked or length is not None or is_bare
    kept = re.sub(rb"\r\n(?i:connection):[^\r]*", b"", head)
    writer.write(kept if is_framed else kept[:-2] + b"Connection: close\r\n\r\n")
    count, tail = 0, b""
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
        count, tail = count + len(piece), (tail + piece)[-5:]
    # What broke off must not look like an end.
    if is_chunked and not is_bare:
        return tail == b"0\r\n\r\n"
    return is_framed and (is_bare or length is None or count == int(length[1]))


async def _left(reader: asyncio.StreamReader) -> None:
    """Until whoever asks is gone. Nothing is read: it may be the next request."""
    while not reader.at_eof():  # noqa: ASYNC110 - a reader has no event for it
        await asyncio.sleep(0.05)


async def _joined(one: Ends, other: Ends) -> None:
    async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            while piece := await reader.read(1 << 16):
                writer.write(piece)
                await writer.drain()
        await _closed(writer)

    await asyncio.gather(copied(one[0], other[1]), copied(other[0], one[1]))


@contextmanager
def balancing(backends: Sequence[int], key: str = "") -> Iterator[Balancer]:
    balancer, ready = Balancer(backends, key), threading.Event()
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(balancer.serve(ready, over))

    thread = threading.Thread(target=run, name="balancer")
    thread.start()
    try:
        assert ready.wait(30)
        yield balancer
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        assert not thread.is_alive()
