"""The notice that a server leaves in the home of the library that it has open.

It says where the server is, and a secret by which it knows whoever can read the file: the user who
started it. The file is locked as long as that process lives, so one that was killed leaves nothing
that could be taken for a server.
"""

import fcntl
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from logging import WARNING
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from unchunk.domain import OwnerId
from unchunk.errors import LibraryInUseError
from unchunk.telemetry import log

FILE = "server.json"
PREFIX = "ur_"
_LONGEST = 10_000
# What listens everywhere is reached here.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - not to listen on


@dataclass(frozen=True, slots=True)
class Running:
    """A server that has a library open; requests with its `secret` work on `owner`'s documents.

    `source` is the collection that it searches instead of the library, if any.
    """

    url: str
    pid: int
    owner: OwnerId
    version: str
    secret: str = field(repr=False)
    source: str = field(default="", repr=False)

    def check(self, owner: OwnerId, version: str) -> None:
        """Raise if it works for others, or in another way, than whoever asks it."""
        where = f"the server at {self.url} (pid {self.pid})"
        if self.owner != owner:
            raise LibraryInUseError(
                f"{where} is using this library for the owner {self.owner!r}, not for {owner!r}:"
                " stop the server and try again"
            )
        if self.version != version:
            raise LibraryInUseError(
                f"{where} is of version {self.version}, and this is {version}: restart the server"
            )

    def check_source(self, source: str) -> None:
        """Raise if a collection is to be searched, and the server does not search that one."""
        if source and source != self.source:
            theirs = "another collection" if self.source else "the library"
            raise LibraryInUseError(
                f"the server at {self.url} (pid {self.pid}) is using this library, and it searches"
                f" {theirs}, not the collection that `chat_source` or CHUNKENIZER_API_URL names"
                " here. To search that collection, use `unchunk search --collection` or"
                " `unchunk.open_collection`, or restart the server with the same setting."
            )

    def in_the_way(self, what: str) -> LibraryInUseError:
        return LibraryInUseError(
            f"{what} needs exclusive access, but a server is using this library ({self.url},"
            f" pid {self.pid}). Stop the server and try again."
        )


class Notice:
    """What is told in the home, once the address is known."""

    def __init__(self, home: Path, owner: OwnerId, version: str, source: str = "") -> None:
        self.secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        self._path, self._owner, self._version = home / FILE, owner, version
        self._source = source
        self._fd = -1

    def tell(self, address: str) -> None:
        running = Running(
            _near(address), os.getpid(), self._owner, self._version, self.secret, self._source
        )
        beside = self._path.with_name(f".{FILE}.{uuid4().hex}")
        try:
            self._fd = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.write(self._fd, json.dumps(asdict(running)).encode())
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whole and locked from when others see it.
            beside.replace(self._path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            log("commands will not find this server: %s: %s", self._path, error, level=WARNING)

    def take_back(self) -> None:
        """Another server may have put its own in the place of this one: that stays."""
        if self._fd < 0:
            return
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._fd), self._path.stat()):
                self._path.unlink()
        os.close(self._fd)
        self._fd = -1


def find(home: Path) -> Running | None:
    """The server that has the library of this home; None if none does that this user may know."""
    try:
        fd = os.open(home / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not _is_locked(fd):
            return None
        found = json.loads(os.read(fd, _LONGEST))
        return Running(**found)
    except (OSError, ValueError, TypeError):
        return None
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _near(address: str) -> str:
    """The address as seen from this machine."""
    parts = urlsplit(address)
    host = _EVERYWHERE.get(parts.hostname or "")
    return address if host is None else f"{parts.scheme}://{host}:{parts.port}"
