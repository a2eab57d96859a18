"""One library that several processes have open: PostgreSQL, a Qdrant server, a shared folder."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from unchunk.engine import Engine
from unchunk.settings import load
from unchunk.wiring import open_engine

_PATIENCE = 240.0


class Town:
    """A library, and the homes of those who share it; each has nothing but its own folder."""

    def __init__(self, folder: Path, catalog: str, index: str) -> None:
        self._folder = folder
        self.files = folder / "files"
        self.files.mkdir()
        (folder / "originals").mkdir()
        self.settings: dict[str, str | float] = {
            "embedder": "hashing",
            "catalog": catalog,
            "index": index,
            "blobs": f"folder:{folder / 'originals'}",
            "chunk_size": 100,
        }

    def home(self, name: str | int) -> Path:
        return self._folder / f"home {name}"

    def file(self, name: str, text: str) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @asynccontextmanager
    async def opened(self, name: str | int = 0, **options: str | float) -> AsyncIterator[Engine]:
        engine = await open_engine(load(self.home(name), {}, **{**self.settings, **options}))
        try:
            yield engine
        finally:
            await engine.close()

    def run(self, work: Callable[[Engine, Engine], Awaitable[None]], lease: float = 60.0) -> None:
        """With two engines, which know nothing of each other but what they share.

        What the first one holds is its own for `lease` seconds without a beat.
        """

        async def both() -> None:
            async with asyncio.timeout(_PATIENCE), AsyncExitStack() as stack:
                one, other = [
                    await stack.enter_async_context(self.opened(at, lease_seconds=seconds))
                    for at, seconds in enumerate((lease, 60.0), 1)
                ]
                await work(one, other)

        asyncio.run(both())


def fall_asleep(engine: Engine) -> None:
    """As a process that is not run for a while: it does not keep up what it holds."""
    beating = engine._parts.desk._beating
    assert beating is not None
    beating.cancel()


async def assert_agreed(engines: list[Engine], texts: dict[str, str]) -> None:
    """Every one of them has these documents whole, and nothing is left of any other."""
    for engine in engines:
        await engine.purge_remains()
    for engine in engines:
        parts = engine._parts
        assert {one.name: one.status for one in await engine.documents()} == dict.fromkeys(
            texts, "live"
        )
        for name, text in texts.items():
            assert await engine.text(name) == text
        found = {hit.name for hit in (await engine.search("word", limit=1000)).hits}
        assert found == set(texts)
        assert await parts.catalog.remains() == []
        assert (await engine.doctor()).findings == ()
