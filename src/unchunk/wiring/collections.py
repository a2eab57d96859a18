"""Chunks that somebody else keeps, opened as the settings and the caller say."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import fields as dataclass_fields
from functools import partial
from typing import TYPE_CHECKING, Any

from unchunk.domain import ChunkingStrategy, OwnerId
from unchunk.errors import InvalidSettingError, ProviderUnavailableError, UnchunkError
from unchunk.library.calibration import FileThresholds, uncalibrated
from unchunk.ports import ChunkSource, Embedder, Lexicon
from unchunk.retrieval.asking import CACHE_SECONDS, Asking, Manner
from unchunk.retrieval.collection import Collection
from unchunk.retrieval.foreign import ForeignShelf
from unchunk.retrieval.fusion import blend
from unchunk.retrieval.remembering import RememberingEmbedder
from unchunk.settings import CHUNKENIZER, Settings
from unchunk.telemetry import Telemetry
from unchunk.wiring.manners import manner_of
from unchunk.wiring.providers import make_embedder, with_threshold

if TYPE_CHECKING:
    from unchunk.adapters.sources.fields import Fields

# Seconds that a chat waits for a source to be reached, and until that is tried again.
_PATIENCE, _AGAIN = 10.0, 5.0
# For a model that nothing is known of: the cosine below which a hit means nothing, and how much
# meaning counts beside words.
_MIN_SCORE, _ALPHA = 0.5, 0.6


async def open_collection(
    settings: Settings,
    place: str,
    *,
    fields: str | Mapping[str, str] = "pages",
    owner_field: str = "",
    cut: ChunkingStrategy | None = None,
    vector: str = "",
    sparse_vector: str = "",
    telemetry: Telemetry | None = None,
) -> Collection:
    """Chunks that somebody else keeps, at `qdrant:URL#COLLECTION`, `qdrant:FOLDER#COLLECTION`,
    `chroma:FOLDER#COLLECTION`, `chroma:URL#COLLECTION` or `chunkenizer:URL`.

    `fields` names a preset, or tells which field holds what. `cut` is how the texts were cut, if
    that is known. `vector` names one of a Qdrant collection's vectors, where there are several, and
    `sparse_vector` one of its sparse vectors that is BM25.
    """
    check_place(place)
    kind, _, rest = place.partition(":")
    where, _, name = rest.rpartition("#")
    calibrated: Embedder | None = None
    lexicon: Lexicon | None = None
    async with AsyncExitStack() as opened:
        manner = manner_of(settings)
        if manner.reranker is not None:
            opened.push_async_callback(manner.reranker.close)
        if kind != "chunkenizer":
            names = fields_of(fields)
            lexicon = lexicon_of(settings.language)
            made = await make_embedder(settings, settings.embedder, None)
            opened.push_async_callback(made.close)
            provider = f"{settings.embedder} {settings.embedder_url}"
            kept = FileThresholds(settings.home / "thresholds.json", provider)
            calibrated = await with_threshold(settings, settings.embedder, made, kept)
            embedder = RememberingEmbedder(calibrated)
            key = settings.collection_key or None
            if kind == "qdrant":
                from unchunk.adapters.sources.qdrant import open_qdrant

                source: ChunkSource = await open_qdrant(
                    where,
                    name,
                    embedder,
                    names,
                    vector=vector or None,
                    api_key=key,
                    sample=not owner_field,
                    lexicon=lexicon,
                    sparse_vector=sparse_vector or None,
                    cache_seconds=settings.search_cache_seconds,
                )
            else:
                from unchunk.adapters.sources.chroma import open_chroma

                source = await open_chroma(
                    where,
                    name,
                    embedder,
                    names,
                    api_key=key,
                    sample=not owner_field,
                    lexicon=lexicon,
                    cache_seconds=settings.search_cache_seconds,
                )
        else:
            from unchunk.adapters.sources.chunkenizer import ChunkenizerSource

            source = ChunkenizerSource(
                rest or settings.chunkenizer_url or CHUNKENIZER, key=settings.collection_key
            )
        shelf = ForeignShelf(
            source, owner_field=owner_field, chunking=cut, lexicon=lexicon, fusion=manner.fusion
        )
        return collection_over(
            shelf,
            settings.owner,
            manner,
            # Its documents change behind its own API, which its clients ask with each question.
            cache_seconds=0 if kind == "chunkenizer" else settings.search_cache_seconds,
            telemetry=telemetry,
            closing=[opened.pop_all().aclose],
            remarks=partial(uncalibrated, calibrated),
        )


async def collection_of_client(
    client: object,
    model: object,
    name: str,
    *,
    fields: str | Mapping[str, str] = "pages",
    owner_field: str = "",
    owner: OwnerId = "",
    cut: ChunkingStrategy | None = None,
    vector: str = "",
    sparse_vector: str = "",
    language: str = "english",
    cache_seconds: float = CACHE_SECONDS,
    sparse: object = None,
) -> Collection:
    """A collection by the caller's own Qdrant client and embedding model, which are not closed.

    `sparse` is a model for its sparse vectors, if there is one, and `sparse_vector` names one of
    them.
    """
    from unchunk.adapters.embed.given import embedder_over, sparse_query
    from unchunk.adapters.sources.qdrant import over_client

    embedder = RememberingEmbedder(await embedder_over(model, _MIN_SCORE))
    if sparse is not None:
        # A model that makes no sparse vectors is refused here: searches would go on without it.
        await sparse_query(sparse, "text")
    lexicon, manner = lexicon_of(language), Manner(blend(_ALPHA))
    source = await over_client(
        client,
        name,
        embedder,
        fields_of(fields),
        vector=vector or None,
        sample=not owner_field,
        lexicon=lexicon,
        cache_seconds=cache_seconds,
        sparse_vector=sparse_vector or None,
        sparse=None if sparse is None else partial(sparse_query, sparse),
    )
    shelf = ForeignShelf(
        source, owner_field=owner_field, chunking=cut, lexicon=lexicon, fusion=manner.fusion
    )
    return collection_over(shelf, owner, manner, cache_seconds=cache_seconds)


async def names_of_client(client: object) -> list[str]:
    """The collections that a Qdrant client of the caller's has."""
    from unchunk.adapters.sources.qdrant_clients import collection_names

    return await collection_names(client)


