"""An engine beside a server, over a real line to it."""

import asyncio
import copy
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from homes import Home
from server.scripted import Scripted, Served, answer, eventually, serving
from unchunk.beside import line
from unchunk.beside.engine import EngineBeside
from unchunk.beside.remote import RemoteEngine
from unchunk.beside.running import Running
from unchunk.beside.wire import written
from unchunk.chat.events import Event, Used, gather
from unchunk.chat.explaining import Explanation
from unchunk.chat.request import ChatRequest, question
from unchunk.engine import Engine
from unchunk.errors import (
    InvalidInputError,
    LibraryInUseError,
    NotFoundError,
    PermanentError,
    TransientError,
)
from unchunk.library.ingest import Event as Step
from unchunk.library.intake import Source
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.asking import Asking
from unchunk.retrieval.shelf import Where
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

SECRET = "ur_" + "s" * 43
ASKED = ChatRequest(question("When?"))


async def opened(home: Home) -> Engine:
    return await open_engine(load(home.folder, {}, embedder="hashing"))


def running(url: str, *, secret: str = SECRET, owner: str = "local", version: str = "1") -> Running:
    return Running(url, 7, owner, version, secret)


@contextmanager
def beside(home: Home, **options: object) -> Iterator[tuple[Served, Running]]:
    """A server with keys in force, which know nobody but whoever has its secret."""

    async def opening() -> Engine:
        return await opened(home)

    chosen = Options(require_keys=True, run_secret=SECRET, **cast("dict[str, Any]", options))
    with serving(opening, chosen) as served:
        yield served, running(served.url)


@asynccontextmanager
async def scripted(engine: Scripted, served: Served) -> AsyncIterator[RemoteEngine]:
    """One whose answers come from the server; it has no library of its own."""
    there = running(served.url)
    near = RemoteEngine(engine.engine, lambda: there, owner="local", version="1", max_bytes=1)
    try:
        yield near
    finally:
        await near.close()


def run(
    home: Home, there: Running, work: Callable[[EngineBeside], Awaitable[None]], most: int = 10**9
) -> None:
    async def done() -> None:
        async with asyncio.timeout(120):
            engine = await opened(home)
            near = EngineBeside(engine, lambda: there, owner="local", version="1", max_bytes=most)
            try:
                await work(near)
            finally:
                await near.close()

    asyncio.run(done())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.file("tides.md", "# Tides\n\nThe tide comes in twice a day.\n")
    home.file('sub/o"d\n ü.md'.replace("\n", ""), "# Weed\n\nSand is dry above the line of weed.\n")
    home.file("broken.pdf", b"%PDF-1.7 nonsense")
    return home


def test_attributes_that_cannot_be_fail_their_own_file_only(home: Home) -> None:
    path = home.files / "tides.md"

    async def work(engine: EngineBeside) -> None:
        files = [
            Source(path, "one.md", attributes={"year": float("inf")}),
            Source(path, "two.md", attributes={"year": 1851}),
        ]
        one, two = await engine.add_files(files)
        assert (one.result, one.error_code) == ("failed", "invalid")
        assert "too large, or is none" in one.error
        assert two.result == "added"
        assert {it.name: it.attributes for it in await engine.documents()} == {
            "two.md": {"year": 1851}
        }

    with beside(home) as (_, there):
        run(home, there, work)


