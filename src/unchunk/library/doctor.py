"""Proves that the parts of a library agree, and mends what it can.

Of each document: its chunks give its text again, the text and the original have the checksums
they had, and the index holds its chunks and no others.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from unchunk.domain import Document, Span, Version
from unchunk.errors import ExtractionError, IntegrityError, NotFoundError
from unchunk.library.committing import Flow
from unchunk.library.parts import Parts
from unchunk.library.purging import belongs, purge
from unchunk.library.reindexing import Read, checksum_of, from_original, reindex, stored
from unchunk.text.chunking import uncovered

Kind = Literal["text", "original", "index", "leftover"]
Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; `fixed` once it is mended."""

    kind: Kind
    message: str
    document: str = ""
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What was looked at, and what was found; no findings is health."""

    documents: int
    chunks: int
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return all(finding.fixed for finding in self.findings)


async def examine(parts: Parts, flow: Flow, *, fix: bool, watch: Watch) -> Examination:
    """Look at everything; `watch` is told how many documents are done, of how many.

    What others work on meanwhile is left to them.
    """
    findings = [finding async for finding in _leftovers(parts, fix=fix)]
    documents = await parts.catalog.find()
    for at, document in enumerate(documents, 1):
        if document.live is not None and not parts.desk.is_held(document.id):
            findings += [one async for one in _original(parts, document, document.live)]
            findings += [one async for one in _text(parts, flow, document, document.live, fix=fix)]
        watch(at, len(documents))
    findings += [finding async for finding in _index(parts, flow, fix=fix)]
    chunks = sum(document.live.chunk_count for document in documents if document.live)
    return Examination(len(documents), chunks, tuple(findings))


async def _text(
    parts: Parts, flow: Flow, document: Document, version: Version, *, fix: bool
) -> AsyncIterator[Finding]:
    """A text that is damaged is read again from its original; chunks are made of the text."""
    try:
        text = await parts.catalog.text(version)
        chunks = await parts.catalog.chunks(version)
    except NotFoundError:
        return  # written anew or deleted since it was listed
    except IntegrityError:
        text, chunks = "", []
    if sha256(text.encode()).hexdigest() != version.text_checksum:
        fixed = fix and await _rewrite(parts, flow, document, from_original)
        yield Finding("text", "its text is not the one that was stored", document.name, fixed)
        return
    spans = [Span(chunk.start, chunk.end) for chunk in chunks]
    whole = "".join(span.of(text) for span in uncovered(spans)) == text
    if not whole or len(chunks) != version.chunk_count:
        fixed = fix and await _rewrite(parts, flow, document, stored)
        yield Finding("text", "its chunks do not give its text again", document.name, fixed)


async def _rewrite(parts: Parts, flow: Flow, document: Document, read: Read) -> bool:
    try:
        return (await reindex(parts, [document], flow, lambda *_: None, read)).documents == 1
    except (ExtractionError, IntegrityError, NotFoundError):
        return False


async def _original(parts: Parts, document: Document, version: Version) -> AsyncIterator[Finding]:
    if not version.blob:
        return
    try:
        async with parts.blobs.local(version.blob) as path:
            if await asyncio.to_thread(checksum_of, path) != version.checksum:
                yield Finding("original", "its original is not the one that came in", document.name)
    except NotFoundError:
        yield Finding("original", "its original is gone; the text is not", document.name)


async def _index(parts: Parts, flow: Flow, *, fix: bool) -> AsyncIterator[Finding]:
    """Points that are missing, and points of versions that are neither live nor coming in."""
    # The index first: what comes in later is then unknown to neither.
    censuses = [(space, await space.index.census()) for space in parts.spaces.all]
    documents = {one.id: one for one in await parts.catalog.find()}
    counts: Counter[tuple[str, int]] = Counter()
    for space, census in censuses:
        for (identity, generation), count in census.items():
            document = documents.get(identity)
            if parts.desk.is_held(identity) or belongs(document, generation, space.name):
                counts[identity, generation] += count
                continue
            if fix:
                await space.index.delete(identity, [generation])
            name = document.name if document else identity
            yield Finding("index", f"{count} chunks are no longer part of it", name, fix)
        if fix:
            await space.index.flush()
    for document in documents.values():
        version = document.live
        if version is None or parts.desk.is_held(document.id):
            continue
        there = counts[document.id, version.generation]
        if there != version.chunk_count:
            fixed = fix and await _rewrite(parts, flow, document, stored)
            found = f"the index holds {there} of its {version.chunk_count} chunks"
            yield Finding("index", found, document.name, fixed)


async def _leftovers(parts: Parts, *, fix: bool) -> AsyncIterator[Finding]:
    """What a crash left behind and the next start did not yet remove."""
    remains = [one for one in await parts.catalog.remains() if not parts.desk.is_held(one.document)]
    if fix:
        await purge(parts, remains)
    for one in remains:
        yield Finding("leftover", f"generation {one.generation} was not purged", one.document, fix)
    # Originals first: one that comes in later is noted before it is kept.
    keys = await parts.blobs.keys()
    known = {one.blob for one in await parts.catalog.remains()} | {
        version.blob
        for one in await parts.catalog.find()
        for version in (one.live, one.draft)
        if version
    }
    for key in keys.keys() - known:
        if fix:
            await parts.blobs.delete(key)
        yield Finding("leftover", f"the original {key} belongs to no document", "", fix)
    for name in await parts.spaces.strays():
        if fix:
            await parts.spaces.drop(name)
        yield Finding("leftover", f"the index {name} belongs to no space", "", fix)
