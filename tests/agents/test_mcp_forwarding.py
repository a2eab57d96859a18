"""Calls that the server which has the library carries out."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from mcp_types import CallToolRequestParams

from agents.clients import run, text_of
from server.scripted import Scripted, Served, answer, eventually, serving
from unchunk.beside.running import Running
from unchunk.errors import TransientError
from unchunk.mcp.forwarding import forward
from unchunk.server.options import Options

SECRET = "ur_" + "s" * 43
ASK = CallToolRequestParams(name="ask", arguments={"question": "When?"})


def running(url: str) -> Running:
    return Running(url, 7, "local", "1", SECRET)


@pytest.fixture
def paused() -> Iterator[tuple[Scripted, Served]]:
    engine = Scripted(pause_at=2)
    with serving(engine.engine, Options(run_secret=SECRET)) as served:
        yield engine, served


async def unheard(_done: int, _message: str) -> None:
    pass


def test_the_result_and_the_progress_are_the_servers() -> None:
    heard: list[tuple[int, str]] = []

    async def hear(done: int, message: str) -> None:
        heard.append((done, message))

    async def work(url: str) -> str:
        return text_of(await forward(running(url), ASK, hear))

    engine = Scripted(answer("It ", "is."))
    with serving(engine.engine, Options(require_keys=True, run_secret=SECRET)) as served:
        assert run(lambda: work(served.url)).startswith("Answer:\n    It is.\n")
    assert heard == [(1, "documents found: 0")]


def test_what_the_server_refuses_is_refused_here() -> None:
    async def work(url: str) -> None:
        result = await forward(running(url), CallToolRequestParams(name="ask"), unheard)
        assert result.is_error
        assert "question: Field required" in text_of(result)

    with serving(Scripted().engine, Options(run_secret=SECRET)) as served:
        run(lambda: work(served.url))


def test_a_call_that_is_cancelled_here_stops_there(paused: tuple[Scripted, Served]) -> None:
    engine, served = paused

    async def work() -> None:
        begun = asyncio.Event()

        async def hear(_done: int, _message: str) -> None:
            begun.set()

        call = asyncio.create_task(forward(running(served.url), ASK, hear))
        await begun.wait()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

    run(work)
    eventually(lambda: engine.open == 0 and served.connections() == 0)
    assert engine.stopped == 1


def test_a_server_that_is_gone_is_named() -> None:
    async def work() -> None:
        with pytest.raises(TransientError, match=r"at http://127\.0\.0\.1:9 does not answer"):
            await forward(running("http://127.0.0.1:9"), ASK, unheard)

    run(work)


def test_a_secret_of_another_run_is_good_for_nothing() -> None:
    async def work(url: str) -> None:
        old = Running(url, 7, "local", "1", "ur_" + "o" * 43)
        with pytest.raises(TransientError, match="does not answer"):
            await forward(old, ASK, unheard)

    options = Options(require_keys=True, run_secret=SECRET)
    with serving(Scripted().engine, options) as served:
        run(lambda: work(served.url))
