"""The engine for scripts and notebooks: the same object, its coroutines run to their end."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import Context, copy_context
from functools import wraps
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

T = TypeVar("T")

_GRACE = 10.0


class Closable(Protocol):
    async def close(self) -> None: ...


class SynchronousEngine:
    """Every method of an `Engine` or a `Collection`, without `await`; in a running loop, too.

    All of it runs in one thread beside the caller's. An interrupt cancels what is under way.
    """

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, Closable]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="unchunk", daemon=True)
        self._thread.start()
        try:
            self._engine = self._wait(opening())
        except BaseException:
            self._stop()
            raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        found = getattr(self._engine, name)
        if not callable(found):
            return found

        @wraps(found)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the engine's own
            result = found(*arguments, **options)
            if isinstance(result, AbstractAsyncContextManager):
                return self._entered(result)
            if isinstance(result, AsyncGenerator):
                return self._iterated(result)
            return self._wait(result) if isawaitable(result) else result

        return call

    def close(self) -> None:
        """Closing twice is closing once."""
        if self._loop.is_closed():
            return
        try:
            self._wait(self._engine.close())
        finally:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _entered(self, manager: AbstractAsyncContextManager[Path]) -> Iterator[Path]:
        entered = self._wait(manager.__aenter__())
        try:
            yield entered
        except BaseException as error:
            if not self._wait(manager.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._wait(manager.__aexit__(None, None, None))

    def _iterated(self, stream: AsyncGenerator[T, None]) -> Iterator[T]:
        """One by one as they come; whoever leaves off early ends the stream."""
        # Each step is a task of its own, in the context of the first: what that set, the last resets.
        context = copy_context()
        try:
            while True:
                try:
                    one = self._wait(_next(stream), context)
                except StopAsyncIteration:
                    return
                yield one
        finally:
            if not self._loop.is_closed():
                self._wait(stream.aclose(), context)

    def _wait(self, work: Awaitable[T], context: Context | None = None) -> T:
        future: Future[T] = Future()
        task: asyncio.Task[T] | None = None

        def begin() -> None:
            nonlocal task
            task = self._loop.create_task(_result(work), context=context)
            task.add_done_callback(lambda ended: _settle(future, ended))

        def stop() -> None:
            future.cancel() if task is None else task.cancel()

        # An interrupt may come at any line, so the future is there before the work begins.
        try:
            self._loop.call_soon_threadsafe(begin)
            return future.result()
        except BaseException:
            # Interrupted: what is under way is told, and given time to put things down.
            if not future.done():
                self._loop.call_soon_threadsafe(stop)
                with suppress(CancelledError, TimeoutError):
                    future.exception(_GRACE)
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _settle(future: Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        future.cancel()
    elif error := task.exception():
        future.set_exception(error)
    else:
        future.set_result(task.result())


async def _next(stream: AsyncGenerator[T, None]) -> T:
    # Asked for in the loop that it runs in, or another one takes it for its own.
    return await anext(stream)


async def _result(work: Awaitable[T]) -> T:
    return await work
