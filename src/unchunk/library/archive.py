"""A whole library as one file, and back.

A zip with `manifest.json` and, for each document, its original, its text and its vectors. The
vectors are only to save work: where embedder or chunking differ, they are made anew.
"""

import asyncio
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from unchunk.domain import ChunkKey, Document, Extracted, Heading, OwnerId, Version
from unchunk.errors import IntegrityError, InvalidInputError, OutputError
from unchunk.library.committing import Committer, each
from unchunk.library.embedding import DIGEST_SIZE, digest
from unchunk.library.keys import blob_key
from unchunk.library.layout import embedded_text
from unchunk.library.parts import Parts
from unchunk.library.writing import write

_FORMAT = "unchunk library 1"
_MANIFEST = "manifest.json"
_BLOCK = 1 << 20

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """How much went out of, or came into, a library."""

    documents: int
    unchanged: int = 0


async def export(parts: Parts, owner: OwnerId | None, target: Path, watch: Watch) -> Moved:
    """Write all live documents to `target`, which appears only when it is whole."""
    documents = [one for one in await parts.catalog.find(owner) if one.live]
    temporary = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            entries = []
            for at, document in enumerate(documents):
                entries.append(await _pack(parts, archive, str(at), document))
                watch(document.name, at + 1, len(documents))
            manifest = {"format": _FORMAT, "documents": entries}
            archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return Moved(len(documents))


async def _pack(
    parts: Parts, archive: zipfile.ZipFile, at: str, document: Document
) -> dict[str, Any]:
    version = document.live
    assert version is not None
    text = await parts.catalog.text(version)
    pages, headings = await parts.catalog.outline(version)
    if version.blob:
        async with parts.blobs.local(version.blob) as path:
            await asyncio.to_thread(archive.write, path, f"{at}/original")
    archive.writestr(f"{at}/text", text.encode())
    space = parts.spaces.get(version.space)
    if space is not None:
        keys = [
            ChunkKey(document.owner, document.id, version.generation, number)
            for number in range(version.chunk_count)
        ]
        found = await space.index.fetch(keys)
        if len(found) == len(keys) > 0:
            rows = np.stack([found[key] for key in keys])
            archive.writestr(f"{at}/vectors", rows.astype("<f4").tobytes())
            chunks = await parts.catalog.chunks(version)
            marks = (digest(embedded_text(text, chunk)) for chunk in chunks)
            archive.writestr(f"{at}/digests", b"".join(marks))
    return {
        "entry": at,
        "owner": document.owner,
        "folder": document.folder,
        "name": document.name,
        "embedder": version.space,
        "pages": pages,
        "headings": headings,
        "version": asdict(version),
    }


async def restore(parts: Parts, source: Path, owner: OwnerId | None, watch: Watch) -> Moved:
    """Bring the documents of an archive in, over those of the same name.

    All of it is checked first: a damaged archive changes nothing. `owner` takes all of them
    over; without it each keeps the one it had.
    """
    parts.spaces.check()
    try:
        archive = zipfile.ZipFile(source)
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{source} is no archive of a library: {error}") from None
    with archive:
        entries = await asyncio.to_thread(_verified, archive, source)
        committer = Committer(parts)
        done = 0

        async def one(entry: dict[str, Any]) -> bool:
            nonlocal done
            changed = await _unpack(parts, archive, entry, owner, committer)
            done += 1
            watch(entry["name"], done, len(entries))
            return changed

        changed = sum(await each(entries, 4, one))
    return Moved(changed, len(entries) - changed)


def _verified(archive: zipfile.ZipFile, source: Path) -> Sequence[dict[str, Any]]:
    try:
        manifest = json.loads(archive.read(_MANIFEST))
        if manifest["format"] != _FORMAT:
            raise InvalidInputError(f"{source} has the format {manifest['format']!r}: upgrade")
        entries: list[dict[str, Any]] = manifest["documents"]
        for entry in entries:
            version = entry["version"]
            wanted = [("text", version["text_checksum"])]
            if version["blob"]:
                wanted.append(("original", version["checksum"]))
            for part, checksum in wanted:
                if _checksum(archive, f"{entry['entry']}/{part}") != checksum:
                    raise IntegrityError(f"{source}: the {part} of {entry['name']} is damaged")
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, OSError, EOFError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise IntegrityError(f"{source} is damaged: {error}; nothing was changed") from None
    return entries


def _checksum(archive: zipfile.ZipFile, name: str) -> str:
    seen = sha256()
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            seen.update(block)
    return seen.hexdigest()


async def _unpack(
    parts: Parts,
    archive: zipfile.ZipFile,
    entry: dict[str, Any],
    owner: OwnerId | None,
    committer: Committer,
) -> bool:
    was, at = entry["version"], entry["entry"]
    owner = owner or entry["owner"]
    document = await parts.catalog.begin(
        owner,
        entry["folder"],
        entry["name"],
        checksum=was["checksum"],
        size=was["size"],
        blob=blob_key(owner, datetime.now(UTC).date(), uuid4()) if was["blob"] else "",
    )
    draft = document.draft
    if draft is None or (document.live and document.live.checksum == was["checksum"]):
        return False
    if draft.blob:
        await _put(parts, archive, f"{at}/original", draft)
    text = (await asyncio.to_thread(archive.read, f"{at}/text")).decode()
    headings = tuple(Heading(*heading) for heading in entry["headings"])
    extracted = Extracted(
        text, was["media_type"], tuple(entry["pages"]), headings, was["title"], tuple(was["notes"])
    )
    if entry["embedder"] == parts.spaces.active.name and f"{at}/vectors" in archive.NameToInfo:
        await _remember(parts, archive, at, document)
    whole = await write(parts, document, draft, extracted, lambda *_: None)
    return await committer.commit(whole)


async def _put(parts: Parts, archive: zipfile.ZipFile, name: str, draft: Version) -> None:
    staged = parts.incoming / uuid4().hex
    try:
        await asyncio.to_thread(_extract, archive, name, staged)
        await parts.blobs.put(draft.blob, staged)
    finally:
        staged.unlink(missing_ok=True)


def _extract(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    with archive.open(name) as file, target.open("wb") as out:
        while block := file.read(_BLOCK):
            out.write(block)


async def _remember(parts: Parts, archive: zipfile.ZipFile, at: str, document: Document) -> None:
    """Put an archive's vectors where embedding looks first."""
    identity = parts.spaces.embedder.identity
    marks, rows = archive.read(f"{at}/digests"), archive.read(f"{at}/vectors")
    vectors = np.frombuffer(rows, "<f4").reshape(-1, identity.dimensions).astype(np.float32)
    found = {marks[n * DIGEST_SIZE : (n + 1) * DIGEST_SIZE]: row for n, row in enumerate(vectors)}
    await parts.cache.keep(document.owner, identity.fingerprint, document.id, found)
