"""A library that is used in this process, or through the server that has it open."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from unchunk import __version__
from unchunk.beside.running import Running

if TYPE_CHECKING:
    from unchunk.beside.remote import RemoteEngine
    from unchunk.engine import Engine


class EngineBeside:
    """Do the work of an `Engine`, in a server once one has the library open.

    `find` returns the server that has the library. `owner` is the one that the settings name, and
    `source` the collection that they name to be searched instead of the library, if any. It stays
    with servers from then on: if it opened the library itself when the server stops, that server
    could not be started again.
    """

    def __init__(
        self,
        engine: "Engine",
        find: Callable[[], Running | None],
        *,
        owner: str,
        max_bytes: int,
        source: str = "",
        version: str = __version__,
    ) -> None:
        self._engine, self._find = engine, find
        self._owner, self._max_bytes, self._version = owner, max_bytes, version
        self._source = source
        self._remote: RemoteEngine | None = None
        # Several threads may use one library.
        self._connecting = Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever an engine has
        if name.startswith("_"):
            # `copy` and others look for such methods before there is an engine to ask.
            raise AttributeError(name)
        return getattr(self._chosen(), name)

    async def close(self) -> None:
        try:
            if self._remote is not None:
                await self._remote.close()
        finally:
            await self._engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _chosen(self) -> "Engine | RemoteEngine":
        with self._connecting:
            return self._connected() or self._engine

    def _connected(self) -> "RemoteEngine | None":
        if self._remote is None and self._find() is not None:
            # The HTTP client takes long to load, and most libraries have no server.
            from unchunk.beside.remote import RemoteEngine  # noqa: PLC0415

            self._remote = RemoteEngine(
                self._engine,
                self._find,
                owner=self._owner,
                version=self._version,
                max_bytes=self._max_bytes,
                source=self._source,
            )
        return self._remote
