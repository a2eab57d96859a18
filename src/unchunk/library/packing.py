"""One document into an archive, as it is at that moment."""

import asyncio
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unchunk.domain import ChunkKey, Document, Version
from unchunk.errors import IndexUnavailableError, IntegrityError, NotFoundError
from unchunk.library.embedding import digest
from unchunk.library.layout import embedded_text
from unchunk.library.parts import Parts
from unchunk.library.reindexing import checksum_of, stored


class _Vectors(NamedTuple):
    """Vectors with the digests of their texts, and which embedder made them; or nothing."""

    rows: bytes = b""
    digests: bytes = b""
    embedder: str = ""


async def pack(
    parts: Parts, archive: zipfile.ZipFile, at: str, document: Document
) -> dict[str, Any] | None:
    """Put a document's parts under `at`; what the manifest has of it, or None if it is no more.

    Raises `IntegrityError` or `NotFoundError` where its text is damaged or lost. Nobody is
    kept from changing the document meanwhile: where something is missing, it is looked up
    again, and begun anew if it is another version by now.
    """
    while (version := document.live) is not None:
        problem = None
        try:
            extracted = await stored(parts, document, version)
            vectors = await _vectors_of(parts, document, version, extracted.text)
            # What may fail last is written first, so nothing is written twice.
            original = await _pack_original(parts, archive, f"{at}/original", version)
        except (IndexUnavailableError, IntegrityError, NotFoundError) as error:
            problem, original = error, False
        if not original:
            try:
                again = await parts.catalog.get(document.owner, document.id)
            except NotFoundError:
                break
            if again.live != version:
                document = again
                continue
        if problem is not None:
            raise problem
        await asyncio.to_thread(archive.writestr, f"{at}/text", extracted.text.encode())
        if vectors.embedder:
            archive.writestr(f"{at}/vectors", vectors.rows)
            archive.writestr(f"{at}/digests", vectors.digests)
        return {
            "entry": at,
            "owner": document.owner,
            "folder": document.folder,
            "name": document.name,
            "original": original,
            "checksum": version.checksum,
            "size": version.size,
            "text_checksum": version.text_checksum,
            "media_type": version.media_type,
            "title": version.title,
            "notes": version.notes,
            "pages": extracted.pages,
            "headings": extracted.headings,
            "embedder": vectors.embedder,
            "attributes": document.attributes,
        }
    return None


async def _pack_original(
    parts: Parts, archive: zipfile.ZipFile, name: str, version: Version
) -> bool:
    """False if it is gone, or is not what came in."""
    if not version.blob:
        return False
    try:
        async with parts.blobs.local(version.blob) as path:
            return await asyncio.to_thread(_write, archive, path, name, version.checksum)
    except (NotFoundError, FileNotFoundError):
        return False


def _write(archive: zipfile.ZipFile, path: Path, name: str, checksum: str) -> bool:
    if checksum_of(path) != checksum:
        return False
    archive.write(path, name)
    return True


async def _vectors_of(parts: Parts, document: Document, version: Version, text: str) -> _Vectors:
    """All of them or none: they only save work."""
    space = parts.spaces.get(version.space)
    keys = [
        ChunkKey(document.owner, document.id, version.generation, number)
        for number in range(version.chunk_count)
    ]
    if space is None or not keys:
        return _Vectors()
    found = await space.index.fetch(keys)
    if len(found) != len(keys):
        return _Vectors()
    rows = np.stack([found[key] for key in keys]).astype("<f4")
    marks = (digest(embedded_text(text, one)) for one in await parts.catalog.chunks(version))
    return _Vectors(rows.tobytes(), b"".join(marks), space.identity.fingerprint)
