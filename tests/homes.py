"""A library with real parts, in a folder of its own; only the embedder is the hashing one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from unchunk.engine import Engine
from unchunk.settings import load
from unchunk.wiring import open_engine

T = TypeVar("T")


class Home:
    """A home that can be opened several times, with other settings each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.files = folder / "files"
        self.files.mkdir(parents=True)

    @asynccontextmanager
    async def open(self, **options: str | float) -> AsyncIterator[Engine]:
        chosen: dict[str, str | float] = {"embedder": "hashing", **options}
        engine = await open_engine(load(self.folder, {}, **chosen))
        try:
            yield engine
        finally:
            await engine.close()

    def run(self, work: Callable[[Engine], Awaitable[T]], **options: str | float) -> T:
        async def opened() -> T:
            async with self.open(**options) as engine:
                return await work(engine)

        return asyncio.run(opened())

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
