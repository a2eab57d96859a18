"""`unchunk.open` and `unchunk.open_collection`, with `async` or without."""

import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from unchunk.domain import ChunkingStrategy
from unchunk.settings import load
from unchunk.synchronous import Closable, SynchronousEngine
from unchunk.wiring import open_for_program
from unchunk.wiring.chunkenizer import retrieve_chunks

if TYPE_CHECKING:
    from unchunk.engine import Engine
    from unchunk.retrieval.collection import Collection

__all__ = ["open_collection", "open_library", "rag_search", "retrieve_chunks"]

T = TypeVar("T", bound=Closable)


class Opening(Generic[T]):
    """Something to be opened: `async with` gives it as it is, `with` gives it without `await`."""

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._opening = opening
        self._opened: T | None = None
        self._synchronous: SynchronousEngine | None = None

    async def __aenter__(self) -> T:
        self._opened = await self._opening()
        return self._opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._opened is not None:
            await self._opened.close()

    def __enter__(self) -> SynchronousEngine:
        self._synchronous = SynchronousEngine(self._opening)
        return self._synchronous

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._synchronous is not None:
            self._synchronous.close()


def open_library(
    home: str | Path | None = None, **settings: str | float | None
) -> "Opening[Engine]":
    """The library in `home` (default: UNCHUNK_HOME, else ~/.unchunk), made if there is none.

    `settings` go over those of the home's `unchunk.toml` and of the environment. While a server has
    the library open, it does the work, with its own settings; an index that is on a server itself
    (`qdrant:URL`, `pgvector`) is used directly.
    """
    chosen = load(home, os.environ, **settings)
    # It has all that an engine has.
    return Opening(lambda: cast("Coroutine[Any, Any, Engine]", open_for_program(chosen)))


def open_collection(
    place: str,
    home: str | Path | None = None,
    *,
    fields: str | Mapping[str, str] = "pages",
    owner_field: str = "",
    cut: ChunkingStrategy | None = None,
    vector: str = "",
    sparse_vector: str = "",
    **settings: str | float | None,
) -> "Opening[Collection]":
    """Chunks that somebody else keeps, to be asked as a library is; nothing of them is changed.

    `place` is `qdrant:URL#COLLECTION`, `qdrant:FOLDER#COLLECTION`, `chroma:URL#COLLECTION`,
    `chroma:FOLDER#COLLECTION` or `chunkenizer:URL`. The question is embedded by the embedder of the
    settings, which has to be the one that embedded the chunks. `fields` is a preset (`pages`,
    `langchain`, `llama-index`) or which field holds what:
    `{"document": "file_id", "text": "body"}`. Where `owner_field` is given, nobody is shown a chunk
    of another owner. `cut` is how the texts were cut, if that is known. `vector` names one of a
    Qdrant collection's vectors, where there are several, and `sparse_vector` one of its sparse
    vectors that is BM25.
    """
    # Whoever opens a library needs nothing of this.
    from unchunk.wiring.collections import open_collection as collection_at  # noqa: PLC0415

    chosen = load(home, os.environ, **settings)
    return Opening(
        lambda: collection_at(
            chosen,
            place,
            fields=fields,
            owner_field=owner_field,
            cut=cut,
            vector=vector,
            sparse_vector=sparse_vector,
        )
    )


def rag_search(
    query: str,
    use_chunk_aware: bool = True,
    limit: int = 10,
    show_content: bool = True,
    *,
    home: str | Path | None = None,
    collection: str = "",
    fields: str | Mapping[str, str] = "pages",
    owner_field: str = "",
    cut: ChunkingStrategy | None = None,
    vector: str = "",
    sparse_vector: str = "",
    **settings: str | float | None,
) -> str:
    """The documents that answer best, as one text; opens what is searched for it.

    That is the library in `home`, or `collection`, for which the rest is as in `open_collection`.
    To ask often, keep it open: its `rag_search` gives the same.
    """
    if collection:
        opening = open_collection(
            collection,
            home,
            fields=fields,
            owner_field=owner_field,
            cut=cut,
            vector=vector,
            sparse_vector=sparse_vector,
            **settings,
        )
        with opening as opened:
            return str(opened.rag_search(query, use_chunk_aware, limit, show_content))
    with open_library(home, **settings) as library:
        return str(library.rag_search(query, use_chunk_aware, limit, show_content))
