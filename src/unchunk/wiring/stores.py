"""What keeps and what reads documents: the index and the extractor that the settings name."""

import os
from dataclasses import fields
from pathlib import Path

from unchunk.errors import InvalidSettingError
from unchunk.library.recipes import Wanted, kind_of
from unchunk.ports import Blobs, Extractor, Indexes, Pages
from unchunk.settings import Settings

INDEX = "index"
INCOMING = "incoming"
# What a collection in a Qdrant server is made with, once.
_MADE = (
    *("qdrant_shards", "qdrant_replicas", "qdrant_write_consistency"),
    *("qdrant_tenants", "qdrant_quantization", "qdrant_on_disk"),
)


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
        return _qdrant_of(settings, where, key, prefix)
    if kind == "chroma":
        from unchunk.adapters.index.beside import BesideIndexes
        from unchunk.adapters.index.chroma import ChromaIndexes
        from unchunk.adapters.index.edge import EdgeIndexes

        dense = ChromaIndexes(where or folder / "chroma", key or None, prefix)
        return BesideIndexes(dense, EdgeIndexes(folder / "words"))
    if kind == "pgvector":
        from unchunk.adapters.index.pgvector import PgvectorIndexes

        if not where and not settings.catalog:
            raise InvalidSettingError(
                "the index pgvector is in the catalog's database: set catalog to a PostgreSQL URL, "
                "or write pgvector:URL"
            )
        password = key if where else ""
        return PgvectorIndexes(
            where or settings.catalog, password, prefix, timeout=settings.index_timeout
        )
    raise InvalidSettingError(
        # Not all of it: there may be a password in it.
        f"there is no index {kind!r}: use edge, chroma, pgvector, qdrant:URL, chroma:URL or "
        "pgvector:URL"
    )


def is_far(index: str) -> bool:
    """Whether it is reached over a network, by what `index` names."""
    return ":" in index or index == "pgvector"


def wanted_of(settings: Settings) -> Wanted:
    """What the settings ask a library to be built with."""
    index = settings.index
    asked = {it.name: getattr(settings, it.name) for it in fields(settings) if it.name in _MADE}
    plain = {it.name: it.default for it in fields(settings)}
    said = [f"{name}={value}" for name, value in asked.items() if value != plain[name]]
    making = " ".join(said) if kind_of(index) == "qdrant" else ""
    return Wanted(settings.embedder, settings.chunking, index, settings.language, making)


def _qdrant_of(settings: Settings, where: str, key: str, prefix: str) -> Indexes:
    from unchunk.adapters.index.qdrant import QdrantIndexes
    from unchunk.adapters.index.qdrant_collections import Making, made_as

    quantization, tenants = made_as(settings.qdrant_quantization, settings.qdrant_tenants)
    making = Making(
        settings.qdrant_shards,
        settings.qdrant_replicas,
        settings.qdrant_write_consistency,
        tenants,
        quantization,
        settings.qdrant_on_disk,
    )
    return QdrantIndexes(where, key or None, prefix, timeout=settings.index_timeout, making=making)


def blobs_of(settings: Settings) -> Blobs:
    """Where the settings keep originals. Nothing is reached before it is used."""
    kind, _, where = settings.blobs.partition(":")
    if kind == "s3" and where:
        return _s3_of(settings, where)
    from unchunk.adapters.blobs.folder import FolderBlobs

    if not settings.blobs:
        return FolderBlobs(settings.home)
    if kind == "folder" and where:
        return FolderBlobs(Path(where).expanduser().absolute(), is_shared=True)
    raise InvalidSettingError(
        f"there are no blobs {kind!r}: use folder:PATH, s3:BUCKET or s3:BUCKET/PREFIX,"
        " or leave it out"
    )


def _s3_of(settings: Settings, where: str) -> Blobs:
    from unchunk.adapters.blobs.s3 import Bucket, S3Blobs

    if bool(settings.blobs_id) != bool(settings.blobs_key):
        raise InvalidSettingError("blobs_id and blobs_key belong together: set both, or none")
    name, _, prefix = where.partition("/")
    bucket = Bucket(
        name,
        prefix.strip("/"),
        settings.blobs_url.rstrip("/"),
        settings.blobs_region,
        settings.blobs_id,
        settings.blobs_key,
    )
    return S3Blobs(bucket, settings.home / INCOMING)


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
