"""Messages between two processes of ours over a socket; arrays travel beside, uncopied.

Both ends are the same program, so pickle is safe here and quick. Never use it with a
stranger.
"""

import pickle
import socket
import struct
from typing import Any

_COUNT = struct.Struct("<I")
_MOST_AT_ONCE = 64  # buffers in one call; some systems take no more than a few hundred


def send(link: socket.socket, message: Any) -> None:  # noqa: ANN401 any picklable value
    aside: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=aside.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in aside)]
    sizes = struct.pack(f"<I{len(parts)}Q", len(parts), *(part.nbytes for part in parts))
    waiting = [memoryview(sizes), *parts]
    while waiting:
        sent = link.sendmsg(waiting[:_MOST_AT_ONCE])
        while waiting and sent >= waiting[0].nbytes:
            sent -= waiting.pop(0).nbytes
        if sent:
            waiting[0] = waiting[0][sent:]


def receive(link: socket.socket) -> Any:  # noqa: ANN401 whatever was sent
    """The next message. Raises `EOFError` when the other end is gone."""
    (count,) = _COUNT.unpack(_exactly(link, _COUNT.size))
    sizes = struct.unpack(f"<{count}Q", _exactly(link, 8 * count))
    body, *aside = [_exactly(link, size) for size in sizes]
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
