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
from unchunk.recovery.output import write_whole

FOLDER = ".unchunk-recovery"
_SCHEMA = 1


class Spool:
    """One folder, for one process at a time. Another store, id or mark is another file's."""

    def __init__(self, output: Path) -> None:
        self.folder = output / FOLDER
        self._lock = -1

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
        return self.get(store, file) is not None

    def get(self, store: str, file: LostFile) -> LostChunks | None:
        """The chunks as they were put; None if they were not, or are damaged."""
        try:
            kept = json.loads(self._place(store, file).read_bytes())
            texts, starts = kept["texts"], kept["starts"]
            if kept["schema"] != _SCHEMA or kept["file"] != [store, file.id, file.mark]:
                return None
            if not all(isinstance(text, str) for text in texts):
                return None
            return LostChunks(
                tuple(texts),
                kept["from_start"],
                tuple(kept["notes"]),
                None if starts is None else tuple(starts),
                kept["complete"],
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, store: str, file: LostFile, chunks: LostChunks) -> None:
        kept = {"schema": _SCHEMA, "file": [store, file.id, file.mark], **chunks._asdict()}
        # What is not whole after a crash is fetched again, so nothing waits for the disk.
        write_whole(self._place(store, file), json.dumps(kept), aside=self.folder, sync=False)

    def remove(self) -> None:
        """All is done: nothing of it is needed any more."""
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def _place(self, store: str, file: LostFile) -> Path:
        key = json.dumps([store, file.id, file.mark]).encode()
        return self.folder / f"{sha256(key).hexdigest()[:40]}.json"

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
