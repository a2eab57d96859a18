"""The engine for scripts and notebooks: the same object, its coroutines run to their end."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import Context, copy_context
from functools import partial, wraps
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from types import AsyncGeneratorType, TracebackType
from typing import Any, Protocol, Self, TypeVar

from unchunk.errors import ClosedError

T = TypeVar("T")

# Seconds for what is told to stop, and for what nobody waits for any more at the very end.
_GRACE = 10.0
_LAST_MOMENTS = 2.0
# Seconds after which whoever waits looks up: the system may tell another thread of an interrupt,
# and then nothing wakes the one that Python raises it in.
_LOOK_UP = 0.5
_CLOSED = "the library is closed: open it again to ask it"


class Closable(Protocol):
    async def close(self) -> None: ...


class SynchronousEngine:
    """Every method of an `Engine` or a `Collection`, without `await`; in a running loop, too.

    All of it runs in one thread beside the caller's. An interrupt cancels what is under way. What
    the library calls while it works (to tell of progress, say) cannot ask it for anything.
    """

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, Closable]]) -> None:
        self._engine: Closable | None = None
        self._closing = threading.Lock()
        self._is_closing = self._is_closed = self._is_ending = False
        self._streams: dict[AsyncGeneratorType[Any, None], Context] = {}
        # What somebody waits for, and the ends of streams that nobody had any more.
        self._asked: set[asyncio.Task[Any]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="unchunk", daemon=True)
        self._thread.start()

        async def opened() -> None:
            # An interrupt may come when it is open, and before the caller knows.
            self._engine = await opening()

        try:
            self._wait(opened)
        except BaseException:
            self.close()
            raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        if name.startswith("_"):
            # `copy` and others look for such methods before there is an engine to ask.
            raise AttributeError(name)
        found = getattr(self._engine, name)
        if not callable(found):
            return found

        @wraps(found)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the engine's own
            if iscoroutinefunction(found):
                return self._wait(partial(found, *arguments, **options))
            result = found(*arguments, **options)
            if isinstance(result, AbstractAsyncContextManager):
                return self._entered(result)
            if isinstance(result, AsyncGeneratorType):
                return self._iterated(result)
            return self._wait(lambda: result) if isawaitable(result) else result

        return call

    def close(self) -> None:
        """Closing twice is closing once. What others still wait for is called off."""
        self._check_outside()
        while self._closing.locked():
            self._thread.join(_LOOK_UP)
        with self._closing:
            if self._thread.is_alive():
                self._close()

    def _close(self) -> None:
        try:
            with suppress(ClosedError):  # by one who was interrupted in it
                self._wait(self._finish)
        finally:
            with suppress(ClosedError):
                self._have_done(self._stop)
            while self._thread.is_alive():
                self._thread.join(_LOOK_UP)

    async def _finish(self) -> None:
        """What others wait for ends before the engine does, and that is closed whatever fails."""
        self._is_closing = True
        ending: list[asyncio.Task[None]] = []
        try:
            if others := self._asked - {asyncio.current_task()}:
                for one in others:
                    one.cancel()
                await asyncio.wait(others, timeout=_GRACE)
            while self._streams:
                with suppress(KeyError):  # its reader came first
                    stream, context = self._streams.popitem()
                    ending.append(self._loop.create_task(_end(stream), context=context))
            if left := self._leaving.union(ending):
                await asyncio.wait(left, timeout=_GRACE)
        finally:
            await self._close_engine()
        for one in ending:
            if one.done():
                one.result()

    async def _close_engine(self) -> None:
        if self._engine is not None and not self._is_closed:
            self._is_closed = True
            await self._engine.close()

    def _stop(self) -> None:
        # A callback may raise what ends the loop once, and a stop of that moment is forgotten.
        self._is_ending = True
        self._loop.stop()

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
        entered = self._wait(manager.__aenter__)
        try:
            yield entered
        except BaseException as error:
            told = type(error), error, error.__traceback__
            if not self._wait(lambda: manager.__aexit__(*told)):
                raise
        else:
            self._wait(lambda: manager.__aexit__(None, None, None))

    def _iterated(self, stream: AsyncGeneratorType[T, None]) -> Iterator[T]:
        """One by one as they come; whoever leaves off early ends the stream."""
        # Each step is a task of its own, in the context of the first: what that set, the last resets.
        context, asker = copy_context(), threading.current_thread()
        self._streams[stream] = context
        try:
            while True:
                asker = threading.current_thread()
                try:
                    one = self._wait(lambda: _next(stream), context)
                except StopAsyncIteration:
                    return
                yield one
        finally:
            self._streams.pop(stream, None)
            with suppress(ClosedError):  # which has ended it
                self._leave(stream, context, asker)

    def _leave(
        self, stream: AsyncGeneratorType[T, None], context: Context, asker: threading.Thread
    ) -> None:
        if threading.current_thread() is asker:
            self._wait(partial(_end, stream), context)
            return

        # Nobody had it any more, and this thread came upon it. It may be one that the stream needs
        # to end, so it does not wait.
        def begin() -> None:
            if self._is_ending:
                return
            ending = self._loop.create_task(_end(stream), context=context)
            self._leaving.add(ending)
            ending.add_done_callback(self._leaving.discard)

        self._have_done(begin)

    def _wait(self, work: Callable[[], Awaitable[T]], context: Context | None = None) -> T:
        """`work` is asked for when it begins: an interrupt before that leaves nothing undone."""
        self._check_outside()
        future: Future[T] = Future()
        task: asyncio.Task[T] | None = None

        def begin() -> None:
            nonlocal task
            if self._is_closing:
                future.set_exception(ClosedError(_CLOSED))
                return
            try:
                task = self._loop.create_task(_coroutine(work()), context=context)
            except Exception as error:  # noqa: BLE001 - what cannot begin is the caller's affair
                future.set_exception(error)
            else:
                self._asked.add(task)
                task.add_done_callback(self._asked.discard)
                task.add_done_callback(partial(self._settle, future))

        def stop() -> None:
            future.cancel() if task is None else task.cancel()

        # An interrupt may come at any line, so the future is there before the work begins.
        try:
            self._have_done(begin)
            return self._result(future)
        except BaseException:
            # Interrupted: what is under way is told, and given time to put things down.
            if not future.done():
                with suppress(ClosedError):
                    self._have_done(stop)
                    self._await(future, _GRACE)
            raise

    def _have_done(self, what: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:
            raise ClosedError(_CLOSED) from None

    def _result(self, future: Future[T]) -> T:
        self._await(future)
        if not future.done():
            raise ClosedError(_CLOSED)
        return future.result()

    def _await(self, future: Future[T], seconds: float = math.inf) -> None:
        """Until it is done, the time is over, or nobody is left who could do it."""
        deadline = time.monotonic() + seconds
        while not future.done() and self._thread.is_alive():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            with suppress(CancelledError, TimeoutError):
                future.exception(min(left, _LOOK_UP))

    def _settle(self, future: Future[T], task: asyncio.Task[T]) -> None:
        if task.cancelled() and self._is_closing:
            future.set_exception(ClosedError(_CLOSED))
        elif task.cancelled():
            future.cancel()
        elif error := task.exception():
            future.set_exception(error)
        else:
            future.set_result(task.result())

    def _check_outside(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "the library was asked for something by what it called itself, and would wait for"
                " ever: ask when it has returned"
            )

    def _run(self) -> None:
        """The thread: whoever has it end need not wait for that, and may be interrupted in it."""
        try:
            while not self._is_ending:
                # A callback may want the program to end, which is for its caller to hear.
                with suppress(SystemExit, KeyboardInterrupt):
                    self._loop.run_forever()
            self._loop.run_until_complete(_end_all())
            # An interrupt may have come before closing had begun.
            self._loop.run_until_complete(asyncio.wait_for(self._close_engine(), _GRACE))
        finally:
            self._loop.close()


async def _end_all() -> None:
    """Whatever is still under way puts down what it holds, if it can do so in a moment: all that
    takes long was ended by the engine, when it was closed. What does not, asyncio complains of.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for one in others:
        one.cancel()
    if others:
        ended, _ = await asyncio.wait(others, timeout=_LAST_MOMENTS)
        for one in ended:
            if not one.cancelled() and (why := one.exception()):
                told = {"message": "what was under way at the end failed", "exception": why}
                asyncio.get_running_loop().call_exception_handler(told)


async def _end(stream: AsyncGeneratorType[Any, None]) -> None:
    # One that is under way was told to stop, and does so by itself.
    if not stream.ag_running:
        await stream.aclose()


async def _next(stream: AsyncGeneratorType[T, None]) -> T:
    # Asked for in the loop that it runs in, or another one takes it for its own.
    return await anext(stream)


def _coroutine(work: Awaitable[T]) -> Coroutine[Any, Any, T]:
    """Itself where it is one: one inside another is never begun if that is cancelled at once."""
    return work if isinstance(work, Coroutine) else _result(work)


async def _result(work: Awaitable[T]) -> T:
    return await work
