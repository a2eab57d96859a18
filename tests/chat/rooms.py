"""A library with a few documents and a scripted model behind a real socket, to be asked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from adapters.llm.scripted import ScriptedModel
from homes import Home
from unchunk.chat.events import Answer, Event, gather
from unchunk.chat.request import ChatRequest, question
from unchunk.engine import Engine

T = TypeVar("T")

HARBOUR = """# Rules of the harbour

Every vessel calls the harbour office on channel 12 before it passes the outer buoy.

A night in the harbour costs 22 euros for a vessel of up to twelve metres.

The crane lifts six tonnes and is worked by the harbour master alone.
"""
LIGHTHOUSE = """# The lighthouse

The lamp of the lighthouse was lit in 1871 and burned colza oil for nine years.

Its keeper, Marta Reyes, wrote down the weather every evening.
"""
NIGHT = "What does a night in the harbour cost?"


class Room:
    """Opened with other settings each time; `server` is the model that answers."""

    def __init__(self, folder: Path, server: ScriptedModel) -> None:
        self.home = Home(folder)
        self.server = server

    @asynccontextmanager
    async def open(
        self, *, model: str = "scripted", **settings: str | float
    ) -> AsyncIterator[Engine]:
        chosen: dict[str, str | float] = {"chunk_size": 200, "chat_timeout": 5.0, **settings}
        if model:
            chosen |= {"chat": f"openai:{model}", "chat_url": f"{self.server.url}/v1"}
        async with self.home.open(**chosen) as engine:
            yield engine

    def run(
        self,
        work: Callable[[Engine], Coroutine[Any, Any, T]],
        *,
        model: str = "scripted",
        **settings: str | float,
    ) -> T:
        """Runs it in a library that has both documents."""

        async def opened() -> T:
            async with self.open(model=model, **settings) as engine:
                await self.filled(engine)
                return await work(engine)

        return asyncio.run(opened())

    async def filled(self, engine: Engine) -> None:
        for name, text in (("harbour.md", HARBOUR), ("lighthouse.md", LIGHTHOUSE)):
            await engine.add(self.home.file(name, text))

    def events(
        self, request: ChatRequest | str, *, model: str = "scripted", **settings: str | float
    ) -> list[Event]:
        return self.run(lambda engine: events_of(engine, request), model=model, **settings)

    def answer(
        self, request: ChatRequest | str, *, model: str = "scripted", **settings: str | float
    ) -> Answer:
        return gather(self.events(request, model=model, **settings))

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The messages of the last call of the model."""
        messages: list[dict[str, Any]] = self.server.asked[-1].body["messages"]
        return messages


async def events_of(
    engine: Engine, request: ChatRequest | str, *, owner: str | None = None, request_id: str = ""
) -> list[Event]:
    if isinstance(request, str):
        request = ChatRequest(question(request))
    async with aclosing(engine.chat(request, owner=owner, request_id=request_id)) as stream:
        return [event async for event in stream]


def kinds(events: list[Event]) -> list[str]:
    """The kinds in their order, tokens in a row as one."""
    found: list[str] = []
    for event in events:
        if not found or event.kind != found[-1] or event.kind != "token":
            found.append(event.kind)
    return found


def codes(answer: Answer) -> list[str]:
    return [one.code for one in answer.warnings]
