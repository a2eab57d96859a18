"""A read document into the index and live: all of it or nothing, whenever the power fails.

Points of a new generation go in and are flushed; one transaction of the catalog makes that
generation live; the points of the old one go out. A hit counts only if its generation is live.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

from unchunk.domain import Document, DocumentId, Extracted, Version, Whole
from unchunk.library.embedding import Vectoriser, batches, points
from unchunk.library.layout import lay_out
from unchunk.library.parts import Parts
from unchunk.library.purging import purge

Step = Callable[[int, int], None]


async def write(
    parts: Parts, document: Document, version: Version, extracted: Extracted, step: Step
) -> Whole:
    """Put a version's points into the active index, not yet flushed and not yet live.

    `step` is told how many chunks are done, of how many.
    """
    space, chunking, embedder = parts.spaces.active, parts.spaces.chunking, parts.spaces.embedder
    with parts.telemetry.stage("chunk"):
        chunks = await asyncio.to_thread(
            lay_out, extracted, chunking, embedder.count_tokens, embedder.identity.max_tokens
        )
    version = replace(
        version,
        media_type=extracted.media_type,
        title=extracted.title,
        text_checksum=sha256(extracted.text.encode()).hexdigest(),
        text_length=len(extracted.text),
        page_count=len(extracted.pages),
        chunk_count=len(chunks),
        chunking=chunking,
        space=space.name,
        notes=extracted.notes,
    )
    vectoriser = Vectoriser(embedder, parts.cache, parts.telemetry)
    step(0, len(chunks))
    for batch in batches(extracted.text, chunks):
        vectors = await vectoriser.vectors(document.owner, document.id, batch.texts)
        with parts.telemetry.stage("terms"):
            made = points(document, version.generation, batch, vectors, parts.lexicon)
        with parts.telemetry.stage("index"):
            await space.index.upsert(made)
        step(batch.chunks[-1].chunk_index + 1, len(chunks))
    parts.telemetry.count("chunks", len(chunks))
    return Whole(version, extracted.text, chunks, extracted.pages, extracted.headings)


async def commit(parts: Parts, wholes: Sequence[Whole]) -> set[DocumentId]:
    """Make written versions live together, and remove those that they replace."""
    spaces = {space.name: space for space in parts.spaces.all}
    with parts.telemetry.stage("flush"):
        for name in {whole.version.space for whole in wholes}:
            await spaces[name].index.flush()
    with parts.telemetry.stage("commit"):
        live = set(await parts.catalog.go_live(wholes))
    with parts.telemetry.stage("purge"):
        documents = {whole.version.document for whole in wholes}
        await purge(
            parts, [one for one in await parts.catalog.remains() if one.document in documents]
        )
        for version in (whole.version for whole in wholes if whole.version.document not in live):
            # Deleted or overtaken while it was written: its points came after the purge.
            await spaces[version.space].index.delete(version.document, [version.generation])
    return live
