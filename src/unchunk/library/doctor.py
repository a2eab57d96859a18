"""Proves that the parts of a library agree, and mends what it can.

Of each document: its chunks give its text again, the text and the original have the checksums
they had, and the index holds its chunks and no others.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Literal, NamedTuple

from unchunk.domain import Document, DocumentId, EmbedderIdentity, Span, Version
from unchunk.errors import IntegrityError, NotFoundError, TransientError, UnchunkError
from unchunk.library.calibration import problem_of
from unchunk.library.committing import Flow
from unchunk.library.parts import Parts
from unchunk.library.purging import belongs, purge
from unchunk.library.reindexing import Read, checksum_of, from_original, reindex, stored
from unchunk.text.chunking import uncovered

Kind = Literal["text", "original", "index", "leftover"]
Watch = Callable[[int, int], None]
# So long another process may need from making something remains to holding its document.
_BREATH = 0.5
# Seconds that an embedder has to be calibrated.
_PATIENCE = 20.0
# How many chunks of a document there are, by space and generation.
_Kept = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; `fixed` once it is mended."""

    kind: Kind
    message: str
    document: str = ""
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What was looked at, and what was found; no findings is health.

    `embedder` has the threshold that holds; `uncalibrated` says why it has none yet.
    """

    documents: int
    chunks: int
    findings: tuple[Finding, ...]
    embedder: EmbedderIdentity | None = None
    uncalibrated: str = ""

    @property
    def healthy(self) -> bool:
        return all(finding.fixed for finding in self.findings)


class _Fault(NamedTuple):
    """What is wrong, and what would mend it."""

    kind: Kind
    message: str
    cure: Callable[[], Awaitable[object]] | None
    document: str = ""


async def examine(parts: Parts, flow: Flow, *, fix: bool, watch: Watch) -> Examination:
    """Look at everything; `watch` is told how many documents are done, of how many.

    What others work on meanwhile is left to them: whatever seems wrong is looked at again.
    What cannot be mended now is told, and the rest is mended.
    """
    mend = partial(_mend, fix=fix)
    findings = [await mend(fault) async for fault in _leftovers(parts)]
    documents = await parts.catalog.find()
    for at, document in enumerate(documents, 1):
        faults = await _settled(parts, document.id, document, partial(_content, parts, flow))
        findings += [await mend(fault) for fault in faults]
        watch(at, len(documents))
    findings += [await mend(fault) async for fault in _index(parts, flow)]
    chunks = sum(document.live.chunk_count for document in documents if document.live)
    return Examination(len(documents), chunks, tuple(findings), *await _embedder(parts))


async def _embedder(parts: Parts) -> tuple[EmbedderIdentity | None, str]:
    """The embedder with its threshold, which is measured now if it was not yet; else why not."""
    if not parts.spaces.all:
        return None, ""
    space = parts.spaces.active
    problem = ""
    if space.embedder is not None and not space.threshold:
        try:
            async with asyncio.timeout(_PATIENCE):
                await space.embedder.embed(["ready"], "query")
        except TimeoutError:
            problem = f"no answer within {_PATIENCE:.0f} s"
        except UnchunkError as error:
            problem = str(error)
    problem = problem or problem_of(space.embedder)
    return replace(space.identity, min_score=space.threshold), problem


async def _mend(fault: _Fault, *, fix: bool) -> Finding:
    kind, message, cure, document = fault
    if not fix or cure is None:
        return Finding(kind, message, document)
    try:
        await cure()
    except UnchunkError as error:
        return Finding(kind, f"{message}; it cannot be mended now: {error}", document)
    return Finding(kind, message, document, fixed=True)


async def _settled(
    parts: Parts,
    identity: DocumentId,
    document: Document | None,
    look: Callable[[Document | None], Awaitable[list[_Fault]]],
) -> list[_Fault]:
    """What is wrong with a document that nobody changed while it was looked at."""
    while faults := await look(document):
        # In this order: who has let go of it by now has changed what is read and seen next.
        if await parts.desk.is_held(identity):
            break
        again = await _again(parts, document)
        if again == document and _told(await look(again)) == _told(faults):
            return faults
        document = again
    return []


def _told(faults: Sequence[_Fault]) -> list[tuple[str, str]]:
    return sorted((fault.kind, fault.message) for fault in faults)


async def _again(parts: Parts, document: Document | None) -> Document | None:
    try:
        return document and await parts.catalog.get(document.owner, document.id)
    except NotFoundError:
        return None


async def _content(parts: Parts, flow: Flow, document: Document | None) -> list[_Fault]:
    if document is None or document.live is None:
        return []
    version = document.live
    faults = [
        _Fault("original", problem, None, document.name)
        async for problem in _original(parts, version)
    ]
    async for problem, read in _text(parts, version):
        cure = partial(_rewrite, parts, flow, document, read)
        faults.append(_Fault("text", problem, cure, document.name))
    return faults


async def _text(parts: Parts, version: Version) -> AsyncIterator[tuple[str, Read]]:
    """A text that is damaged is read again from its original; chunks are made of the text."""
    try:
        text = await parts.catalog.text(version)
        chunks = await parts.catalog.chunks(version)
    except (IntegrityError, NotFoundError):
        text, chunks = "", []
    if sha256(text.encode()).hexdigest() != version.text_checksum:
        yield "its text is not the one that was stored", from_original
        return
    spans = [Span(chunk.start, chunk.end) for chunk in chunks]
    whole = "".join(span.of(text) for span in uncovered(spans)) == text
    if not whole or len(chunks) != version.chunk_count:
        yield "its chunks do not give its text again", stored


async def _rewrite(parts: Parts, flow: Flow, document: Document, read: Read) -> None:
    done = await reindex(parts, [document], flow, lambda *_: None, read)
    if not done.documents:
        raise NotFoundError("there is nothing left to write it from")


async def _original(parts: Parts, version: Version) -> AsyncIterator[str]:
    if not version.blob:
        return
    try:
        async with parts.blobs.local(version.blob) as path:
            if await asyncio.to_thread(checksum_of, path) != version.checksum:
                yield "its original is not the one that came in"
    except (NotFoundError, FileNotFoundError):
        yield "its original is gone; the text is not"


async def _index(parts: Parts, flow: Flow) -> AsyncIterator[_Fault]:
    """Points that are missing, and points of versions that are neither live nor coming in."""
    # The index first: what comes in later is then unknown to neither.
    census = await _census(parts)
    documents = {one.id: one for one in await parts.catalog.find()}
    for identity in {**documents, **census}:
        document = documents.get(identity)
        if _misplaced(parts, flow, identity, document, census[identity]):
            look = partial(_points, parts, flow, identity)
            for fault in await _settled(parts, identity, document, look):
                yield fault


async def _points(
    parts: Parts, flow: Flow, identity: DocumentId, document: Document | None
) -> list[_Fault]:
    kept = (await _census(parts, identity))[identity]
    return _misplaced(parts, flow, identity, document, kept)


async def _census(parts: Parts, document: DocumentId | None = None) -> dict[DocumentId, _Kept]:
    kept: dict[DocumentId, _Kept] = defaultdict(dict)
    censuses = await parts.spaces.everywhere(lambda index: index.census(document))
    for space, census in censuses.items():
        for (identity, generation), count in census.items():
            kept[identity][space, generation] = count
    return kept


def _misplaced(
    parts: Parts, flow: Flow, identity: DocumentId, document: Document | None, kept: _Kept
) -> list[_Fault]:
    name = document.name if document else identity
    faults = []
    for (space, generation), count in kept.items():
        if not belongs(document, generation, space):
            cure = partial(_take_out, parts, (space, identity, generation), document)
            faults.append(_Fault("index", f"{count} chunks are no longer part of it", cure, name))
    if document is not None and document.live is not None:
        live = document.live
        there = kept.get((live.space, live.generation), 0)
        if there != live.chunk_count:
            found = f"the index holds {there} of its {live.chunk_count} chunks"
            cure = partial(_rewrite, parts, flow, document, stored)
            faults.append(_Fault("index", found, cure, name))
    return faults


async def _take_out(
    parts: Parts, which: tuple[str, DocumentId, int], document: Document | None
) -> None:
    """Of a version that is not live, nor will be: who writes it may only have slept."""
    space, identity, generation = which
    async with parts.desk.hold_if_free(identity) as is_free:
        if not is_free:
            raise TransientError("somebody works on it")
        # One that may yet go live is listed, and purging takes that right from it first.
        await purge(
            parts,
            [
                one
                for one in await parts.catalog.remains()
                if (one.document, one.generation) == (identity, generation)
            ],
        )
        kept = parts.spaces.get(space)
        if kept is None or belongs(await _again(parts, document), generation, space):
            return
        await kept.index.delete(identity, [generation])
        await kept.index.flush()


async def _leftovers(parts: Parts) -> AsyncIterator[_Fault]:
    """What a crash left behind and the next start did not yet remove."""
    # Twice: whoever made them remains holds their document by then, or has purged them.
    before = set(await parts.catalog.remains())
    if before and parts.desk.is_shared:
        await asyncio.sleep(_BREATH)
    for one in await parts.catalog.remains():
        if one in before and not await parts.desk.is_held(one.document):
            found = f"generation {one.generation} was not purged"
            yield _Fault("leftover", found, partial(purge, parts, [one]), one.document)
    # Originals first: one that comes in later is noted before it is kept. And once more: one
    # that went meanwhile is no leftover.
    keys = await parts.blobs.keys()
    known = {
        version.blob
        for one in await parts.catalog.find()
        for version in (one.live, one.draft)
        if version
    } | {one.blob for one in await parts.catalog.remains()}
    if strays := keys.keys() - known:
        for key in strays & (await parts.blobs.keys()).keys():
            found = f"the original {key} belongs to no document"
            yield _Fault("leftover", found, partial(parts.blobs.delete, key))
    for name in await parts.spaces.strays():
        found = f"the index {name} belongs to no space"
        yield _Fault("leftover", found, partial(parts.spaces.drop, name))
