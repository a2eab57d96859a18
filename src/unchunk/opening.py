"""`unchunk.open`: one library, with `async` or without."""

import os
from pathlib import Path
from types import TracebackType

from unchunk.engine import Engine
from unchunk.settings import Settings, load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine


class Opening:
    """A library to be opened: `async with` gives an `Engine`, `with` one without `await`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._engine: Engine | None = None
        self._synchronous: SynchronousEngine | None = None

    async def __aenter__(self) -> Engine:
        self._engine = await open_engine(self.settings)
        return self._engine

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._engine is not None:
            await self._engine.close()

    def __enter__(self) -> SynchronousEngine:
        self._synchronous = SynchronousEngine(lambda: open_engine(self.settings))
        return self._synchronous

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._synchronous is not None:
            self._synchronous.close()


def open_library(home: str | Path | None = None, **settings: str | float | None) -> Opening:
    """The library in `home` (default: UNCHUNK_HOME, else ~/.unchunk), made if there is none.

    `settings` go over those of the home's `unchunk.toml` and of the environment.
    """
    return Opening(load(home, os.environ, **settings))
