"""The nodes of a Qdrant cluster, or the one server: each call goes to a node that answers."""

import asyncio
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    ProviderRefusedError,
    UnchunkError,
)

try:
    import grpc  # type: ignore[import-untyped]  # has no types of its own
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

T = TypeVar("T")

# A write may take this much longer than a search: a cluster needs some ten seconds to find out
# that a node is frozen, and refuses what that node had to take part in until then.
_LONGER = 3
# Which part of its time a call is left alone before its node is asked whether it lives.
_PART = 8
# A node that failed is not asked for so long; then it has to show first that it lives.
_AVOIDED = 5.0
# Until all nodes know that one is gone.
_PAUSE = 1.0
# A node that comes back is noticed soon; by itself gRPC would wait up to two minutes.
_CHANNEL = {"grpc.initial_reconnect_backoff_ms": 200, "grpc.max_reconnect_backoff_ms": 1000}
_STATUS = grpc.StatusCode
# Another node may be able to do what ended so.
_ELSEWHERE = (
    *(_STATUS.UNAVAILABLE, _STATUS.DEADLINE_EXCEEDED, _STATUS.INTERNAL, _STATUS.UNKNOWN),
    *(_STATUS.ABORTED, _STATUS.CANCELLED, _STATUS.RESOURCE_EXHAUSTED),
    *(None, 408, 429, 500, 502, 503, 504),
)
# And one that does not know a shard yet, which the others made.
_BEHIND = re.compile("Shard key .* not found")
# A collection that another process is making has no shards yet. It has them in a moment.
_BEING_MADE = "0 of 0 read operations failed"
_MOMENT = 0.05
_FAILURES = (grpc.aio.AioRpcError, UnexpectedResponse, ResponseHandlingException)


class Address(NamedTuple):
    url: str
    grpc_port: int


def addresses(text: str, grpc_port: int) -> list[Address]:
    """URLs with commas between them; `?grpc=PORT` behind one is its port for gRPC."""
    found = []
    for one in text.split(","):
        parts = urlsplit(one.strip())
        port = parse_qs(parts.query).get("grpc", [str(grpc_port)])[-1]
        if parts.scheme not in ("http", "https") or not parts.netloc or not port.isdecimal():
            raise InvalidSettingError(
                f"{one!r} is not the address of a Qdrant server: use http://HOST:6333 or, where"
                " gRPC has another port than 6334, http://HOST:6333?grpc=PORT"
            )
        found.append(Address(urlunsplit(parts._replace(query="")), int(port)))
    return found


class _SilentError(IndexUnavailableError):
    """Of a node that neither answers nor lives."""


class _Node:
    def __init__(self, address: Address, api_key: str | None, timeout: float) -> None:
        self.address = address
        self._api_key = api_key
        self._timeout = timeout
        self._client: AsyncQdrantClient | None = None
        self._connecting = asyncio.Lock()
        self._is_closed = False
        self.avoided_until = 0.0
        self.probing: asyncio.Task[None] | None = None

    async def client(self) -> AsyncQdrantClient:
        """By gRPC, which is quicker; by REST where only that gets through."""
        async with self._connecting:
            self.check_open()
            if self._client is None:
                try:
                    self._client = await self._connected(by_grpc=True)
                except grpc.aio.AioRpcError as error:
                    if error.code() is not _STATUS.UNAVAILABLE:
                        raise
                    self._client = await self._connected(by_grpc=False)
            return self._client

    async def _connected(self, *, by_grpc: bool) -> AsyncQdrantClient:
        client = self._made(by_grpc=by_grpc)
        try:
            await client.info()
            self.check_open()
        except BaseException:
            await client.close()
            raise
        return client

    def check_open(self) -> None:
        if self._is_closed:
            raise IndexUnavailableError("the index is closed")

    def _made(self, *, by_grpc: bool) -> AsyncQdrantClient:
        return AsyncQdrantClient(
            url=self.address.url,
            api_key=self._api_key,
            grpc_port=self.address.grpc_port,
            prefer_grpc=by_grpc,
            grpc_options=dict(_CHANNEL),
            timeout=math.ceil(self._timeout * _LONGER),
            check_compatibility=False,
        )

    async def lives(self, patience: float) -> bool:
        try:
            async with asyncio.timeout(patience):
                await (await self.client()).info()
        except (TimeoutError, IndexUnavailableError, *_FAILURES):
            return False
        return True

    async def close(self) -> None:
        self._is_closed = True
        if self.probing is not None:
            self.probing.cancel()
            await asyncio.wait({self.probing})
        if self._client is not None:
            await self._client.close()


