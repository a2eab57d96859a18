"""Which files there are to add, and safe copies of them."""

import asyncio
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from unchunk.errors import ExtractionError, InvalidInputError, OutputError

_LONGEST_NAME = 1000
_BLOCK = 1 << 20


class Source(NamedTuple):
    """A file to add, and what it is to be called. `problem` tells why it cannot be read."""

    path: Path
    name: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Staged:
    """A copy that nobody else changes."""

    path: Path
    checksum: str
    size: int


def sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    """The files that paths, folders and patterns stand for, each once.

    Files of a folder are called by their path inside it. Hidden files and folders are left
    out; a link that leads out of the folder is a problem, not a file.
    """
    seen: set[Path] = set()
    for source in _all_sources(paths):
        real = source.path.resolve()
        if real not in seen:
            seen.add(real)
            yield source


def _all_sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    for given in paths:
        path = Path(given)
        if path.is_dir():
            yield from _folder(path)
        elif path.exists() or path.is_symlink():
            yield Source(path, path.name)
        elif has_magic(str(given)):
            yield from _pattern(str(given))
        else:
            raise InvalidInputError(f"{given}: there is no such file or folder")


def _pattern(pattern: str) -> Iterator[Source]:
    # A pattern may be absolute, which Path.glob does not take.
    found = sorted(Path(name) for name in glob(pattern, recursive=True))  # noqa: PTH207
    if not found:
        raise InvalidInputError(f"{pattern}: no file has such a name")
    files = [path for path in found if not path.is_dir()]
    base = Path(os.path.commonpath([path.parent for path in files])) if files else Path()
    for path in files:
        yield Source(path, path.relative_to(base).as_posix())
    if not files:
        for folder in found:
            yield from _folder(folder)


def _folder(folder: Path) -> Iterator[Source]:
    root = folder.resolve()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            path = Path(parent) / name
            problem = ""
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                problem = f"it is a link that leads out of {folder}"
            yield Source(path, path.relative_to(folder).as_posix(), problem)


def check_name(name: str) -> str:
    """The name if a document can be called so; a name is a label, never a path to write to."""
    parts = name.replace("\\", "/").split("/")
    problem = (
        "is empty"
        if not name.strip()
        else f"is longer than {_LONGEST_NAME} characters"
        if len(name) > _LONGEST_NAME
        else "holds characters that no name has"
        if not name.isprintable()
        else "leads out of its folder"
        if name.startswith("/") or ".." in parts
        else ""
    )
    if problem:
        raise InvalidInputError(f"the name {name[:100]!r} {problem}: choose another")
    return name


async def stage(source: Source, incoming: Path, max_bytes: int) -> Staged:
    """Copy a file aside, with its checksum. Raises `ExtractionError` if it cannot be taken.

    Its message speaks of the file as "it": who asked knows the name.
    """
    if source.problem:
        raise ExtractionError("unreadable", source.problem)
    return await asyncio.to_thread(_stage, source, incoming, max_bytes)


def _stage(source: Source, incoming: Path, max_bytes: int) -> Staged:
    target = incoming / uuid4().hex
    try:
        # Not blocking: a pipe without a writer would never open.
        opened = os.open(source.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ExtractionError("unreadable", "it is no ordinary file")
            if status.st_size > max_bytes:
                raise ExtractionError(
                    "too-big",
                    f"it has {status.st_size:,} bytes, more than max_bytes"
                    f" ({max_bytes:,}): split it, or raise the setting",
                )
            return _copy(file.fileno(), target, max_bytes)
    except OSError as error:
        with suppress(OSError):
            target.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OutputError(f"no space left to take {source.name} in: free some") from None
        raise ExtractionError("unreadable", f"it cannot be read: {error.strerror}") from None


def _copy(source: int, target: Path, max_bytes: int) -> Staged:
    digest, size = sha256(), 0
    with target.open("wb") as file:
        while block := os.read(source, _BLOCK):
            size += len(block)
            if size > max_bytes:
                target.unlink()
                raise ExtractionError("too-big", "it grew beyond max_bytes while it was read")
            digest.update(block)
            file.write(block)
    return Staged(target, digest.hexdigest(), size)
