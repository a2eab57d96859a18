"""What keeps and what reads documents: the index and the extractor that the settings name."""

import os

from unchunk.errors import InvalidSettingError
from unchunk.ports import Extractor, Indexes, Pages
from unchunk.settings import Settings

INDEX = "index"


def indexes_of(settings: Settings, library: str, index: str) -> Indexes:
    """What `index` names: the one of the settings, or one that the library is to leave."""
    kind, _, where = index.partition(":")
    # The key of one server is nothing for another.
    key = settings.index_key if index == settings.index or ":" not in settings.index else ""
    folder, prefix = settings.home / INDEX, f"unchunk_{library}_"
    if kind == "edge" and not where:
        from unchunk.adapters.index.edge import EdgeIndexes

        return EdgeIndexes(folder / "edge")
    if kind == "qdrant" and where:
        from unchunk.adapters.index.qdrant import QdrantIndexes

        return QdrantIndexes(where, key or None, prefix)
    if kind == "chroma":
        from unchunk.adapters.index.beside import BesideIndexes
        from unchunk.adapters.index.chroma import ChromaIndexes
        from unchunk.adapters.index.edge import EdgeIndexes

        dense = ChromaIndexes(where or folder / "chroma", key or None, prefix)
        return BesideIndexes(dense, EdgeIndexes(folder / "words"))
    raise InvalidSettingError(
        f"there is no index {index!r}: use edge, chroma, qdrant:URL or chroma:URL"
    )


def extractor_of(settings: Settings) -> Extractor:
    from unchunk.adapters.extract.isolated import IsolatedExtractor
    from unchunk.adapters.extract.limits import Limits

    limits = Limits(
        max_bytes=settings.max_bytes,
        max_pages=settings.max_pages,
        max_text=settings.max_characters,
        seconds=settings.extract_seconds,
        memory=settings.extract_memory,
    )
    return IsolatedExtractor(limits, settings.workers or min(4, os.cpu_count() or 1))


def pages_of(settings: Settings) -> Pages:
    from unchunk.adapters.extract.pages import IsolatedPages

    return IsolatedPages(settings.max_bytes)
