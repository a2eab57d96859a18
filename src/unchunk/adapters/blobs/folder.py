"""Originals as files in a folder, each under its key."""

import asyncio
import errno
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unchunk.adapters.blobs.keys import check_key
from unchunk.errors import InvalidInputError, NotFoundError, OutputError

# Half-written files lie here, on the same disk, where no key can reach.
_INCOMING = ".incoming"
_BUFFER = 2**20
# How often a folder is made again that another one's `delete` found empty and took away.
_TRIES = 50


class FolderBlobs:
    """Keeps everything in `home`/uploads, and neither sees nor touches what else is in `home`.

    Knows nothing of owners or documents. The folder is made when something is put in.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "uploads"

    async def put(self, key: str, source: Path) -> None:
        check_key(key)
        await asyncio.to_thread(self._put, key, source)

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        check_key(key)
        path = self._folder / key
        if not await asyncio.to_thread(path.is_file):
            # Told to owners, too, who have no business with where it would be.
            raise NotFoundError(f"there is no blob {key!r}")
        yield path

    async def delete(self, key: str) -> None:
        """Take it out, with folders that become empty; nothing happens if it is not there."""
        check_key(key)
        await asyncio.to_thread(self._delete, key)

    async def keys(self) -> Mapping[str, int]:
        return await asyncio.to_thread(self._keys)

    async def sweep(self, older_than: float = 3600.0) -> int:
        """Remove what a crash left half-written, and tell how much that was.

        Younger files than `older_than` seconds may belong to a `put` that is under way.
        """
        return await asyncio.to_thread(self._sweep, older_than)

    def _put(self, key: str, source: Path) -> None:
        path = self._folder / key
        incoming = self._folder / _INCOMING
        with _read(source) as original, _in_our_words("write", path):
            incoming.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=incoming)
            try:
                with os.fdopen(handle, "wb") as copy:
                    shutil.copyfileobj(original, copy, _BUFFER)
                    copy.flush()
                    os.fsync(copy.fileno())
                self._move(Path(name), path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def _move(self, temporary: Path, path: Path) -> None:
        for tries in range(_TRIES):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(path)
                break
            except (FileNotFoundError, FileExistsError):
                if tries == _TRIES - 1 or not temporary.exists():
                    raise
        # Each folder on the way may be new, and a name is kept when its folder is.
        for folder in path.parents:
            _sync(folder)
            if folder == self._folder:
                break

    def _delete(self, key: str) -> None:
        path = self._folder / key
        with _in_our_words("delete", path):
            try:
                path.unlink()
            except (FileNotFoundError, NotADirectoryError):
                return
            for folder in path.parents:
                if folder == self._folder:
                    break
                try:
                    folder.rmdir()
                except OSError:
                    break
            with suppress(FileNotFoundError):
                _sync(folder)

    def _keys(self) -> dict[str, int]:
        found = {}
        with _in_our_words("list", self._folder):
            for folder, folders, names in os.walk(self._folder, onerror=_complain):
                folders[:] = _visible(folders)
                for name in _visible(names):
                    path = Path(folder, name)
                    # It may go while we look.
                    with suppress(FileNotFoundError):
                        found[path.relative_to(self._folder).as_posix()] = path.stat().st_size
        return found

    def _sweep(self, older_than: float) -> int:
        swept = 0
        incoming = self._folder / _INCOMING
        with _in_our_words("sweep", incoming):
            for path in incoming.iterdir() if incoming.is_dir() else ():
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime <= time.time() - older_than:
                        path.unlink()
                        swept += 1
        return swept


@contextmanager
def _read(source: Path) -> Iterator[BinaryIO]:
    try:
        opened = source.open("rb")
    except OSError as error:
        raise InvalidInputError(f"cannot read {source}: {error.strerror or error}") from error
    with opened:
        yield opened


@contextmanager
def _in_our_words(what: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"cannot {what} {path}: the disk is full; make room and try again"
            ) from error
        raise OutputError(f"cannot {what} {path}: {error.strerror or error}") from error


def _complain(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _visible(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(".")]


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
