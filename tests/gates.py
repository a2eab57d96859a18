"""Holds one call of a part's method up, or breaks it, so that a test is in between for sure."""

import asyncio
from collections.abc import Awaitable, Callable, Container
from typing import Any, TypeVar

import pytest

from unchunk.engine import Engine

T = TypeVar("T")

_PATIENCE = 240.0


class Gate:
    """`reached` once the call is there; it goes on when `opened`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.opened.wait()


def part(engine: Engine, name: str) -> object:
    """One of the engine's parts, or the index or the embedder that it uses now."""
    if name == "index":
        return engine._parts.spaces.active.index
    if name == "embedder":
        return engine._parts.spaces.embedder
    return getattr(engine._parts, name)


def hold(
    patch: pytest.MonkeyPatch, where: object, method: str, call: int = 1, *, after: bool = False
) -> Gate:
    """The call of that number waits before its work, or when that is done."""
    gate, calls, real = Gate(), 0, getattr(where, method)

    async def held(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the method's own
        nonlocal calls
        calls += 1
        number = calls
        if number == call and not after:
            await gate.wait()
        done = await real(*arguments, **options)
        if number == call and after:
            await gate.wait()
        return done

    patch.setattr(where, method, held)
    return gate


def break_off(
    patch: pytest.MonkeyPatch,
    where: object,
    method: str,
    error: Exception,
    calls: Container[int] | None = None,
) -> None:
    """The calls of these numbers, or all of them, raise `error`."""
    number, real = 0, getattr(where, method)

    async def broken(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the method's own
        nonlocal number
        number += 1
        if calls is None or number in calls:
            raise error
        return await real(*arguments, **options)

    patch.setattr(where, method, broken)


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Let the others go on until it is so."""
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return
        await asyncio.sleep(0)


def in_time(work: Callable[[Engine], Awaitable[T]]) -> Callable[[Engine], Awaitable[T]]:
    """The same work, which fails if it waits for ever."""

    async def limited(engine: Engine) -> T:
        async with asyncio.timeout(_PATIENCE):
            return await work(engine)

    return limited
