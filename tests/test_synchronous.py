"""The engine without `await`: what an interrupt, a close and a forgotten stream do to it."""

import asyncio
import copy
import gc
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import unchunk
from unchunk import synchronous
from unchunk.errors import ClosedError
from unchunk.synchronous import SynchronousEngine


class Counting:
    """An engine with a stream, which knows when that ended."""

    where = ContextVar("where", default="outside")

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.reached = threading.Event()

    @classmethod
    async def opened(cls) -> "Counting":
        return cls()

    async def close(self) -> None:
        self.ended.append("closed")

    async def count(self, hang_at: int = -1) -> AsyncGenerator[int, None]:
        token = self.where.set("inside")
        try:
            for number in range(5):
                if number == hang_at:
                    self.reached.set()
                    await asyncio.Event().wait()
                assert self.where.get() == "inside"
                yield number
        finally:
            # In another context than it was made in, this is an error.
            self.where.reset(token)
            self.ended.append("stream")


def counting(engine: SynchronousEngine) -> Counting:
    assert isinstance(engine._engine, Counting)
    return engine._engine


def test_a_stream_ends_when_it_is_left_off(recwarn: pytest.WarningsRecorder) -> None:
    with SynchronousEngine(Counting.opened) as engine:
        assert list(engine.count()) == [0, 1, 2, 3, 4]
        assert engine.ended == ["stream"]
        for number in engine.count():
            if number == 2:
                break
        gc.collect()
        assert engine.ended == ["stream", "stream"]
        late = engine.count()
        assert next(late) == 0
        ended = engine.ended
    assert ended == ["stream", "stream", "stream", "closed"]
    late.close()
    del late
    gc.collect()
    assert not recwarn.list


def test_a_copy_asks_the_same_engine() -> None:
    with SynchronousEngine(Counting.opened) as engine:
        assert copy.copy(engine).ended is engine.ended
        with pytest.raises(AttributeError, match="_hidden"):
            engine._hidden  # noqa: B018 - looking is what fails


class Hasty(Future[Any]):
    """Interrupts whoever waits for it, if that is wanted, before anything has begun."""

    wanted = False

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if Hasty.wanted:
            Hasty.wanted = False
            raise KeyboardInterrupt
        return super().exception(timeout)


def test_an_interrupt_before_anything_has_begun_is_not_complained_of(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(synchronous, "Future", Hasty)
    go_on = threading.Event()
    with SynchronousEngine(Counting.opened) as engine:
        numbers = engine.count()
        assert next(numbers) == 0
        # The next step is asked for, and told to stop, while the loop is busy.
        engine._loop.call_soon_threadsafe(go_on.wait, 10)
        threading.Timer(0.2, go_on.set).start()
        Hasty.wanted = True
        with pytest.raises(KeyboardInterrupt):
            next(numbers)
        gc.collect()
    assert not recwarn.list


def test_what_is_still_under_way_at_the_end_puts_down_what_it_holds() -> None:
    held = threading.Lock()

    class Lingering(Counting):
        async def linger(self) -> None:
            async def hold() -> None:
                with held:
                    self.reached.set()
                    await asyncio.Event().wait()

            self.left = asyncio.create_task(hold())

    with SynchronousEngine(Lingering.opened) as engine:
        engine.linger()
        assert engine.reached.wait(10)
        assert held.locked()
    assert not held.locked()


def test_a_stream_inside_an_event_loop_is_none_of_that_loop() -> None:
    async def notebook() -> list[int]:
        with SynchronousEngine(Counting.opened) as engine:
            found = []
            for number in engine.count():
                found.append(number)
                await asyncio.sleep(0)
                if number == 3:
                    break
            assert not asyncio.get_running_loop()._asyncgens  # type: ignore[attr-defined]  # what it would end
            return found

    assert asyncio.run(notebook()) == [0, 1, 2, 3]


def test_an_interrupt_ends_a_stream_that_waits() -> None:
    with SynchronousEngine(Counting.opened) as engine:
        inner, main = counting(engine), threading.get_ident()

        def interrupt() -> None:
            inner.reached.wait()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt), closing(engine.count(hang_at=2)) as numbers:
            for _ in numbers:
                pass
        assert inner.ended == ["stream"]
        assert list(engine.count()) == [0, 1, 2, 3, 4]


