"""A whole library as one file, and back.

A zip with `manifest.json` and, for each document, its original, its text and its vectors. The
vectors are only to save work: where embedder or chunking differ, they are made anew.
"""

import asyncio
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from unchunk.domain import Document, Extracted, OwnerId, Version
from unchunk.errors import (
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    OutputError,
    TransientError,
)
from unchunk.library.committing import Flow, each
from unchunk.library.embedding import DIGEST_SIZE, digest
from unchunk.library.keys import blob_key
from unchunk.library.layout import embedded_text, lay_out
from unchunk.library.manifest import BROKEN, FORMAT, MANIFEST, Entry, verified
from unchunk.library.packing import pack
from unchunk.library.parts import Parts
from unchunk.library.purging import purge_document
from unchunk.library.writing import write
from unchunk.telemetry import log

_BLOCK = 1 << 20

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """How much went out of, or came into, a library.

    `lost` went without their originals, which are gone or damaged; `damaged` were left out,
    because their texts are.
    """

    documents: int
    unchanged: int = 0
    lost: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


async def export(parts: Parts, owner: OwnerId | None, target: Path, watch: Watch) -> Moved:
    """Write all live documents to `target`, which appears only when it is whole.

    What is deleted meanwhile is left out; what is written anew goes in as it then is.
    """
    documents = [one for one in await parts.catalog.find(owner) if one.live]
    temporary = target.with_name(f".{target.name}.{uuid4().hex}")
    lost, damaged = [], []
    try:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            entries = []
            for at, document in enumerate(documents):
                try:
                    entry = await pack(parts, archive, str(at), document)
                except (IntegrityError, NotFoundError) as error:
                    log("%s is not exported: %s", document.name, error)
                    damaged.append(document.name)
                    entry = None
                if entry is not None:
                    entries.append(entry)
                    if not entry["original"]:
                        lost.append(document.name)
                watch(document.name, at + 1, len(documents))
            manifest = {"format": FORMAT, "documents": entries}
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return Moved(len(entries), lost=tuple(lost), damaged=tuple(damaged))


async def restore(
    parts: Parts, flow: Flow, source: Path, owner: OwnerId | None, watch: Watch
) -> Moved:
    """Bring the documents of an archive in, over those of the same name.

    All of it is checked first: a damaged archive changes nothing. `owner` takes all of them
    over; without it each keeps the one it had.
    """
    parts.spaces.check()
    try:
        archive = zipfile.ZipFile(source)
    except BROKEN as error:
        raise InvalidInputError(f"{source} is not a library archive: {error}") from None
    with archive:
        entries = await asyncio.to_thread(verified, archive, source, parts.max_bytes, owner)
        numbered = ((at, entry, len(entries)) for at, entry in enumerate(entries, 1))
        changed = sum(
            await each(numbered, flow.width, partial(_restore_one, parts, flow, archive, watch))
        )
    return Moved(changed, len(entries) - changed)


async def _restore_one(
    parts: Parts,
    flow: Flow,
    archive: zipfile.ZipFile,
    watch: Watch,
    numbered: tuple[int, Entry, int],
) -> bool:
    at, entry, total = numbered
    async with flow.room.hold(entry.size):
        changed = await _unpack(parts, flow, archive, entry)
    watch(entry.name, at, total)
    return changed


