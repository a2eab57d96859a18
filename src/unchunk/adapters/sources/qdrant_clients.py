"""Clients of Qdrant: our own for a server or a local folder, and those that a caller has.

Where a client is synchronous, each of its calls runs in a thread. Their errors become ours.
"""

import asyncio
import fcntl
import inspect
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    NotFoundError,
    ProviderRefusedError,
    UnchunkError,
)

try:
    import grpc  # type: ignore[import-untyped]  # has no types of its own
    from qdrant_client import AsyncQdrantClient, QdrantClient, models
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

__all__ = ["as_ours", "awaited", "collection_names", "connected", "models"]

# What a source asks of a client.
_NEEDED = (
    "get_collection",
    "get_collections",
    "query_points",
    "query_batch_points",
    "scroll",
    "count",
)


class ThreadedClient:
    """Give a synchronous client the methods of an asynchronous one.

    Its calls run in `threads`, or in those of the event loop.
    """

    def __init__(self, client: Any, threads: Executor | None = None) -> None:  # noqa: ANN401 theirs
        self._client, self._threads = client, threads

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return partial(self._called, name)

    async def _called(self, name: str, *args: Any, **named: Any) -> Any:  # noqa: ANN401 theirs
        client = self._client

        def call() -> Any:  # noqa: ANN401 theirs
            return getattr(client, name)(*args, **named)

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, call)


class FolderClient(ThreadedClient):
    """A client of a local folder, which is ours to close, in a thread of its own.

    It computes each search itself, and SQLite may allow no other thread than the one that opened
    the folder.
    """

    def __init__(self, client: QdrantClient, thread: ThreadPoolExecutor) -> None:
        super().__init__(client, thread)
        self._thread = thread

    async def close(self) -> None:
        """Close it when its calls are done; closing it again does nothing."""
        if self._client is not None:
            # It is let go of in its thread, too, as its finalizer closes it once more.
            held, self._client = [self._client], None
            closing = self._thread.submit(lambda: held.pop().close())
            self._thread.shutdown(wait=False)
            # Closing goes on without a caller who gave up: the folder would stay locked.
            await asyncio.shield(asyncio.wrap_future(closing))


def awaited(client: Any) -> Any:  # noqa: ANN401 theirs
    """A client of the caller's, with calls that can be awaited."""
    lacking = [name for name in _NEEDED if not callable(getattr(client, name, None))]
    if lacking:
        raise InvalidInputError(
            f"qdrant_client has the type {type(client).__name__}, which has no {lacking[0]}: pass a"
            " QdrantClient or an AsyncQdrantClient of qdrant-client 1.12 or newer"
        )
    return client if inspect.iscoroutinefunction(client.query_points) else ThreadedClient(client)


async def collection_names(client: Any) -> list[str]:  # noqa: ANN401 theirs
    with as_ours("Qdrant"):
        found = await awaited(client).get_collections()
    return sorted(one.name for one in found.collections)


async def connected(
    place: str, api_key: str | None, grpc_port: int | None, seconds: int
) -> AsyncQdrantClient | FolderClient:
    """Return a client of a server by its URL, or of a local folder that Qdrant's client filled."""
    if "://" not in place:
        return await _of_folder(Path(place))
    try:
        return AsyncQdrantClient(
            url=place,
            api_key=api_key,
            grpc_port=grpc_port or 6334,
            prefer_grpc=grpc_port is not None,
            timeout=seconds,
            check_compatibility=False,
        )
    except ValueError as error:
        raise InvalidSettingError(
            f"{place!r} is not the URL of a Qdrant server: {error}"
        ) from error


async def _of_folder(folder: Path) -> FolderClient:
    thread = ThreadPoolExecutor(1, "qdrant-folder")
    opening = thread.submit(_opened, folder)
    try:
        return FolderClient(await asyncio.wrap_future(opening), thread)
    except BaseException:
        # A caller who gives up cannot stop the thread, and nobody else would close the client.
        thread.submit(_close, opening)
        thread.shutdown(wait=False)
        raise


def _close(opening: Future[QdrantClient]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _opened(folder: Path) -> QdrantClient:
    # The client would make a missing one.
    if not (folder / "meta.json").is_file():
        raise NotFoundError(
            f"{folder} is not a Qdrant folder: it has no meta.json. For a server, give its URL, such"
            " as http://HOST:PORT"
        )
    open_elsewhere = IndexUnavailableError(
        f"the Qdrant folder {folder} is open elsewhere: close it there, or use a Qdrant server"
    )
    # A client that is refused the lock leaves its file open.
    if _is_locked(folder / ".lock"):
        raise open_elsewhere
    try:
        return QdrantClient(path=str(folder))
    except RuntimeError as error:
        raise open_elsewhere from error


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # the client says what is wrong
    return False


@contextmanager
def as_ours(where: str) -> Iterator[None]:
    """Their errors as ours."""
    try:
        yield
    except grpc.RpcError as error:
        raise _error(error.code(), str(error.details()), where) from error
    except UnexpectedResponse as error:
        raise _error(error.status_code, str(error), where) from error
    except ResponseHandlingException as error:
        raise _error(None, str(error), where) from error
    except (ValueError, RuntimeError) as error:
        if (ours := _local_error(str(error), where)) is None:
            raise
        raise ours from error


def _error(code: object, detail: str, where: str) -> UnchunkError:
    detail = " ".join(detail.split())
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, 401, 403):
        return ProviderRefusedError(f"{where}: the server refuses: {detail}. Check its API key")
    if code in (grpc.StatusCode.NOT_FOUND, 404):
        return NotFoundError(f"{where} does not exist: {detail}")
    if code in (grpc.StatusCode.INVALID_ARGUMENT, 400, 422):
        return InvalidInputError(f"{where} rejects the request: {detail}")
    return IndexUnavailableError(f"{where} cannot be reached: {detail}")


def _local_error(message: str, where: str) -> UnchunkError | None:
    """What a client without a server says, which has no codes."""
    if message.startswith("Collection ") and message.endswith(" not found"):
        return NotFoundError(f"{where} does not exist")
    if "closed" in message or "after shutdown" in message:
        return IndexUnavailableError(f"{where} cannot be reached: its client is closed")
    return None
