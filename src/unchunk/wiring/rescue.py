"""Stores to get files back from, as a command or a caller names them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from unchunk.errors import ExtractionError, InvalidSettingError
from unchunk.ports import LostFiles
from unchunk.wiring.collections import fields_of

if TYPE_CHECKING:
    from unchunk.adapters.sources.openai_clients import Client

Kind = Literal["openai", "qdrant", "chroma", "chunkenizer"]


def store_of(client: "Client", vector_store: str) -> LostFiles:
    """A vector store by a client that somebody else made, and closes.

    Its `max_retries` and `timeout` hold for every call.
    """
    from unchunk.adapters.sources.openai_clients import bounds_of
    from unchunk.adapters.sources.openai_files import OpenAIFiles

    return OpenAIFiles(client, vector_store, bounds=bounds_of(client))


def vector_stores(
    names: Sequence[str],
    environment: Mapping[str, str],
    *,
    base_url: str | None = None,
    azure: bool = False,
    patience: float,
    max_reply: int,
) -> list[LostFiles]:
    """Vector stores as the variables of OpenAI's own clients say where they are."""
    from unchunk.adapters.sources.bounds import Bounds
    from unchunk.adapters.sources.openai_clients import client_from
    from unchunk.adapters.sources.openai_files import OpenAIFiles

    bounds = Bounds(reply=max_reply, patience=patience)
    return [
        OpenAIFiles(client_from(environment, base_url, azure=azure), name, bounds=bounds, own=True)
        for name in names
    ]


def collections(
    kind: Kind,
    url: str,
    names: Sequence[str],
    *,
    fields: str | Mapping[str, str] = "",
    key: str = "",
    timeout: float,
) -> list[LostFiles]:
    """Collections of another kind of store; without `fields` their names are found out."""
    chosen = fields_of(fields) if fields else None
    if kind == "qdrant":
        from unchunk.adapters.sources.qdrant_files import QdrantFiles

        return [QdrantFiles(url, name, chosen, key=key, timeout=timeout) for name in names]
    if kind == "chroma":
        if "://" not in url:
            from unchunk.adapters.sources.chroma_folder import ChromaFolder

            return [ChromaFolder(url, name, chosen) for name in names]
        from unchunk.adapters.sources.chroma_files import ChromaFiles

        return [ChromaFiles(url, name, chosen, key=key, timeout=timeout) for name in names]
    if kind == "chunkenizer":
        from unchunk.adapters.sources.chunkenizer_files import ChunkenizerFiles

        return [ChunkenizerFiles(url, key=key, timeout=timeout)]
    raise InvalidSettingError(f"there are no collections of {kind}")


def library_name(name: str, text: str) -> str:
    """What a recovered text is called in the library, so that it is read as it is.

    The text of a PDF is none any more, nor that of a page a page, unless its content says so.
    """
    from unchunk.adapters.extract.sniffing import check_name, sniff_text

    found = sniff_text(text, name)
    try:
        check_name(found, name)
    except ExtractionError:
        return f"{name}.md"
    is_itself = found.reader == "plain" or found is sniff_text(text, "")
    return name if is_itself else f"{name}.md"
