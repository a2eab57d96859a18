"""Chunks that somebody else keeps, opened as the settings and the caller say."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

from unchunk.domain import ChunkingStrategy, DocumentId, OwnerId
from unchunk.errors import InvalidSettingError, ProviderUnavailableError, UnchunkError
from unchunk.ports import ChunkSource, Embedder
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.collection import Collection
from unchunk.retrieval.foreign import ForeignShelf
from unchunk.retrieval.query import Mode, Turn
from unchunk.retrieval.remembering import RememberingEmbedder
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Where
from unchunk.settings import CHUNKENIZER, Settings
from unchunk.wiring.manners import manner_of
from unchunk.wiring.providers import make_embedder

if TYPE_CHECKING:
    from unchunk.adapters.sources.fields import Fields

# Seconds that a chat waits for a source to be reached, and until that is tried again.
_PATIENCE, _AGAIN = 10.0, 5.0


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
    manner = manner_of(settings)
    check_place(place)
    kind, _, rest = place.partition(":")
    where, _, name = rest.rpartition("#")
    embedder: Embedder | None = None
    if kind != "chunkenizer":
        names = fields_of(fields)
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
    else:
        from unchunk.adapters.sources.chunkenizer import ChunkenizerSource

        source = ChunkenizerSource(
            rest or settings.chunkenizer_url or CHUNKENIZER, key=settings.collection_key
        )
    shelf = ForeignShelf(source, owner_field=owner_field, chunking=cut)
    return Collection(shelf, embedder, settings.owner, manner)


def check_place(place: str) -> None:
    kind, _, rest = place.partition(":")
    where, _, name = rest.rpartition("#")
    if kind != "chunkenizer" and not (kind in ("qdrant", "chroma") and where and name):
        raise InvalidSettingError(
            f"there is no collection {place!r}: write qdrant:URL#NAME, chroma:FOLDER#NAME,"
            " chroma:URL#NAME or chunkenizer:URL"
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

    All who ask meanwhile wait for the one opening, and have its failure; so has, for a few
    seconds, whoever asks next.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening: asyncio.Task[Collection] | None = None
        self._again = 0.0
        kind = settings.answer_source.partition(":")[0]
        self.name = (
            "Chunkenizer API" if kind == "chunkenizer" else f"{kind.capitalize()} collection"
        )

    async def retrieve(
        self,
        question: str,
        *,
        history: Sequence[Turn],
        where: Where,
        amount: Amount,
        owner: OwnerId,
        rewritten: str,
        mode: Mode | None,
        include: Sequence[tuple[DocumentId, int]],
    ) -> Evidence:
        collection = await asyncio.shield(self._opened())
        return await collection.retrieve(
            question,
            history=history,
            where=where,
            amount=amount,
            owner=owner,
            rewritten=rewritten,
            mode=mode,
            include=include,
        )

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
                )
        except TimeoutError:
            raise ProviderUnavailableError(
                f"{settings.answer_source} did not answer within {_PATIENCE:.0f} s"
            ) from None
        finally:
            self._again = asyncio.get_running_loop().time() + _AGAIN