def test_an_interrupt_just_after_the_work_began_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with SynchronousEngine(Counting.opened) as engine:
        inner, schedule = counting(engine), engine._loop.call_soon_threadsafe

        def interrupted(begin: Callable[[], None]) -> None:
            schedule(begin)
            monkeypatch.undo()
            inner.reached.wait()
            raise KeyboardInterrupt

        monkeypatch.setattr(engine._loop, "call_soon_threadsafe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(engine.count(hang_at=0))
        assert inner.ended == ["stream"]
        assert list(engine.count()) == [0, 1, 2, 3, 4]


def test_an_interrupt_that_another_thread_is_told_of_is_heeded() -> None:
    with SynchronousEngine(Counting.opened) as engine:
        inner = counting(engine)

        def interrupt() -> None:
            inner.reached.wait()
            # The main thread sleeps, and is not woken by what comes to this one.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            list(engine.count(hang_at=0))
        assert inner.ended == ["stream"]


def test_an_interrupt_when_the_library_was_just_opened_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Counting] = []

    async def opened() -> Counting:
        made.append(Counting())
        return made[0]

    class Late(Future[Any]):
        """Interrupts whoever waits for it when it is done."""

        def result(self, timeout: float | None = None) -> object:
            super().result(timeout)
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(synchronous, "Future", Late)
    with pytest.raises(KeyboardInterrupt):
        SynchronousEngine(opened)
    assert made[0].ended == ["closed"]


def test_a_second_interrupt_while_it_closes_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lasting(Counting):
        async def close(self) -> None:
            self.left = asyncio.create_task(self.linger())

        async def linger(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)

    engine = SynchronousEngine(Lasting.opened)
    thread, join = engine._thread, engine._thread.join

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.close()
    join(10)
    assert not thread.is_alive()
    engine.close()


def test_an_interrupt_before_closing_has_begun_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = SynchronousEngine(Counting.opened)
    monkeypatch.setattr(synchronous, "Future", Hasty)
    go_on = threading.Event()
    # It is told to stop while the loop is busy.
    engine._loop.call_soon_threadsafe(go_on.wait, 10)
    threading.Timer(0.2, go_on.set).start()
    monkeypatch.setattr(Hasty, "wanted", True)
    with pytest.raises(KeyboardInterrupt):
        engine.close()
    engine._thread.join(30)
    assert engine.ended == ["closed"]


def test_a_stream_that_does_not_end_does_not_keep_the_library_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Endless(Counting):
        async def stay(self) -> AsyncGenerator[int, None]:
            try:
                yield 0
            finally:
                await asyncio.Event().wait()

    monkeypatch.setattr(synchronous, "_GRACE", 0.05)
    with SynchronousEngine(Endless.opened) as engine:
        numbers = engine.stay()
        assert next(numbers) == 0
    assert engine.ended == ["closed"]


def test_work_that_cannot_begin_is_an_error_of_the_caller() -> None:
    def broken() -> Any:  # noqa: ANN401 - it gives nothing
        raise ZeroDivisionError

    with SynchronousEngine(Counting.opened) as engine:
        with pytest.raises(ZeroDivisionError):
            engine._wait(broken)
        assert list(engine.count()) == [0, 1, 2, 3, 4]


def test_what_others_wait_for_is_called_off_when_it_is_closed() -> None:
    with ThreadPoolExecutor(1) as others:
        with SynchronousEngine(Counting.opened) as engine:
            waiting = others.submit(list, engine.count(hang_at=1))
            assert engine.reached.wait(10)
        assert isinstance(waiting.exception(30), ClosedError)


def test_whoever_reads_on_while_it_is_being_closed_is_told() -> None:
    """And does not take what there was so far for the whole."""

    class Slow(Counting):
        is_closing, go_on = threading.Event(), threading.Event()

        async def close(self) -> None:
            self.is_closing.set()
            await asyncio.to_thread(self.go_on.wait, 30)

    engine = SynchronousEngine(Slow.opened)
    numbers = engine.count()
    assert next(numbers) == 0
    with ThreadPoolExecutor(1) as others:
        closed = others.submit(engine.close)
        assert Slow.is_closing.wait(30)
        with pytest.raises(ClosedError):
            next(numbers)
        Slow.go_on.set()
        assert closed.exception(30) is None


def test_a_stream_that_cannot_be_ended_does_not_keep_the_library_open() -> None:
    class Broken(Counting):
        async def fail(self) -> AsyncGenerator[int, None]:
            try:
                yield 0
            finally:
                raise ZeroDivisionError

    engine = SynchronousEngine(Broken.opened)
    numbers = engine.fail()
    assert next(numbers) == 0
    with pytest.raises(ZeroDivisionError):
        engine.close()
    assert engine.ended == ["closed"]
    engine.close()