def test_documents_go_in_are_found_and_go_out(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        steps: list[Step] = []
        counted: list[int] = []
        outcomes = await engine.add(
            home.files, folder="shore", report=steps.append, found=counted.append
        )
        assert counted == [3]
        results = {one.name: one for one in outcomes}
        assert results["tides.md"].result == "added"
        assert results['sub/o"d ü.md'].result == "added"
        assert results["broken.pdf"].result == "failed"
        assert results["broken.pdf"].error
        for name in results:
            stages = [one.stage for one in steps if one.name == name]
            assert (stages[0], stages[-1]) == ("read", "done")
            assert stages.count("read") == stages.count("done") == 1
        assert "embedding" in {one.stage for one in steps}
        again = await engine.add(home.files / "tides.md", folder="shore")
        assert [(one.result, one.chunks) for one in again] == [("unchanged", 1)]
        linked = await engine.add(home.files / "tides.md")
        assert [(one.result, one.same_as) for one in linked] == [("linked", "tides.md")]
        # Read here, from the catalog that both have.
        assert len(await engine.documents()) == 4
        found = await engine.search("line of weed", limit=1, where=Where(folders=("shore",)))
        assert found.hits[0].name == 'sub/o"d ü.md'
        evidence = await engine.retrieve("how often does the tide come", amount=Amount(1))
        assert "twice a day" in evidence.documents[0].full_content
        assert [one.result for one in await engine.retry()] == ["failed"]
        assert [one.result for one in await engine.retry("broken.pdf")] == ["failed"]
        done: list[tuple[str, int, int]] = []
        written = await engine.reindex(linked[0].document, report=lambda *step: done.append(step))
        assert written.documents == 1
        assert done
        receipt = await engine.delete(linked[0].document)
        assert (receipt.name, receipt.clean) == ("tides.md", True)
        with pytest.raises(NotFoundError):
            await engine.document(linked[0].document)
        assert await engine.retry(results["tides.md"].document) == []

    with beside(home) as (_, there):
        run(home, there, work)


def test_a_file_that_is_too_big_or_no_file_says_so(home: Home) -> None:
    (home.files / "link.md").symlink_to("/etc/hostname")
    home.file("a\nb.md", "text")

    async def work(engine: EngineBeside) -> None:
        steps: list[Step] = []
        outcomes = await engine.add(home.files, report=steps.append)
        failed = {one.name: one.error_code for one in outcomes if one.result == "failed"}
        assert failed["link.md"] == "unreadable"
        assert failed["tides.md"] == "too-big"
        assert failed["a\nb.md"] == "name"
        assert sum(one.stage == "done" for one in steps) == 5

    with beside(home) as (_, there):
        run(home, there, work, most=20)


def test_a_name_that_no_document_can_have_fails_alone(home: Home) -> None:
    with beside(home) as (served, _):
        fields = {"name": "../out.md", "folder": ""}
        reply = httpx2.post(
            f"{served.url}/api/beside/add",
            data=fields,
            files={"file": ("file", b"text")},
            headers={"Authorization": f"Bearer {SECRET}"},
        )
        assert reply.status_code == 400


def test_an_answer_is_the_same_as_without_a_server() -> None:
    engine = Scripted(answer("It ", "is \ud83d", "so."))

    async def work() -> list[Event]:
        async with scripted(engine, served) as near:
            return [event async for event in near.chat(ASKED)]

    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        events = asyncio.run(work())
    assert events == engine.events
    assert gather(events).answer == "It is \ud83dso."
    [(asked, owner, name)] = engine.asked
    assert (asked, owner) == (ASKED, "local")
    assert name


class Explained(Scripted):
    """One that explains, too."""

    async def explain(
        self,
        request: ChatRequest,
        *,
        owner: str,
        request_id: str = "",
        before_turn: int | None = None,
    ) -> Explanation:
        self.asked.append((request, owner, request_id))
        assert before_turn == 2
        return Explanation(None, (), "", Used(0, None, "characters"))


def test_calls_have_the_id_of_the_request_that_they_are_for() -> None:
    engine = Explained()

    async def work() -> None:
        async with scripted(engine, served) as near:
            await near.ask(ASKED, request_id="trace-7")
            await near.explain(ASKED, request_id="trace-8", before_turn=2)

    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        asyncio.run(work())
    assert [name for *_, name in engine.asked] == ["trace-7", "trace-8"]


def test_a_copy_of_an_engine_is_an_engine_and_what_is_private_is_not_passed_on(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        both: tuple[Any, ...] = (engine, engine._connected())
        for one in both:
            assert await copy.copy(one).documents() == []
            assert not hasattr(one, "__len__")
            with pytest.raises(AttributeError, match="_parts"):
                one._parts  # noqa: B018 - looking is what fails

    run(home, running("http://127.0.0.1:9"), work)


def test_whoever_leaves_off_stops_the_answer() -> None:
    engine = Scripted(pause_at=3)

    async def work() -> None:
        async with scripted(engine, served) as near:
            events = near.chat(ASKED)
            await anext(events)
            await events.aclose()

    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        asyncio.run(work())
        eventually(lambda: engine.open == 0 and served.streams.running == 0)
        assert engine.stopped == 1


def test_a_server_that_ends_says_so() -> None:
    engine = Scripted(pause_at=2)

    async def work(begun: threading.Event) -> None:
        async with scripted(engine, served) as near:
            events = near.chat(ASKED)
            await anext(events)
            await anext(events)
            begun.set()
            with pytest.raises(TransientError, match="shutting down"):
                await anext(events)

    begun = threading.Event()
    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        thread = threading.Thread(target=lambda: asyncio.run(work(begun)))
        thread.start()
        assert begun.wait(30)
        assert served.server is not None
        served.server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
    assert engine.stopped == 1


@pytest.mark.parametrize(
    ("events", "kind", "said"),
    [
        ([NotFoundError("there is no conversation 'x'")], NotFoundError, "no conversation 'x'"),
        ([RuntimeError("the inside")], PermanentError, "went wrong inside the server"),
    ],
)
def test_what_goes_wrong_over_there_goes_wrong_here(
    events: list[Exception], kind: type[Exception], said: str
) -> None:
    engine = Scripted(events)

    async def work() -> None:
        async with scripted(engine, served) as near:
            with pytest.raises(kind, match=said):
                await anext(near.chat(ASKED))

    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        asyncio.run(work())


def test_too_many_answers_are_refused_as_everywhere() -> None:
    engine = Scripted(pause_at=2)

    async def work() -> None:
        async with scripted(engine, served) as near:
            first = near.chat(ASKED)
            await anext(first)
            with pytest.raises(TransientError, match="1 answers are being written"):
                await anext(near.chat(ASKED))
            await first.aclose()

    with serving(engine.engine, Options(run_secret=SECRET, max_streams=1)) as served:
        asyncio.run(work())


def test_what_needs_the_library_for_itself_names_the_server(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        for call in (
            engine.migrate(),
            engine.doctor(fix=True),
            engine.export("x.zip"),
            engine.restore("x.zip"),
        ):
            with pytest.raises(LibraryInUseError, match=r"\(http://127\.0\.0\.1:9, pid 7\)\. Stop"):
                await call

    run(home, running("http://127.0.0.1:9"), work)


def test_a_server_that_does_not_answer_is_named(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        with pytest.raises(TransientError, match=r"http://127\.0\.0\.1:9 \(pid 7\) does not"):
            await engine.search("tide")
        assert await engine.documents() == []

    run(home, running("http://127.0.0.1:9"), work)


@pytest.mark.parametrize(("owner", "version"), [("ben", "1"), ("local", "2")])
def test_one_that_works_for_others_is_not_asked(home: Home, owner: str, version: str) -> None:
    async def work(engine: EngineBeside) -> None:
        with pytest.raises(LibraryInUseError, match="pid 7"):
            await engine.search("tide")

    run(home, running("http://127.0.0.1:9", owner=owner, version=version), work)


def test_without_its_secret_nobody_comes_in(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        with pytest.raises(PermanentError, match="not valid here"):
            await engine.search("tide")

    with beside(home) as (served, _):
        run(home, running(served.url, secret=SECRET[:-1]), work)
        reply = httpx2.post(f"{served.url}/api/beside/search", json={"question": "tide"})
        assert reply.status_code == 401


def test_a_key_of_another_opens_only_what_is_theirs(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        await engine.add(home.files / "tides.md")

    with beside(home) as (served, there):
        run(home, there, work)
        keyring = served.app.state.house.engine.keyring
        _, key = served.inside(lambda: keyring.new("his", "ben"))
        headers = {"Authorization": f"Bearer {key}"}
        reply = httpx2.post(
            f"{served.url}/api/beside/search", json={"question": "tide"}, headers=headers
        )
        assert json.loads(reply.text.splitlines()[-1])["result"]["hits"] == []


@pytest.mark.parametrize(
    ("call", "body", "status"),
    [
        ("nonsense", b"{}", 404),
        ("search", b"", 400),
        ("search", b'{"question": 7}', 400),
        ("delete", b"[]", 400),
        ("chat", b'{"messages": []}', 400),
        ("chat", b'{"messages": [{"content": "x"}]}', 400),
    ],
)
def test_what_is_no_call_is_refused(home: Home, call: str, body: bytes, status: int) -> None:
    with beside(home) as (served, _):
        headers = {"Authorization": f"Bearer {SECRET}"}
        reply = httpx2.post(f"{served.url}/api/beside/{call}", content=body, headers=headers)
        assert reply.status_code == status
        assert reply.json()["error"]["message"]


def test_a_search_for_nothing_is_refused_as_everywhere(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        with pytest.raises(InvalidInputError, match="the question is empty"):
            await engine.search(" ")

    with beside(home) as (_, there):
        run(home, there, work)


def test_an_interrupted_file_is_kept_and_the_same_call_goes_on(home: Home) -> None:
    home.file("long.md", "".join(f"Line {at} of the long report.\n\n" for at in range(4000)))

    async def work(engine: EngineBeside) -> None:
        begun = asyncio.Event()

        def report(step: Step) -> None:
            if step.stage == "extracted":
                begun.set()

        adding = asyncio.create_task(engine.add(home.files / "long.md", report=report))
        await begun.wait()
        adding.cancel()
        with suppress(asyncio.CancelledError):
            await adding
        [again] = await engine.add(home.files / "long.md")
        assert again.result in ("added", "unchanged")

    with beside(home) as (_, there):
        run(home, there, work)


def test_files_are_found_by_their_names_where_the_server_searches(home: Home) -> None:
    """Its settings may name a collection, which this process cannot open a second time."""

    async def work(engine: EngineBeside) -> None:
        await engine.add(home.files / "tides.md", folder="shore")
        [card] = await engine.find_file_by_name(file_name="tides.md")
        assert (card.path, card.folder, card.name) == ("shore/tides.md", "shore", "tides.md")
        assert not engine.searches_elsewhere

    with beside(home) as (served, there):
        run(home, there, work)
        seen: list[str] = []

        async def elsewhere() -> Asking:
            seen.append("elsewhere")
            raise NotFoundError("the collection is gone")

        served.app.state.house.engine._elsewhere = elsewhere

        async def again(engine: EngineBeside) -> None:
            assert engine.searches_elsewhere
            with pytest.raises(NotFoundError, match="the collection is gone"):
                await engine.find_file_by_name("tides.md")

        run(home, there, again)
        assert seen == ["elsewhere"]


@pytest.mark.parametrize("theirs", ["", "chunkenizer:http://127.0.0.1:1"])
def test_a_collection_that_the_server_does_not_search_is_not_left_out(
    home: Home, theirs: str
) -> None:
    ours = "qdrant:http://user:word@127.0.0.1:1#pages"

    def told(source: str, there: Running) -> dict[str, str]:
        """What each call is answered with, if it is refused."""

        async def calls(engine: EngineBeside) -> dict[str, str]:
            refusals = {}
            for name, call in {
                "add": engine.add(home.files / "tides.md"),
                "search": engine.search("tides"),
                "search_library": engine.search_library("tides"),
                "retrieve": engine.retrieve("tides"),
                "search_with_context": engine.search_with_context("tides"),
                "rag_search": engine.rag_search("tides"),
                "find_file_by_name": engine.find_file_by_name("tides.md"),
                "ask": engine.ask("When are tides?"),
                "explain": engine.explain(ASKED),
            }.items():
                try:
                    await call
                except LibraryInUseError as error:
                    refusals[name] = str(error)
            return refusals

        async def done() -> dict[str, str]:
            engine = await opened(home)
            near = EngineBeside(
                engine, lambda: there, owner="local", max_bytes=10**9, source=source, version="1"
            )
            try:
                return await calls(near)
            finally:
                await near.close()

        return asyncio.run(done())

    with beside(home) as (_, there):
        assert told("", replace(there, source=theirs)) == {}
        assert told(ours, replace(there, source=ours)) == {}
        refusals = told(ours, replace(there, source=theirs))
    searched = {"search", "retrieve", "search_with_context", "rag_search", "find_file_by_name"}
    assert set(refusals) == {*searched, "ask", "explain"}
    for refusal in refusals.values():
        assert "unchunk.open_collection" in refusal
        assert "word" not in refusal


def test_its_embedder_is_the_servers_with_the_threshold_that_holds(home: Home) -> None:
    async def work(engine: EngineBeside) -> None:
        assert engine.embedder is not None
        assert engine.embedder.min_score == 0.77
        assert (await engine.makeup()).embedder == engine.embedder

    async def opening() -> Engine:
        chosen = load(home.folder, {}, embedder="hashing", embedder_min_score=0.77)
        return await open_engine(chosen)

    with serving(opening, Options(run_secret=SECRET)) as served:
        run(home, running(served.url), work)


@pytest.mark.parametrize("min_score", [float("-inf"), float("inf"), float("nan"), 0.1])
def test_any_number_means_the_same_beside_a_server(home: Home, min_score: float) -> None:
    async def found(engine: Engine) -> object:
        try:
            return await engine.search_with_context("tide", min_score=min_score)
        except InvalidInputError as error:
            return str(error)

    async def work(engine: EngineBeside) -> None:
        alone.append(await found(cast("Engine", engine)))

    alone: list[object] = []

    async def filled(engine: Engine) -> None:
        await engine.add(home.files / "tides.md")
        alone.append(await found(engine))

    home.run(filled)
    with beside(home) as (_, there):
        run(home, there, work)
    assert alone[0] == alone[1]


def test_what_cannot_be_asked_is_refused_alike_beside_a_server(home: Home) -> None:
    asked: list[Callable[[Any], Awaitable[object]]] = [
        lambda engine: engine.search("half \ud83d"),
        lambda engine: engine.rag_search("half \ud83d"),
        lambda engine: engine.search_with_context("half \ud83d"),
        lambda engine: engine.add(home.files / "tides.md", folder="../.."),
        lambda engine: engine.retrieve("tide", mode="bogus"),
    ]

    async def refused(engine: Engine) -> list[str]:
        said = []
        for ask in asked:
            with pytest.raises(InvalidInputError) as error:
                await ask(engine)
            said.append(str(error.value))
        return said

    async def work(engine: EngineBeside) -> None:
        told.append(await refused(cast("Engine", engine)))

    told = [home.run(refused)]
    with beside(home) as (_, there):
        run(home, there, work)
    assert told[0] == told[1]


def test_a_text_keeps_its_odd_ends_of_lines_on_the_way(home: Home) -> None:
    text = "The tide\u2028comes in\x85twice\u2029a day."

    async def work(engine: EngineBeside) -> None:
        await engine.add(home.file("odd.txt", text))
        assert [hit.text for hit in (await engine.search("tide")).hits] == [text]

    with beside(home) as (_, there):
        run(home, there, work)


def test_a_server_that_is_stopped_is_not_waited_for_without_end(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its socket still takes what is sent."""
    for name in ("_SILENCE", "_KEEPING", "_CONNECTING"):
        monkeypatch.setattr(line, name, 0.1)

    async def work(engine: EngineBeside) -> None:
        for call in (engine.search("tide"), engine.add(home.files / "tides.md")):
            with pytest.raises(TransientError, match=r"\(pid 7\) does not answer in time"):
                await call
        with pytest.raises(TransientError, match="does not answer in time"):
            _ = engine.searches_elsewhere

    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        run(home, running(f"http://127.0.0.1:{deaf.getsockname()[1]}"), work)


def test_who_waits_for_long_is_told_that_the_work_goes_on() -> None:
    engine = Scripted(pause_at=2)
    options = Options(run_secret=SECRET, heartbeat_seconds=0.01)
    with serving(engine.engine, options) as served:
        headers = {"Authorization": f"Bearer {SECRET}"}
        url = f"{served.url}/api/beside/chat"
        asked = written(ChatRequest, ASKED)
        with httpx2.stream("POST", url, headers=headers, json=asked) as reply:
            lines = reply.iter_lines()
            while next(lines):
                """What comes before the pause."""
            engine.gate.set()
            assert [one for one in lines if one][-1] == '{"result":null}'


def test_who_leaves_before_all_is_said_is_no_fault_of_the_servers(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    with beside(home) as (served, _):
        host, _, port = served.url.removeprefix("http://").partition(":")
        head = (
            "POST /api/beside/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
            f"Authorization: Bearer {SECRET}\r\n\r\n"
        )
        with closing(socket.create_connection((host, int(port)))) as left:
            left.sendall(head.encode() + b'{"question"')
            left.shutdown(socket.SHUT_WR)
            while left.recv(1000):
                """Until the server has let go of it, too."""
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_another_server_that_took_its_place_is_asked(home: Home) -> None:
    """And one that has stopped is named, until there is another."""
    found: list[Running | None] = [None]

    async def work() -> None:
        engine = await opened(home)
        near = EngineBeside(engine, lambda: found[0], owner="local", version="1", max_bytes=10**9)
        try:
            assert near.stores is engine.stores
            for _ in range(2):
                with beside(home) as (_, there):
                    found[0] = there
                    await near.add(home.files / "tides.md")
                    assert (await near.search("tide")).hits
                    stores = near.stores
                    assert stores is not engine.stores
                found[0] = None
                with pytest.raises(TransientError, match=rf"{there.url} \(pid 7\) has stopped"):
                    await near.search("tide")
        finally:
            await near.close()

    asyncio.run(work())
