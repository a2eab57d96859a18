"""A read document into the index and live: all of it or nothing, whenever the power fails.

Points of a new generation go in and are flushed; one transaction of the catalog makes that
generation live; the points of the old one go out. A hit counts only if its generation is live.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from unchunk.domain import Document, DocumentId, Extracted, Version, Whole
from unchunk.errors import OutputError, TransientError, UnchunkError
from unchunk.library.embedding import Vectoriser, batches, points
from unchunk.library.layout import lay_out
from unchunk.library.parts import Parts
from unchunk.library.purging import purge
from unchunk.ports import OpenSpace
from unchunk.telemetry import log
from unchunk.text.tokens import get_encoding

Step = Callable[[int, int], None]


async def write(
    parts: Parts,
    space: OpenSpace,
    document: Document,
    version: Version,
    extracted: Extracted,
    *,
    step: Step,
) -> Whole:
    """Put a version's points into the index of a space, not yet flushed and not yet live.

    The caller keeps the space from being dropped meanwhile. `step` is told how many chunks are
    done, of how many.
    """
    chunking, embedder = parts.spaces.chunking, parts.spaces.embedder_of(space)
    with parts.telemetry.stage("chunk"):
        chunks = await asyncio.to_thread(
            lay_out, extracted, chunking, embedder.count_tokens, embedder.identity.max_tokens
        )
    checksum = sha256(extracted.text.encode()).hexdigest()
    tokens = version.tokens
    if tokens is None or version.text_checksum != checksum:
        with parts.telemetry.stage("count"):
            tokens = await asyncio.to_thread(count_tokens, extracted.text)
    version = replace(
        version,
        media_type=extracted.media_type,
        title=extracted.title,
        text_checksum=checksum,
        text_length=len(extracted.text),
        page_count=len(extracted.pages),
        chunk_count=len(chunks),
        chunking=chunking,
        space=space.name,
        notes=extracted.notes,
        tokens=tokens,
    )
    vectoriser = Vectoriser(embedder, parts.cache, parts.telemetry)
    step(0, len(chunks))
    for batch in batches(extracted.text, chunks):
        await _go_on(parts, space, version)
        vectors = await vectoriser.vectors(document.owner, document.id, batch.texts)
        with parts.telemetry.stage("terms"):
            made = points(document, version.generation, batch, vectors, parts.lexicon)
        # Once more: embedding may have taken long.
        await _go_on(parts, space, version)
        with parts.telemetry.stage("index"):
            await space.index.upsert(made)
        step(batch.chunks[-1].chunk_index + 1, len(chunks))
    parts.telemetry.count("chunks", len(chunks))
    return Whole(version, extracted.text, chunks, extracted.pages, extracted.headings)


async def _go_on(parts: Parts, space: OpenSpace, version: Version) -> None:
    """Raise if there is no more to write for. What was written so far then goes: whoever took over
    may have purged this generation before the last of it came.
    """
    try:
        parts.desk.check(version.document)
    except UnchunkError:
        with suppress(TransientError):
            await space.index.delete(version.document, [version.generation])
            await space.index.flush()
        raise


def count_tokens(text: str) -> int:
    """As OpenAI's newer models count."""
    return get_encoding("cl100k_base").count(text)


async def commit(parts: Parts, wholes: Sequence[Whole]) -> set[DocumentId]:
    """Make written versions live together, and remove those that they replace."""
    spaces = {space.name: space for space in parts.spaces.all}
    with parts.telemetry.stage("flush"):
        # Into one that another process has retired nothing goes live.
        for name in {whole.version.space for whole in wholes} & spaces.keys():
            await spaces[name].index.flush()
    with parts.telemetry.stage("commit"):
        live = set(await parts.catalog.go_live(wholes))
    with parts.telemetry.stage("purge"):
        try:
            await _clean_up(parts, wholes, live)
        except (OutputError, TransientError) as error:
            # What is live is live. The rest is listed, and goes at the next start of a process, or sooner.
            log("what was replaced could not be purged yet: %s", error)
    return live


async def _clean_up(parts: Parts, wholes: Sequence[Whole], live: set[DocumentId]) -> None:
    documents = {whole.version.document for whole in wholes}
    await purge(parts, [one for one in await parts.catalog.remains() if one.document in documents])
    late = [whole.version for whole in wholes if whole.version.document not in live]
    for version in late:
        # Deleted or overtaken while it was written: its points came after the purge.
        space = parts.spaces.get(version.space)
        if space is not None:
            await space.index.delete(version.document, [version.generation])
            await space.index.flush()
