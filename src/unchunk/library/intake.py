"""Which files there are to add, and safe copies of them."""

import asyncio
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from unicodedata import category
from uuid import uuid4

from unchunk.domain import LONGEST_NAME
from unchunk.errors import ExtractionError, InvalidInputError, OutputError

_BLOCK = 1 << 20


class Source(NamedTuple):
    """A file to add, and what it is to be called. `problem` tells why it cannot be read.

    `attributes` are what is to be said of its document; None leaves what that says already.
    """

    path: Path
    name: str
    problem: str = ""
    attributes: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """A copy that nobody else changes."""

    path: Path
    checksum: str
    size: int


def sources(paths: Iterable[str | Path], own: Iterable[Path] = ()) -> list[Source]:
    """The files that paths, folders and patterns stand for, each once.

    Files of a folder are called by their path inside it. Hidden files and folders are left
    out, and so is what is the library's `own`; a link that leads out of the folder, and a
    folder that cannot be read, are problems to tell. Two files of one name are an error: one
    would take the other's place.
    """
    found: dict[str, Source] = {}
    seen: set[Path] = set()
    left_out = {_real(path) for path in own}
    for source in _all_sources(paths):
        real = _real(source.path)
        if real in seen or not left_out.isdisjoint((real, *real.parents)):
            continue
        if not source.problem:
            seen.add(real)
        other = found.setdefault(source.name, source)
        if other.problem and not source.problem:
            found[source.name] = source
        elif other is not source and not source.problem:
            raise InvalidInputError(
                f"{other.path} and {source.path} would both be called {source.name!r}:"
                " add them in two calls, with another --folder each"
            )
    return list(found.values())


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()  # a ring of links: it cannot be read, and will say so


def _all_sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    for given in paths:
        path = Path(given)
        try:
            if path.is_dir():
                yield from _folder(path, path)
            elif path.exists() or path.is_symlink():
                yield Source(path, path.name)
            elif has_magic(str(given)):
                yield from _pattern(str(given))
            else:
                raise InvalidInputError(f"{given}: there is no such file or folder")
        except OSError as error:
            raise InvalidInputError(f"{str(given)[:200]}: {error.strerror or error}") from None


def _pattern(pattern: str) -> Iterator[Source]:
    # A pattern may be absolute, which Path.glob does not take.
    found = sorted(Path(name) for name in glob(pattern, recursive=True))  # noqa: PTH207
    if not found:
        raise InvalidInputError(f"{pattern}: no file has such a name")
    # Names do not depend on what else matches: they begin where the pattern does.
    base = Path(pattern)
    while has_magic(str(base)):
        base = base.parent
    for path in found:
        if path.is_dir():
            yield from _folder(path, base)
        else:
            yield Source(path, path.relative_to(base).as_posix())


def _folder(folder: Path, base: Path) -> Iterator[Source]:
    root = folder.resolve()
    closed: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            path = Path(parent) / name
            problem = ""
            if path.is_symlink() and not _real(path).is_relative_to(root):
                problem = f"it is a link that leads out of {folder}"
            yield Source(path, path.relative_to(base).as_posix(), problem)
    for error in closed:
        path = Path(error.filename)
        problem = f"it is a folder that cannot be read: {error.strerror}"
        yield Source(path, path.relative_to(base).as_posix(), problem)


def check_name(name: str) -> str:
    """The name if a document can be called so; a name is a label, never a path to write to."""
    parts = name.replace("\\", "/").split("/")
    problem = (
        "is empty"
        if not name.strip()
        else f"is longer than {LONGEST_NAME} characters"
        if len(name) > LONGEST_NAME
        else "holds characters that no name has"
        if any(category(character) in ("Cc", "Cs") for character in name)
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
    target = incoming / uuid4().hex
    copying = asyncio.ensure_future(asyncio.to_thread(_stage, source, target, max_bytes))
    try:
        return await asyncio.shield(copying)
    except asyncio.CancelledError:
        # The thread goes on, and may not even have begun.
        target.unlink(missing_ok=True)
        copying.add_done_callback(lambda _: target.unlink(missing_ok=True))
        raise


def _stage(source: Source, target: Path, max_bytes: int) -> Staged:
    try:
        # Not blocking: a pipe without a writer would never open.
        opened = os.open(source.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ExtractionError("unreadable", "it is not a regular file")
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