async def _unpack(parts: Parts, flow: Flow, archive: zipfile.ZipFile, entry: Entry) -> bool:
    blob = blob_key(entry.owner, datetime.now(UTC).date(), uuid4()) if entry.original else ""
    document = await parts.catalog.begin(
        entry.owner,
        entry.folder,
        entry.name,
        checksum=entry.checksum,
        size=entry.size,
        blob=blob,
        taken=True,
    )
    draft = document.draft
    fresh = draft is not None and bool(blob) and draft.blob == blob
    async with parts.desk.hold(document.id), parts.spaces.using() as space:
        # What another draft left; where that cannot be now, it goes at the next start.
        with suppress(OutputError, TransientError):
            await purge_document(parts, document.id)
        try:
            if draft is None:
                return await _describe(parts, document, entry)
            document = await parts.catalog.get(document.owner, document.id)
        except NotFoundError:
            return False
        if document.draft is None or document.draft.generation != draft.generation:
            return False  # somebody else was quicker
        if not fresh:
            document = await parts.catalog.renew(document.id, draft.generation)
            draft = document.draft
            assert draft is not None, "what is renewed is a draft"
        if entry.original:
            await _put(parts, archive, f"{entry.at}/original", draft)
        text = (await asyncio.to_thread(archive.read, f"{entry.at}/text")).decode()
        extracted = Extracted(
            text, entry.media_type, entry.pages, entry.headings, entry.title, entry.notes
        )
        if entry.embedder == space.identity.fingerprint:
            await _remember(parts, archive, entry.at, document, extracted)
        whole = await write(parts, space, document, draft, extracted, step=lambda *_: None)
        # Before it can be found: no filter is to see it without them.
        with suppress(NotFoundError):
            await _describe(parts, document, entry)
        return await flow.committer.commit(whole)


async def _describe(parts: Parts, document: Document, entry: Entry) -> bool:
    """Whether the archive says something else of it than the library did."""
    if entry.attributes is None:
        return False
    await parts.catalog.describe(document.owner, document.id, entry.attributes)
    # As JSON: to Python, 1 is True.
    before, after = (
        json.dumps(it, sort_keys=True) for it in (document.attributes, entry.attributes)
    )
    return before != after


async def _put(parts: Parts, archive: zipfile.ZipFile, name: str, draft: Version) -> None:
    staged = parts.incoming / uuid4().hex
    try:
        await asyncio.to_thread(_extract, archive, name, staged)
        await parts.blobs.put(draft.blob, staged)
    except OSError as error:
        raise OutputError(f"{name} cannot be taken in: {error.strerror or error}") from None
    finally:
        staged.unlink(missing_ok=True)


def _extract(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    with archive.open(name) as file, target.open("wb") as out:
        while block := file.read(_BLOCK):
            out.write(block)


async def _remember(
    parts: Parts, archive: zipfile.ZipFile, at: str, document: Document, extracted: Extracted
) -> None:
    """Put an archive's vectors where embedding looks first: those of this text, if they are any."""
    embedder = parts.spaces.embedder
    identity = embedder.identity
    chunks = await asyncio.to_thread(
        lay_out, extracted, parts.spaces.chunking, embedder.count_tokens, identity.max_tokens
    )
    own = {digest(embedded_text(extracted.text, chunk)) for chunk in chunks}
    found = {mark: row for mark, row in _vectors(archive, at, identity.dimensions) if mark in own}
    if found:
        await parts.cache.keep(document.owner, identity.fingerprint, document.id, found)


def _vectors(
    archive: zipfile.ZipFile, at: str, dimensions: int
) -> Iterator[tuple[bytes, np.ndarray[Any, np.dtype[np.float32]]]]:
    """The vectors that are vectors: as many as digests, finite and of length one."""
    sizes = {name: archive.NameToInfo.get(f"{at}/{name}") for name in ("digests", "vectors")}
    if any(info is None for info in sizes.values()):
        return
    marks, rows = archive.read(f"{at}/digests"), archive.read(f"{at}/vectors")
    count = len(marks) // DIGEST_SIZE
    if len(rows) != count * dimensions * 4:
        return
    vectors = np.frombuffer(rows, "<f4").reshape(count, dimensions).astype(np.float32)
    for number, row in enumerate(vectors):
        if abs(float(np.linalg.norm(row)) - 1) < 0.01:  # not for what is not a number, either
            yield marks[number * DIGEST_SIZE : (number + 1) * DIGEST_SIZE], row