def collection_over(
    shelf: ForeignShelf,
    owner: OwnerId,
    manner: Manner,
    *,
    cache_seconds: float = CACHE_SECONDS,
    telemetry: Telemetry | None = None,
    closing: Sequence[Callable[[], Awaitable[None]]] = (),
    remarks: Callable[[], Sequence[str]] = tuple,
) -> Collection:
    asking = Asking(
        shelf,
        telemetry or Telemetry(),
        owner,
        manner,
        cache_seconds=cache_seconds,
        remarks=remarks,
    )
    return Collection(asking, owner, [*closing, shelf.close])


def lexicon_of(language: str) -> Lexicon:
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    return Bm25Lexicon(language)


def check_place(place: str) -> None:
    kind, _, rest = place.partition(":")
    where, _, name = rest.rpartition("#")
    if kind != "chunkenizer" and not (kind in ("qdrant", "chroma") and where and name):
        raise InvalidSettingError(
            f"there is no collection {place!r}: write qdrant:URL#NAME, qdrant:FOLDER#NAME,"
            " chroma:FOLDER#NAME, chroma:URL#NAME or chunkenizer:URL"
        )


def fields_of(given: str | Mapping[str, str]) -> "Fields":
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


class ChatSource:
    """The collection that answers come from, opened by the first question that reaches it.

    Concurrent callers share one attempt to open it. A failure is reused for a few seconds.
    """

    def __init__(self, settings: Settings, telemetry: Telemetry) -> None:
        self._settings, self._telemetry = settings, telemetry
        self._opening: asyncio.Task[Collection] | None = None
        self._again = 0.0
        kind = settings.answer_source.partition(":")[0]
        self.name = (
            "Chunkenizer API" if kind == "chunkenizer" else f"{kind.capitalize()} collection"
        )

    async def asking(self) -> Asking:
        """What answers questions to it. Raises where it cannot be opened."""
        return (await asyncio.shield(self._opened())).asking

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with suppress(UnchunkError, asyncio.CancelledError):
                await (await self._opening).close()

    def _opened(self) -> asyncio.Task[Collection]:
        now = asyncio.get_running_loop().time()
        failed = self._opening is not None and self._opening.done() and self._opening.exception()
        if self._opening is None or (failed and now >= self._again):
            self._opening = asyncio.ensure_future(self._open())
        return self._opening

    async def _open(self) -> Collection:
        settings = self._settings
        try:
            async with asyncio.timeout(_PATIENCE):
                return await open_collection(
                    settings,
                    settings.answer_source,
                    fields=settings.collection_fields,
                    owner_field=settings.collection_owner_field,
                    vector=settings.collection_vector,
                    sparse_vector=settings.collection_sparse_vector,
                    telemetry=self._telemetry,
                )
        except TimeoutError:
            raise ProviderUnavailableError(
                f"{settings.answer_source} did not answer within {_PATIENCE:.0f} s"
            ) from None
        finally:
            self._again = asyncio.get_running_loop().time() + _AGAIN
