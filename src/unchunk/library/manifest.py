"""What an archive says it holds, read as if somebody wished us ill."""

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import category

from unchunk.domain import Heading, OwnerId, json_object
from unchunk.errors import IntegrityError, InvalidInputError
from unchunk.library.intake import check_name

# It changes when an older version could not read an archive any more; what only adds to a
# record, which an older one passes over, does not change it.
FORMAT = "unchunk library 1"
MANIFEST = "manifest.json"

_BLOCK = 1 << 20
_LARGEST = 1 << 40
_DIGEST = re.compile("[0-9a-f]{64}")
_LARGEST_MANIFEST = 500_000_000
# What damaged or hostile archives make the standard library raise.
BROKEN = (
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of an archive, whose parts are under `at`.

    `attributes` are None in an archive from before there were any.
    """

    at: str
    owner: OwnerId
    folder: str
    name: str
    original: bool
    checksum: str
    size: int
    text_checksum: str
    media_type: str
    title: str
    notes: tuple[str, ...]
    pages: tuple[int, ...]
    headings: tuple[Heading, ...]
    embedder: str
    attributes: dict[str, object] | None


def verified(
    archive: zipfile.ZipFile, source: Path, max_bytes: int, owner: OwnerId | None
) -> list[Entry]:
    """All documents of an archive, every part of which is what its checksum says.

    No part may have more than `max_bytes`. With `owner`, all of them are that owner's.
    """
    try:
        entries = [_entry(record, owner) for record in _records(archive, source)]
        for entry in entries:
            _check(archive, entry, source, max_bytes)
    except (IntegrityError, InvalidInputError):
        raise
    except BROKEN as error:
        raise IntegrityError(f"{source} is damaged: {error!r}; nothing was changed") from None
    places = {(entry.owner, entry.folder, entry.name) for entry in entries}
    if len(places) < len(entries):
        raise InvalidInputError(
            f"{source} has two documents of one name; import it without changing owners"
        )
    return entries


def _records(archive: zipfile.ZipFile, source: Path) -> list[dict[str, Any]]:
    if archive.getinfo(MANIFEST).file_size > _LARGEST_MANIFEST:
        raise IntegrityError(f"{source}: its list of documents is too long")
    manifest = json.loads(archive.read(MANIFEST))
    if manifest["format"] != FORMAT:
        raise InvalidInputError(f"{source} has the format {manifest['format']!r}: upgrade")
    return list(manifest["documents"])


def _entry(record: dict[str, Any], owner: OwnerId | None) -> Entry:
    text = _text_of(record)
    return Entry(
        at=text("entry"),
        owner=_plain(text("owner")) if owner is None else owner,
        folder=check_name(text("folder")) if text("folder") else "",
        name=check_name(text("name")),
        original=_one_of(record["original"], (True, False)),
        checksum=_digest(text("checksum")),
        size=_number(record["size"]),
        text_checksum=_digest(text("text_checksum")),
        media_type=text("media_type"),
        title=text("title"),
        notes=tuple(str(note) for note in _list(record["notes"])),
        pages=_ascending(_number(page) for page in _list(record["pages"])),
        headings=tuple(
            Heading(_number(at), _number(level), str(title))
            for at, level, title in _list(record["headings"])
        ),
        embedder=text("embedder"),
        attributes=_attributes(record.get("attributes")),
    )


def _text_of(record: dict[str, Any]) -> Callable[[str], str]:
    def text(key: str) -> str:
        value = record[key]
        if not isinstance(value, str):
            raise TypeError(f"{key} is not text")
        value.encode()  # no half characters
        return value

    return text


def _attributes(value: object) -> dict[str, object] | None:
    try:
        return None if value is None else json_object(value, "attributes")
    except InvalidInputError as error:
        raise TypeError(str(error)) from None


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise TypeError(f"{value!r} is not a valid number")
    return value


def _one_of(value: object, choices: tuple[bool, ...]) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is none of {choices}")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    found = tuple(numbers)
    if found != tuple(sorted(found)):
        raise ValueError("pages are not in order")
    return found


def _digest(value: str) -> str:
    if not _DIGEST.fullmatch(value):
        raise ValueError(f"{value[:80]!r} is not a checksum")
    return value


def _plain(value: str) -> str:
    if any(category(character) == "Cc" for character in value):
        raise ValueError(f"the owner {value[:80]!r} holds control characters")
    return value


def _check(archive: zipfile.ZipFile, entry: Entry, source: Path, max_bytes: int) -> None:
    wanted = [("text", entry.text_checksum)]
    if entry.original:
        wanted.append(("original", entry.checksum))
    for part, checksum in wanted:
        name = f"{entry.at}/{part}"
        if archive.getinfo(name).file_size > max_bytes:
            raise IntegrityError(
                f"{source}: the {part} of {entry.name} has more than max_bytes ({max_bytes:,})"
            )
        if _checksum(archive, name) != checksum:
            raise IntegrityError(f"{source}: the {part} of {entry.name} is damaged")
    if entry.original and archive.getinfo(f"{entry.at}/original").file_size != entry.size:
        raise IntegrityError(f"{source}: the original of {entry.name} has another size: damaged")
    for part in ("vectors", "digests"):
        info = archive.NameToInfo.get(f"{entry.at}/{part}")
        if info is not None:
            if info.file_size > 4 * max_bytes:
                raise IntegrityError(f"{source}: the {part} of {entry.name} are too many")
            _checksum(archive, info.filename)
    archive.read(f"{entry.at}/text").decode()
    length = archive.getinfo(f"{entry.at}/text").file_size
    if any(at > length for at in (*entry.pages, *(one.at for one in entry.headings))):
        raise IntegrityError(f"{source}: {entry.name} has pages or headings beyond its end")


def _checksum(archive: zipfile.ZipFile, name: str) -> str:
    """Reads no more than the archive says, and checks what it reads."""
    seen = sha256()
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            seen.update(block)
    return seen.hexdigest()
