"""Proves that the parts of a library agree, and mends what it can.

Of each document: its chunks give its text again, the text and the original have the checksums
they had, and the index holds its chunks and no others.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal

from unchunk.domain import Document, Span, Version
from unchunk.errors import ExtractionError, IntegrityError, NotFoundError
from unchunk.library.parts import Parts
from unchunk.library.purging import purge
from unchunk.library.reindexing import Read, from_original, reindex, stored
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


async def examine(parts: Parts, *, fix: bool, watch: Watch) -> Examination:
    """Look at everything; `watch` is told how many documents are done, of how many."""
    documents = await parts.catalog.find()
    findings = [finding async for finding in _leftovers(parts, documents, fix=fix)]
    for at, document in enumerate(documents, 1):
        if document.live is not None:
            findings += [one async for one in _original(parts, document, document.live)]
            findings += [one async for one in _text(parts, document, document.live, fix=fix)]
        watch(at, len(documents))
    # Anew: some may just have been written again.
    documents = await parts.catalog.find()
    findings += [finding async for finding in _index(parts, documents, fix=fix)]
    chunks = sum(document.live.chunk_count for document in documents if document.live)
    return Examination(len(documents), chunks, tuple(findings))


async def _text(
    parts: Parts, document: Document, version: Version, *, fix: bool
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
        fixed = fix and await _rewrite(parts, document, from_original)
        yield Finding("text", "its text is not the one that was stored", document.name, fixed)
        return
    spans = [Span(chunk.start, chunk.end) for chunk in chunks]
    whole = "".join(span.of(text) for span in uncovered(spans)) == text
    if not whole or len(chunks) != version.chunk_count:
        fixed = fix and await _rewrite(parts, document, stored)
        yield Finding("text", "its chunks do not give its text again", document.name, fixed)


async def _rewrite(parts: Parts, document: Document, read: Read) -> bool:
    try:
        return (await reindex(parts, [document], 1, lambda *_: None, read)).documents == 1
    except (ExtractionError, NotFoundError):
        return False


async def _original(parts: Parts, document: Document, version: Version) -> AsyncIterator[Finding]:
    if not version.blob:
        return
    try:
        async with parts.blobs.local(version.blob) as path:
            if await asyncio.to_thread(_checksum, path) != version.checksum:
                yield Finding("original", "its original is not the one that came in", document.name)
    except NotFoundError:
        yield Finding("original", "its original is gone; the text is not", document.name)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


async def _index(parts: Parts, documents: list[Document], *, fix: bool) -> AsyncIterator[Finding]:
    """Points that are missing, and points of versions that are neither live nor coming in."""
    live = {one.id: one for one in documents if one.live}
    drafts = {(one.id, one.draft.generation) for one in documents if one.draft}
    counts: Counter[str] = Counter()
    for space in parts.spaces.all:
        for (identity, generation), count in (await space.index.census()).items():
            document = live.get(identity)
            version = document.live if document else None
            if version and (version.generation, version.space) == (generation, space.name):
                counts[identity] += count
                continue
            if (identity, generation) in drafts:
                continue
            if fix:
                await space.index.delete(identity, [generation])
            name = document.name if document else identity
            yield Finding("index", f"{count} chunks are no longer part of it", name, fix)
        if fix:
            await space.index.flush()
    short = [one for one in live.values() if one.live and counts[one.id] != one.live.chunk_count]
    if fix:
        await reindex(parts, short, 4, lambda *_: None)
    for document in short:
        assert document.live is not None
        found = f"the index holds {counts[document.id]} of its {document.live.chunk_count} chunks"
        yield Finding("index", found, document.name, fix)


async def _leftovers(
    parts: Parts, documents: list[Document], *, fix: bool
) -> AsyncIterator[Finding]:
    """What a crash left behind and the next start did not yet remove."""
    remains = await parts.catalog.remains()
    if fix:
        await purge(parts, remains)
    for one in remains:
        yield Finding("leftover", f"generation {one.generation} was not purged", one.document, fix)
    known = {version.blob for one in documents for version in (one.live, one.draft) if version} | {
        one.blob for one in remains
    }
    for key in (await parts.blobs.keys()).keys() - known:
        if fix:
            await parts.blobs.delete(key)
        yield Finding("leftover", f"the original {key} belongs to no document", "", fix)
    for name in await parts.spaces.strays():
        if fix:
            await parts.spaces.drop(name)
        yield Finding("leftover", f"the index {name} belongs to no space", "", fix)
