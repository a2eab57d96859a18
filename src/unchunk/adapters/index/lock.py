"""One process to a folder: engines on disk break, or lie, when two open the same files."""

import fcntl
import os
import time
from pathlib import Path

from unchunk.errors import LibraryInUseError, OutputError


class FolderLock:
    """Held from when it is made until `release`, or until every process that has `fd` is gone.

    Whoever holds it and lives makes this fail at once. If that one was killed, what it had
    started may take a moment to let go: for that it waits, `patience` seconds at most.
    """

    def __init__(self, path: Path, patience: float = 10.0) -> None:
        self._path = path
        deadline = time.monotonic() + patience
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while (fd := _try(path, time.monotonic() > deadline)) is None:
                time.sleep(0.05)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise OutputError(f"cannot use {path.parent}: {error.strerror or error}") from error
        self.fd = fd

    def release(self, *, remove: bool = False) -> None:
        if self.fd < 0:
            return
        if remove:
            self._path.unlink(missing_ok=True)
        os.close(self.fd)
        self.fd = -1


def _try(path: Path, last: bool) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it before may have removed it: then this is no lock that others see.
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            held, fd = fd, -1
            return held
    except BlockingIOError as error:
        holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
        if last or _lives(holder):
            if holder == str(os.getpid()):
                told = "already open in this program: close it there first, or use the same library"
            else:
                who = f"process {holder}" if holder.isdecimal() else "another process"
                told = f"open in {who}: close that process first, or connect to its server"
            raise LibraryInUseError(f"{path.with_suffix('')} is {told}") from error
    finally:
        if fd >= 0:
            os.close(fd)
    return None


def _lives(pid: str) -> bool:
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
