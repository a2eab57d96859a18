"""Messages between two processes of ours over a socket; arrays travel beside, uncopied.

Both ends are the same program, so pickle is safe here and quick. Never use it with a
stranger.
"""

import pickle
import socket
import struct
from contextlib import suppress
from typing import Any

_HEAD = struct.Struct("<IQ")  # how many parts, and how long the first is
_MOST_AT_ONCE = 64  # buffers in one call; some systems take no more than a few hundred


def send(link: socket.socket, message: Any) -> None:  # noqa: ANN401 any picklable value
    send_all(link, pack(message))


def pack(message: Any) -> list[memoryview]:  # noqa: ANN401 any picklable value
    """What there is to send."""
    aside: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=aside.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in aside)]
    sizes = struct.pack(f"<I{len(parts)}Q", len(parts), *(part.nbytes for part in parts))
    return [memoryview(sizes), *parts]


def send_all(link: socket.socket, unsent: list[memoryview]) -> None:
    while unsent:
        _send(link, unsent, 0)


def send_some(link: socket.socket, unsent: list[memoryview]) -> None:
    """As much as goes without waiting; the rest stays in the list."""
    with suppress(BlockingIOError):
        while unsent:
            _send(link, unsent, socket.MSG_DONTWAIT)


def _send(link: socket.socket, unsent: list[memoryview], flags: int) -> None:
    sent = link.sendmsg(unsent[:_MOST_AT_ONCE], (), flags)
    while unsent and sent >= unsent[0].nbytes:
        sent -= unsent.pop(0).nbytes
    if sent:
        unsent[0] = unsent[0][sent:]


def receive(link: socket.socket) -> Any:  # noqa: ANN401 whatever was sent
    """The next message. Raises `EOFError` when the other end is gone."""
    count, size = _HEAD.unpack(_exactly(link, _HEAD.size))
    others = count - 1
    sizes = struct.unpack(f"<{others}Q", _exactly(link, 8 * others)) if others else ()
    body, *aside = [_exactly(link, size) for size in (size, *sizes)]
    return pickle.loads(body, buffers=aside)  # noqa: S301 our own process wrote it


def _exactly(link: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            got = link.recv_into(view)
        except ConnectionError as error:
            raise EOFError from error
        if not got:
            raise EOFError
        view = view[got:]
    return data
