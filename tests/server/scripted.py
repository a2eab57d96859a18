"""An engine that answers as a test wants it to, and a server in a thread."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar, cast

import uvicorn
from fastapi import FastAPI

from unchunk.chat.events import Done, Event, Planned, SourcesFound, Token, Used
from unchunk.chat.request import ChatRequest
from unchunk.domain import Answered, ChatTurn, Conversation
from unchunk.engine import Engine
from unchunk.errors import NotFoundError
from unchunk.keyring import Keyring
from unchunk.library.sharing import Sharing
from unchunk.ports import Bell, Job, Queue
from unchunk.server.app import create_app
from unchunk.server.options import Options
from unchunk.server.serving import forwarded_logs, listening, make_server
from unchunk.server.streams import Streams
from unchunk.telemetry import Condition, Telemetry

T = TypeVar("T")
Step = Event | Exception
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEPT = Conversation("c1", "local", "Tides", "", 1, NOW, NOW)
TURN = ChatTurn(1, "When?", NOW, Answered("At noon.", "complete", (("d1", 2),), {"model": "m"}))


class NoJobs:
    """A queue that nothing ever comes into."""

    lease = 60.0

    async def claim(self, worker: str, most: int, *, asked_for: bool = False) -> list[Job]:
        assert worker
        return [][: most * asked_for]

    async def adopt(self, older_than: float = 0.0) -> int:
        return int(0 * older_than)

    async def waiting(self, owner: str | None = None) -> int:
        return 0 * len(owner or "")

    async def running(self) -> int:
        return 0

    async def of(self, owner: str, limit: int) -> list[Job]:
        return [][: limit * len(owner)]

    async def find(self, owner: str, job: str) -> Job:
        raise NotFoundError(f"there is no job {job!r} of {owner}")


class NoBell:
    """One that never rings."""

    async def wait(self, topic: str, seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return not topic


NOBODY_ELSE = Sharing(cast("Queue", NoJobs()), cast("Bell", NoBell()))


def answer(*tokens: str) -> list[Event]:
    """The events of a plain answer."""
    return [
        Planned(rag=True),
        SourcesFound(()),
        *(Token(one) for one in tokens),
        Used(10, 100, "characters"),
        Done("".join(tokens), "stop", "scripted"),
    ]


@dataclass
class Scripted:
    """Says `events`, one after the other; waits at `pause_at` until `gate` is open."""

    events: Sequence[Step] = field(default_factory=lambda: answer("It ", "is."))
    pause_at: int | None = None
    delay: float = 0.0
    linger: float = 0.0
    asked: list[tuple[ChatRequest, str | None, str]] = field(default_factory=list)
    open: int = 0
    opened: int = 0
    stopped: int = 0
    titles: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    keyring: Keyring | None = None
    is_alone: bool = False
    sees_all_work: bool = True
    telemetry: Telemetry = field(default_factory=Telemetry)
    sharing: Sharing = NOBODY_ELSE

    def __post_init__(self) -> None:
        self.gate = threading.Event()

    @property
    def engine(self) -> Engine:
        return cast("Engine", self)

    async def chat(
        self, request: ChatRequest, *, owner: str | None = None, request_id: str = ""
    ) -> AsyncIterator[Event]:
        self.asked.append((request, owner, request_id))
        self.open += 1
        self.opened += 1
        is_whole = False
        try:
            for at, event in enumerate(self.events):
                if at == self.pause_at:
                    await self._opened()
                await asyncio.sleep(self.delay)
                if isinstance(event, Exception):
                    raise event
                yield event
            is_whole = True
        finally:
            # What a real one notes of an answer that was stopped takes a moment, too.
            await asyncio.sleep(self.linger)
            self.open -= 1
            self.stopped += not is_whole

    async def _opened(self) -> None:
        """The gate belongs to the test's thread: this one has to look."""
        while not self.gate.is_set():  # noqa: ASYNC110 - no event of this loop
            await asyncio.sleep(0.005)

    async def conversations(
        self, limit: int = 50, before: str | None = None, *, owner: str | None = None
    ) -> list[Conversation]:
        return [KEPT][:limit] if before is None and owner == "local" else []

    async def conversation(
        self, conversation: str, *, owner: str | None = None
    ) -> tuple[Conversation, list[ChatTurn]]:
        if (conversation, owner) != ("c1", "local"):
            raise NotFoundError(f"there is no conversation {conversation!r}")
        return KEPT, [TURN]

    async def rename_conversation(
        self, conversation: str, title: str, *, owner: str | None = None
    ) -> Conversation:
        await self.conversation(conversation, owner=owner)
        self.titles[conversation] = title
        return Conversation("c1", "local", title, "", 1, NOW, NOW)

    async def delete_conversation(self, conversation: str, *, owner: str | None = None) -> None:
        await self.conversation(conversation, owner=owner)
        self.titles[conversation] = ""

    async def health(self) -> dict[str, Condition]:
        return dict.fromkeys(("catalog", "index", "embedder", "chat"), Condition(ok=True))

    async def prompts(self, *, owner: str | None = None) -> dict[str, str]:
        assert owner == "local"
        return self.told

    async def set_prompt(self, folder: str, text: str, *, owner: str | None = None) -> None:
        assert owner == "local"
        self.told[folder] = text


class Served:
    """A server in a thread of its own."""

    def __init__(self, url: str, app: FastAPI) -> None:
        self.url, self.app = url, app
        self.server: uvicorn.Server | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def ws(self) -> str:
        return self.url.replace("http", "ws") + "/api/chat/ws"

    @property
    def streams(self) -> Streams:
        return cast("Streams", self.app.state.house.streams)

    def inside(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives in the server's loop."""

        async def done() -> T:
            return await work()

        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(30)

    def connections(self) -> int:
        assert self.server is not None
        return len(self.server.server_state.connections)

    def tasks(self) -> set[str]:
        """What runs in the server's loop beside this question."""

        async def names() -> set[str]:
            return {
                f"{one.get_name()} {one.get_coro()}"
                for one in asyncio.all_tasks()
                if one is not asyncio.current_task()
            }

        return self.inside(names)


@contextmanager
def serving(
    engine: Engine | Callable[[], Awaitable[Engine]], options: Options | None = None
) -> Iterator[Served]:
    app = create_app(engine, options)
    started = threading.Event()
    with listening("127.0.0.1", 0) as (listener, url):
        served = Served(url, app)

        def ready() -> None:
            served.loop = asyncio.get_running_loop()
            started.set()

        server = served.server = make_server(app, 5.0, ready)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert started.wait(30)
            with forwarded_logs():
                yield served
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def eventually(holds: Callable[[], bool], patience: float = 20.0) -> None:
    """Wait for what happens soon, but not at once."""
    waiting = threading.Event()
    for _ in range(int(patience / 0.01)):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError(holds)


@dataclass(frozen=True)
class Sent:
    """One event as it came over the line."""

    kind: str
    data: dict[str, object]
    id: str


def parsed(text: str) -> list[Sent]:
    """The events of a stream, without its comments."""
    events = []
    for block in text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line]
        fields = {name: value for name, _, value in lines if name}
        if fields:
            events.append(Sent(fields["event"], json.loads(fields["data"]), fields["id"]))
    return events
