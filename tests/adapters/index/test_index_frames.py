import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from unchunk.adapters.index import frames

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def passed(pair: Pair, message: object) -> object:
    sender = threading.Thread(target=frames.send, args=(pair[0], message))
    sender.start()
    received = frames.receive(pair[1])
    sender.join()
    return received


def test_messages_arrive_whole_and_in_order(pair: Pair) -> None:
    for message in ((), ("ü", 1, None), {"long": "x" * 3_000_000}, b"\0" * 70_000):
        assert passed(pair, message) == message


def test_arrays_arrive_whatever_their_number_and_size(pair: Pair) -> None:
    arrays = [np.arange(n * 50, dtype=np.float32) for n in range(300)]
    received = passed(pair, arrays)
    assert isinstance(received, list)
    assert all(np.array_equal(one, two) for one, two in zip(arrays, received, strict=True))
    large = np.random.default_rng(1).random((2000, 384))
    assert np.array_equal(passed(pair, large), large)  # type: ignore[arg-type]  # it is an array


def test_what_does_not_go_without_waiting_is_left(pair: Pair) -> None:
    ours, theirs = pair
    small = frames.pack("small")
    frames.send_some(ours, small)
    large = frames.pack("x" * 3_000_000)
    frames.send_some(ours, large)
    assert not small
    assert large
    sender = threading.Thread(target=frames.send_all, args=(ours, large))
    sender.start()
    assert frames.receive(theirs) == "small"
    assert frames.receive(theirs) == "x" * 3_000_000
    sender.join()
    assert not large


def test_a_message_is_missed_when_the_other_end_goes(pair: Pair) -> None:
    ours, theirs = pair
    ours.sendall(b"\x02\0\0\0")
    ours.close()
    with pytest.raises(EOFError):
        frames.receive(theirs)


def test_a_connection_that_breaks_is_an_end_too(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"unread")
    ours.sendall(b"x")
    ours.close()
    theirs.recv(1)
    with pytest.raises(EOFError):
        frames.receive(theirs)
