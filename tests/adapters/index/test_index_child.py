"""Calls of the index's process: in their order, whole, and told when it is gone."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from unchunk.adapters.index import child as rooms
from unchunk.adapters.index.child import Child
from unchunk.errors import IndexUnavailableError

_PROCESS = "unchunk.adapters.index.edge_process"
_LARGE = "x" * 20_000_000


@asynccontextmanager
async def made(folder: Path) -> AsyncIterator[Child]:
    handle = os.open(folder, os.O_RDONLY)
    child = Child(_PROCESS, (str(folder / "space"), "4"), handle, "space")
    try:
        yield child
    finally:
        await child.close()
        os.close(handle)


def test_nobody_overtakes_those_who_wait_until_it_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    sending = threading.Event()

    class Slow(rooms._Running):
        def __init__(self, *arguments: Any) -> None:  # noqa: ANN401 as its own
            super().__init__(*arguments)
            self.send_now = super().send

        def send(self, answer: rooms.Answer, method: str, arguments: tuple[object, ...]) -> bool:
            sent.append(str(arguments[0]))
            sending.set()
            # Whoever was queued takes its time; meanwhile the process is there for others.
            time.sleep(0.05)
            return self.send_now(answer, method, arguments)

    monkeypatch.setattr(rooms, "_Running", Slow)

    async def scene() -> None:
        async with made(tmp_path) as child:
            first = asyncio.create_task(child.call("census", "first"))
            given_up = asyncio.create_task(child.call("census", "given up"))
            await asyncio.sleep(0)
            given_up.cancel()
            assert await asyncio.to_thread(sending.wait, 60)
            assert await child.call("census", "later") == {}
            assert await first == {}

    asyncio.run(scene())
    assert sent == ["first", "given up", "later"]


def test_a_large_first_call_is_answered_though_the_index_is_closed_meanwhile(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with made(tmp_path) as child:
            call = asyncio.create_task(child.call("census", _LARGE))
            await asyncio.sleep(0)
            await child.close()
            assert await call == {}
            with pytest.raises(IndexUnavailableError, match="was closed"):
                await child.call("census", None)

    asyncio.run(scene())


def test_calls_that_are_larger_than_the_socket_are_not_mixed_up(tmp_path: Path) -> None:
    async def scene() -> None:
        async with made(tmp_path) as child:
            assert await child.call("census", None) == {}
            calls = [
                asyncio.create_task(child.call("census", _LARGE if at % 2 else f"d{at}"))
                for at in range(6)
            ]
            await asyncio.sleep(0)
            calls[3].cancel()
            found = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(found.pop(3), asyncio.CancelledError)
            assert found == [{}] * 5
            assert await child.call("census", None) == {}

    asyncio.run(scene())


def test_an_answer_to_a_loop_that_is_closed_is_nobodys(tmp_path: Path) -> None:
    async def scene() -> None:
        async with made(tmp_path) as child:

            async def ask_and_leave() -> None:
                asyncio.create_task(child.call("census", None))  # noqa: RUF006 nobody waits for it
                await asyncio.sleep(0)

            await asyncio.to_thread(asyncio.run, ask_and_leave())
            assert await child.call("census", None) == {}

    asyncio.run(scene())
