"""An answer in another shape than ours for the one who asked: whole, or as a stream."""

from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from unchunk.chat.events import Answer, Done, Event, Failed, gathered
from unchunk.domain import OwnerId
from unchunk.server.access import House, limited_of
from unchunk.server.faults import RefusedError
from unchunk.server.openai.faults import fault
from unchunk.server.openai.shapes import Shape
from unchunk.server.rendering import rendered, reply
from unchunk.server.stream import Stream
from unchunk.server.streaming import NOBODY, done_for, reply_of

_BROKEN_OFF = Failed("cut-off", "the answer ended before its end: ask again", transient=True)


class Writer(Protocol):
    """Events into the bytes of a stream. What makes an answer whole is written for `Done` alone."""

    def take(self, event: Event) -> Iterable[bytes]:
        """`Failed` is only to be noted: there may be an answer in spite of it."""
        ...

    def fail(self, failure: Failed) -> Iterable[bytes]:
        """How a stream ends that has no whole answer."""
        ...


async def told(
    request: Request,
    house: House,
    owner: OwnerId,
    events: AsyncGenerator[Event, None],
    shape: Writer | Callable[[Answer], Shape],
) -> Response:
    """The reply: a stream by a writer, or the whole answer in a shape. Whoever goes away stops it."""
    if not callable(shape):
        make = partial(Told, writer=shape)
        stream = house.streams.begin(owner, events, limited_of(request), make)
        return await reply_of(house.streams, stream, house.options)
    answer = await done_for(request.receive, house.streams, owner, gathered(events))
    if answer is None:
        return Response(status_code=NOBODY)
    _check_whole(answer)
    return reply(shape(answer))


class Told(Stream):
    """Ends with the answer or with an error, and never as if it were whole where it is not."""

    __slots__ = ("_failure", "_is_whole", "_writer")
    is_for_one = True

    def __init__(self, name: str, owner: OwnerId, writer: Writer) -> None:
        super().__init__(name, owner)
        self._writer = writer
        self._failure = _BROKEN_OFF
        self._is_whole = False

    def add(self, event: Event) -> None:
        if isinstance(event, Failed):
            self._failure = event
        if isinstance(event, Done):
            if event.finish == "failed":
                return
            self._is_whole = True
        self._write(self._writer.take(event))

    def end(self) -> None:
        if not self._is_whole:
            self._write(self._writer.fail(self._failure))
        super().end()

    def _write(self, pieces: Iterable[bytes]) -> None:
        for one in pieces:
            self._append(one)


def data(shape: Shape, event: str = "") -> bytes:
    """A server-sent event; OpenAI's chat has no names for them."""
    name = f"event: {event}\n".encode() if event else b""
    return b"%bdata: %b\n\n" % (name, rendered(shape))


def error_of(failure: Failed) -> Shape:
    """As the body of a reply has it."""
    return fault(_status(failure), failure.code, failure.message)


def _check_whole(answer: Answer) -> None:
    """Raises what a stream would end with."""
    if answer.finish == "failed":
        failure = answer.error or _BROKEN_OFF
        raise RefusedError(_status(failure), failure.code, failure.message)


def _status(failure: Failed) -> int:
    return 503 if failure.transient else 502
