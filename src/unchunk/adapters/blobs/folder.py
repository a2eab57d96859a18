"""Originals as files in a folder, each under its key."""

import asyncio
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unchunk.adapters.blobs.claims import another_has
from unchunk.adapters.blobs.keys import check_key
from unchunk.errors import InvalidInputError, NotFoundError, OutputError, TransientError

_UPLOADS = "uploads"
# Half-written files lie here, on the same disk, where no key can reach.
_INCOMING = ".incoming"
# Whose folder it is.
_MARKER = ".library"
_BUFFER = 2**20
# How often a folder is made again that another one's `delete` found empty and took away.
_TRIES = 50
_PAUSE = 0.02
# What is said then: the last one, of a folder that another machine took away.
_TAKEN_AWAY = errno.ENOENT, errno.EEXIST, errno.ESTALE
# What a file server says that is away, and may come back.
_AWAY = (
    *(errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH),
    *(errno.ECONNREFUSED, errno.ECONNRESET),
)


class FolderBlobs:
    """Keeps everything in `home`/uploads, and neither sees nor touches what else is in `home`.

    Knows nothing of owners or documents. The folder is made when something is put in; where
    machines share it, `home` must be there: what is not mounted is away, and not empty.
    """

    def __init__(self, home: Path, *, is_shared: bool = False) -> None:
        self._home = home
        self._folder = home / _UPLOADS
        self._is_shared = is_shared

    async def claim(self, library: str) -> None:
        await asyncio.to_thread(self._claim, library)

    async def put(self, key: str, source: Path) -> None:
        check_key(key)
        await asyncio.to_thread(self._put, key, source)

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        check_key(key)
        yield await asyncio.to_thread(self._local, key)

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

    async def close(self) -> None:
        """Nothing is held."""

    def _claim(self, library: str) -> None:
        self._check_there()
        marker = self._folder / _MARKER
        with _in_our_words("claim", self._folder):
            if marker.exists():
                self._check_ours(library, marker)
                return
            around = [it / _MARKER for it in self._folder.parents if it.name == _UPLOADS]
            # What is below would look like ours.
            self._check_ours(library, *around, *self._folder.glob(f"*/**/{_MARKER}"))
            self._folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError), marker.open("x") as file:
                file.write(library)
                file.flush()
                os.fsync(file.fileno())
            _sync(self._folder)
            self._check_ours(library, marker)

    def _check_ours(self, library: str, *markers: Path) -> None:
        for one in markers:
            if (found := _said_in(one)) not in ("", library):
                raise another_has(str(self._home), found, f"the file {one}")

    def _local(self, key: str) -> Path:
        path = self._folder / key
        with _in_our_words("read", path):
            if not _is_file(path):
                self._check_there()
                # Told to owners, too, who have no business with where it would be.
                raise NotFoundError(f"there is no blob {key!r}")
        return path

    def _check_there(self) -> None:
        if self._is_shared and not self._home.is_dir():
            raise TransientError(f"the folder {self._home} is not there: is it mounted?")

    def _put(self, key: str, source: Path) -> None:
        path = self._folder / key
        self._check_there()
        incoming = self._folder / _INCOMING
        with _read(source) as original, _in_our_words("write", path):
            incoming.mkdir(parents=True, exist_ok=True)
            # A name that no other process has, on whatever machine: it is made, or refused.
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
            except OSError as error:
                if error.errno not in _TAKEN_AWAY or tries == _TRIES - 1 or not temporary.exists():
                    raise
        # Each folder on the way may be new, and a name is kept when its folder is.
        for folder in path.parents:
            _sync(folder)
            if folder == self._folder:
                break

    def _delete(self, key: str) -> None:
        path = self._folder / key
        self._check_there()
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
        self._check_there()
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
            left = list(incoming.iterdir()) if incoming.is_dir() else []
            latest = _now_in(incoming) - older_than if left else 0.0
            for path in left:
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime <= latest:
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
        if error.errno in _AWAY:
            raise TransientError(f"cannot {what} {path}: {error.strerror}; try again") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"cannot {what} {path}: the disk is full; make room and try again"
            ) from error
        raise OutputError(f"cannot {what} {path}: {error.strerror or error}") from error


def _is_file(path: Path) -> bool:
    """Unlike `Path.is_file`: what cannot be told is not No."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _said_in(marker: Path) -> str:
    """The library that a marker names. Whoever makes one writes it in the next moment."""
    for _ in range(_TRIES):
        try:
            found = marker.read_text("utf-8").strip()
        except FileNotFoundError:
            return ""
        if found:
            return found
        time.sleep(_PAUSE)
    raise OutputError(f"the file {marker} is empty, and should name a library: remove it")


def _now_in(folder: Path) -> float:
    """What time it is by the clock that dates the files there: another machine's, it may be."""
    os.utime(folder)
    return folder.stat().st_mtime


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
