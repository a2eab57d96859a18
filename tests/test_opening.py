"""`unchunk.open`, with `async` and without."""

import asyncio
import gc
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from contextvars import ContextVar
from pathlib import Path

import pytest

import unchunk
from unchunk.chat.events import Done
from unchunk.chat.request import ChatRequest, question
from unchunk.synchronous import SynchronousEngine

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_library_without_async(tmp_path: Path) -> None:
    with unchunk.open(tmp_path, embedder="hashing") as library:
        [outcome] = library.add(EXAMPLES / "haiku.md")
        assert outcome.result == "added"
        assert library.text("haiku.md").encode() == (EXAMPLES / "haiku.md").read_bytes()
        with library.original("haiku.md") as path:
            assert path.read_bytes() == (EXAMPLES / "haiku.md").read_bytes()
        with pytest.raises(unchunk.UnchunkError):
            library.text("nothing")


def test_an_error_inside_a_context_ends_the_context_and_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unchunk.open(tmp_path, embedder="hashing") as library:
        library.add(EXAMPLES / "haiku.md")
        engine = library._engine
        assert isinstance(engine, unchunk.Engine)
        blobs = engine._parts.blobs
        local, ended = blobs.local, []

        @asynccontextmanager
        async def watched(key: str) -> AsyncIterator[Path]:
            try:
                async with local(key) as path:
                    yield path
            except ZeroDivisionError as error:
                ended.append(error)
                raise

        monkeypatch.setattr(blobs, "local", watched)
        with pytest.raises(ZeroDivisionError) as caught, library.original("haiku.md"):
            1 / 0  # noqa: B018 - it is the error that counts
        assert ended == [caught.value]
        with pytest.raises(unchunk.UnchunkError), library.original("nothing"):
            pass


def test_a_library_without_async_works_inside_an_event_loop(tmp_path: Path) -> None:
    async def notebook() -> int:
        with unchunk.open(tmp_path, embedder="hashing") as library:
            return len(library.documents())

    assert asyncio.run(notebook()) == 0


def test_an_answer_streams_without_async(tmp_path: Path) -> None:
    asked = ChatRequest(question("Which sound does the water make?"))
    with unchunk.open(tmp_path, embedder="hashing") as library:
        library.add(EXAMPLES / "haiku.md")
        kinds = [event.kind for event in library.chat(asked)]
        assert kinds[:2] == ["plan", "sources"]
        assert kinds[-1] == "done"
        *_, done = library.chat(asked)
        assert isinstance(done, Done)
        with closing(library.chat(asked)) as events:
            next(events)
        with pytest.raises(unchunk.UnchunkError, match="the question is empty"):
            next(library.chat(ChatRequest(question(" "))))


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
    late.close()
    del late
    gc.collect()
    assert not recwarn.list


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


def test_a_library_with_async(tmp_path: Path) -> None:
    async def work() -> str:
        async with unchunk.open(tmp_path, embedder="hashing") as library:
            await library.add(EXAMPLES / "haiku.md")
            found = await library.search("haiku")
            return found.hits[0].name

    assert asyncio.run(work()) == "haiku.md"


def test_a_home_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(unchunk.UnchunkError, match="choose another --home"),
        unchunk.open(tmp_path / "file" / "home", embedder="hashing"),
    ):
        pass


@pytest.mark.parametrize("setting", [{"embedder": "nonsense"}, {"index": "nonsense"}])
def test_an_adapter_that_is_not_there_is_an_error(
    tmp_path: Path, setting: dict[str, str | float | None]
) -> None:
    options: dict[str, str | float | None] = {"embedder": "hashing", **setting}
    with pytest.raises(unchunk.UnchunkError, match="nonsense"), unchunk.open(tmp_path, **options):
        pass


OFFLINE = """
import sys
import unchunk
with unchunk.open(sys.argv[1]) as library:
    outcomes = library.add(sys.argv[2])
    assert {one.result for one in outcomes} == {"added"}, outcomes
    [hit, *_] = library.search("What does it cost to lie in the harbour for a night?").hits
    assert hit.name == "harbour-rules.md", hit
    assert not library.search("anything").notes
    assert library.delete("harbour-rules.md").clean
"""


def test_a_fresh_home_works_with_the_network_cut(tmp_path: Path) -> None:
    cut = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*cut, "true"], check=False).returncode:
        pytest.skip("this system lets nobody cut the network: unshare is not permitted")
    done = subprocess.run(
        [*cut, sys.executable, "-c", OFFLINE, str(tmp_path / "home"), f"{EXAMPLES}/*.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
