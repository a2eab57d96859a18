"""Zip archives, as office formats are, opened with care: nothing is unpacked to disk.

What the directory promises is summed up before anything is read, and what comes out is counted
while it is read, because the directory may lie.
"""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from unchunk.adapters.extract.limits import Limits
from unchunk.errors import ExtractionError

_MOST_MEMBERS = 100_000
_PIECE = 256 * 1024
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


class Archive:
    """The members of a zip file, each read at most as far as the limits allow."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._limits = limits
        self._size = path.stat().st_size
        self._read = 0
        self._member: IO[bytes] | None = None
        try:
            self._zip = zipfile.ZipFile(path)
        except (*_BROKEN, NotImplementedError) as error:
            raise ExtractionError("damaged", f"its archive cannot be opened: {error}") from error
        self._members = {member.filename: member for member in self._zip.infolist()}
        try:
            self._check_directory()
        except ExtractionError:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A reader that failed has left its member open, and with it the file.
        if self._member is not None:
            self._member.close()
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a member, in pieces of a size that does not matter."""
        try:
            member = self._members[name]
        except KeyError:
            raise ExtractionError("damaged", f"its part {name} is missing") from None
        if member.flag_bits & 1:
            raise ExtractionError("encrypted", "it is encrypted: remove its password")
        try:
            with self._zip.open(member) as file:
                self._member = file
                while piece := file.read(_PIECE):
                    self._read += len(piece)
                    self._limits.check_expansion(self._read, self._size)
                    yield piece
        except (*_BROKEN, NotImplementedError) as error:
            raise ExtractionError("damaged", f"its part {name} cannot be read: {error}") from error

    def read(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def test(self) -> None:
        """Read everything once, for a library that will not count while it reads."""
        for name in self._members:
            for _ in self.pieces(name):
                pass
        self._read = 0

    def _check_directory(self) -> None:
        if len(self._members) > _MOST_MEMBERS:
            raise ExtractionError("expands-too-far", f"it has {len(self._members):,} parts")
        for member in self._members.values():
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ExtractionError(
                    "damaged", "it is compressed in a way that no office program uses"
                )
        promised = sum(member.file_size for member in self._members.values())
        self._limits.check_expansion(promised, self._size)


def is_zip(head: bytes) -> bool:
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def first_member(stream: IO[bytes], size: int) -> tuple[str, bytes]:
    """The first member's name and the first bytes of its content, if it is not compressed.

    OpenDocument and EPUB files put their media type there.
    """
    head = stream.read(30)
    name_length = int.from_bytes(head[26:28], "little")
    name = stream.read(name_length).decode("utf-8", "replace")
    stream.seek(int.from_bytes(head[28:30], "little"), 1)
    stored = head[8:10] == b"\0\0"
    return name, stream.read(size) if stored else b""