def test_a_library_that_is_closed_amid_a_long_call_calls_it_off(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.md").write_text(f"# {number}\n\n" + "Words and words. " * 200)
    begun = threading.Event()
    with ThreadPoolExecutor(1) as others:
        with unchunk.open(tmp_path / "home", embedder="hashing") as library:
            adding = others.submit(library.add, folder, report=lambda _: begun.set())
            assert begun.wait(60)
        assert isinstance(adding.exception(60), ClosedError)
    with unchunk.open(tmp_path / "home", embedder="hashing") as again:
        assert {one.result for one in again.add(folder)} <= {"added", "unchanged"}
        assert again.doctor().findings == ()


def test_a_callback_that_ends_the_program_while_it_closes_keeps_nothing_open() -> None:
    engine = SynchronousEngine(Counting.opened)

    def both() -> None:
        engine._stop()
        sys.exit()

    engine._loop.call_soon_threadsafe(both)
    engine._thread.join(30)
    assert not engine._thread.is_alive()


def test_whoever_asks_a_library_that_is_closed_is_told(recwarn: pytest.WarningsRecorder) -> None:
    engine = SynchronousEngine(Counting.opened)
    # The thread ends, and nobody has closed the library.
    engine._loop.call_soon_threadsafe(engine._stop)
    engine._thread.join(10)
    with pytest.raises(ClosedError):
        next(engine.count())
    with pytest.raises(ClosedError):
        engine._result(Future())
    gc.collect()
    assert not recwarn.list


class Calling(Counting):
    """Calls back while it works."""

    async def call(self, what: Callable[[], object]) -> object:
        return what()


def test_a_callback_that_asks_the_library_again_is_told_so() -> None:
    with SynchronousEngine(Calling.opened) as engine:
        with pytest.raises(RuntimeError, match="when it has returned"):
            engine.call(lambda: list(engine.count()))
        with pytest.raises(RuntimeError, match="when it has returned"):
            engine.call(engine.close)
        assert list(engine.count()) == [0, 1, 2, 3, 4]


def test_a_stream_that_is_found_forgotten_in_the_thread_of_the_loop_is_ended_there() -> None:
    with SynchronousEngine(Calling.opened) as engine:
        forgotten = [engine.count()]
        assert next(forgotten[0]) == 0
        # Whoever has the garbage collector run frees it: here that is the loop's own thread.
        engine.call(forgotten.clear)
        assert list(engine.count()) == [0, 1, 2, 3, 4]
        assert engine.ended == ["stream", "stream"]


def test_a_thread_that_comes_upon_a_forgotten_stream_does_not_wait_for_its_end() -> None:
    """For it may be one that the stream needs to end."""

    class Working(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.worker = ThreadPoolExecutor(1)

        async def close(self) -> None:
            await super().close()
            self.worker.shutdown()

        async def work(self) -> AsyncGenerator[int, None]:
            try:
                yield 0
            finally:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self.worker, self.ended.append, "work")

    with SynchronousEngine(Working.opened) as engine:
        forgotten = [engine.work()]
        assert next(forgotten[0]) == 0
        engine.worker.submit(forgotten.clear).result(30)
    assert engine.ended == ["work", "closed"]


def test_an_interrupt_while_a_stream_is_being_stopped_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stubborn(Counting):
        go_on = asyncio.Event()

        async def stay(self) -> AsyncGenerator[int, None]:
            try:
                self.reached.set()
                await asyncio.Event().wait()
                yield 0
            finally:
                await self.go_on.wait()

    monkeypatch.setattr(synchronous, "_GRACE", 0.01)
    with SynchronousEngine(Stubborn.opened) as engine:
        main = threading.get_ident()

        def interrupt() -> None:
            engine.reached.wait()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            list(engine.stay())
        engine._loop.call_soon_threadsafe(engine.go_on.set)


def test_two_who_close_it_wait_for_the_same_end() -> None:
    class Slow(Counting):
        is_closing, go_on = threading.Event(), threading.Event()

        async def close(self) -> None:
            if self.is_closing.is_set():
                return
            self.is_closing.set()
            await asyncio.to_thread(self.go_on.wait, 30)
            await super().close()

    engine = SynchronousEngine(Slow.opened)
    with ThreadPoolExecutor(2) as others:
        first = others.submit(engine.close)
        assert Slow.is_closing.wait(30)
        second = others.submit(engine.close)
        Slow.go_on.set()
        assert first.exception(30) is None
        assert second.exception(30) is None
    assert engine.ended == ["closed"]


def test_a_callback_may_end_the_program_and_the_library_is_closed_all_the_same() -> None:
    with SynchronousEngine(Calling.opened) as engine:
        with pytest.raises(SystemExit):
            engine.call(sys.exit)
        assert list(engine.count()) == [0, 1, 2, 3, 4]
    assert engine.ended == ["stream", "closed"]