class Nodes:
    """One of them is asked as long as it answers, a random one at first; then the next.

    Every call must be one that may be made twice. `timeout` is in seconds and bounds a call with
    all its tries; one that writes, or counts everything, may take three times as long.
    """

    def __init__(self, where: Sequence[Address], api_key: str | None, timeout: float) -> None:
        self.timeout = timeout
        self._nodes = [_Node(one, api_key, timeout) for one in where]
        random.shuffle(self._nodes)
        self._patience = timeout / _PART if len(where) > 1 else timeout

    async def ask(
        self,
        call: Callable[[AsyncQdrantClient], Awaitable[T]],
        *,
        is_long: bool = False,
        writes: bool = False,
    ) -> T:
        """What writes is tried until its time is over: the nodes may have to agree first."""
        limit = self.timeout * (_LONGER if is_long or writes else 1)
        failed: UnchunkError | None = None
        try:
            async with asyncio.timeout(limit):
                while True:
                    for node in self._in_turn():
                        try:
                            return await self._answer(node, call)
                        except _FAILURES as error:
                            failed = _ours(error)
                            if _code(error) not in _ELSEWHERE and not _BEHIND.search(str(failed)):
                                raise failed from error
                            self._avoid(node, error)
                        except _SilentError as error:
                            failed = error
                            self._avoid(node, error)
                    if _BEING_MADE in str(failed):
                        await asyncio.sleep(_MOMENT)
                        continue
                    if not writes or len(self._nodes) == 1:
                        raise failed or IndexUnavailableError("there is no Qdrant server to ask")
                    await asyncio.sleep(_PAUSE)
        except TimeoutError as error:
            last = f"; before that: {failed}" if failed else ""
            raise IndexUnavailableError(
                f"the Qdrant server gave no answer within {limit:g} s{last}"
            ) from error

    async def ask_all(self, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> list[T]:
        """What each node says that answers, for what one of them may not have heard of yet."""
        nodes = [node for node in self._in_turn() if node.avoided_until <= 0]
        if len(nodes) <= 1:
            return [await self.ask(call)]
        replies: list[T] = []

        async def told(node: _Node) -> None:
            try:
                replies.append(await self._answer(node, call))
            except (_SilentError, *_FAILURES) as error:
                self._avoid(node, error)

        try:
            async with asyncio.timeout(self.timeout):
                await asyncio.gather(*(told(node) for node in nodes))
        except TimeoutError:
            pass  # the others may have answered
        return replies or [await self.ask(call)]

    async def silent(self) -> list[str]:
        """The nodes that do not answer now."""
        live = await asyncio.gather(*(node.lives(self._patience) for node in self._nodes))
        for node, lives in zip(self._nodes, live, strict=True):
            node.avoided_until = 0.0 if lives else time.monotonic() + _AVOIDED
        return sorted(
            node.address.url for node, lives in zip(self._nodes, live, strict=True) if not lives
        )

    async def close(self) -> None:
        for node in self._nodes:
            with translated():
                await node.close()

    def _in_turn(self) -> list[_Node]:
        """Those that are avoided come last: where there is no other they are all that is left."""
        now = time.monotonic()
        for node in self._nodes:
            if 0 < node.avoided_until < now and node.probing is None and len(self._nodes) > 1:
                node.probing = asyncio.create_task(self._probe(node))
        return sorted(self._nodes, key=lambda node: node.avoided_until > 0)

    async def _answer(self, node: _Node, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """As long as the node lives it may take its time."""
        if len(self._nodes) == 1:
            return await _asked(node, call)
        asking = asyncio.ensure_future(_asked(node, call))
        try:
            while not (await asyncio.wait({asking}, timeout=self._patience))[0]:
                if not await node.lives(self._patience):
                    raise _SilentError(f"the Qdrant server {node.address.url} does not answer")
            return asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})

    def _avoid(self, node: _Node, error: Exception) -> None:
        """A node that answers, if only that something went wrong, is as good as others."""
        code = None if isinstance(error, _SilentError) else _code(error)
        if code in (None, _STATUS.UNAVAILABLE):
            node.avoided_until = time.monotonic() + _AVOIDED

    async def _probe(self, node: _Node) -> None:
        lives = await node.lives(self._patience)
        node.avoided_until = 0.0 if lives else time.monotonic() + _AVOIDED
        node.probing = None


async def _asked(node: _Node, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
    try:
        return await call(await node.client())
    except (asyncio.CancelledError, *_FAILURES):
        # A channel that is closed cancels its calls, in tasks that nobody cancelled.
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            node.check_open()
        raise


@contextmanager
def translated() -> Iterator[None]:
    """Their errors as ours."""
    try:
        yield
    except _FAILURES as error:
        raise _ours(error) from error


def _code(error: Exception) -> object:
    if isinstance(error, grpc.aio.AioRpcError):
        return error.code()
    return error.status_code if isinstance(error, UnexpectedResponse) else None


def _ours(error: Exception) -> UnchunkError:
    code = _code(error)
    said = error.details() if isinstance(error, grpc.aio.AioRpcError) else error
    # A line that breaks says nothing else.
    detail = str(said) or repr(getattr(error, "source", error))
    if code in (_STATUS.UNAUTHENTICATED, _STATUS.PERMISSION_DENIED, 401, 403):
        return ProviderRefusedError(f"the Qdrant server refuses: {detail}. Check its API key")
    if code in (_STATUS.INVALID_ARGUMENT, 400, 422):
        return InvalidInputError(f"the Qdrant server cannot use this: {detail}")
    return IndexUnavailableError(f"the Qdrant server cannot be used: {detail}")
