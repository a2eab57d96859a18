"""What was fetched, kept beside the files that are made of it until all of them are there.

Whoever is interrupted, in whatever way, finds it again and goes on.
"""

import fcntl
import json
import os
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from unchunk.errors import OutputError
from unchunk.ports import LostChunks, LostFile
from unchunk.recovery.output import FOLDER, write_whole

_SCHEMA = 2
_SUM = 32


class Spool:
    """One folder, for one process at a time. Another store, id or mark is another file's.

    What has no mark may have changed since: it counts only if it was put by this very one.
    """

    def __init__(self, output: Path) -> None:
        self.folder = output / FOLDER
        self._lock = -1
        self._put: set[str] = set()

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.folder.is_symlink():
                raise OutputError(f"{self.folder} is a link: remove it, it would lead elsewhere")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._lock = os.open(self.folder / "lock", flags, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._unlock()
            raise OutputError(
                f"another recovery writes to {self.folder.parent}: wait for it, or choose another"
                " folder"
            ) from None
        except OSError as error:
            self._unlock()
            reason = error.strerror or error
            raise OutputError(f"cannot write to {self.folder.parent}: {reason}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._unlock()

    def has(self, store: str, file: LostFile) -> bool:
        return self._read(store, file) is not None

    def get(self, store: str, file: LostFile) -> LostChunks | None:
        """The chunks as they were put; None if they were not, or are damaged."""
        body = self._read(store, file)
        if body is None:
            return None
        texts, from_start, notes, starts, complete = json.loads(body)
        placed = None if starts is None else tuple(starts)
        return LostChunks(tuple(texts), from_start, tuple(notes), placed, complete)

    def put(self, store: str, file: LostFile, chunks: LostChunks) -> None:
        body = json.dumps(chunks).encode()
        place = self._place(store, file)
        # What is not whole after a crash is fetched again, so nothing waits for the disk.
        write_whole(place, _sum(place, body) + body, aside=self.folder, sync=False)
        self._put.add(place.name)

    def remove(self) -> None:
        """All is done: nothing of it is needed any more."""
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def _read(self, store: str, file: LostFile) -> bytes | None:
        """What was put, without what tells whether it is that."""
        place = self._place(store, file)
        if not file.mark and place.name not in self._put:
            return None
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(place, flags), "rb") as kept:
                found, body = kept.read(_SUM), kept.read()
        except OSError:
            return None
        return body if found == _sum(place, body) else None

    def _place(self, store: str, file: LostFile) -> Path:
        key = json.dumps([_SCHEMA, store, file.id, file.mark]).encode()
        return self.folder / f"{sha256(key).hexdigest()[:40]}.chunks"

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sum(place: Path, body: bytes) -> bytes:
    """Of what is kept there; another file's is another."""
    return sha256(place.name.encode() + body).digest()
