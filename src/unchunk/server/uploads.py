"""A file that is sent as multipart/form-data, written to disk as it comes.

What stands in memory at any time is a piece of it. Nothing is read before the route asks for it,
so whoever may not upload sends nothing.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from unchunk.errors import InvalidInputError, OutputError

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

# The library's own folder for what comes in is swept of what begins so.
_PREFIX = "unchunk-upload-"
_PIECE = 1 << 20
_MOST_FIELDS, _LONGEST_FIELD, _LONGEST_HEADER = 20, 500_000, 8_000


@dataclass(frozen=True, slots=True)
class Upload:
    """One file under the name that its sender gave it, and the fields beside it."""

    path: Path
    name: str
    fields: dict[str, str]


@asynccontextmanager
async def received(request: Request, folder: Path | None, most: int) -> AsyncIterator[Upload]:
    """The file of a request, there while the context lasts; more than `most` bytes are refused."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise HTTPException(415, "send the file as multipart/form-data, with its boundary")
    own = await asyncio.to_thread(_own_folder, folder)
    try:
        yield await _read(request, boundary, own / "file", most)
    finally:
        await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)


async def _read(request: Request, boundary: bytes, path: Path, most: int) -> Upload:
    parts = _Parts(most)
    try:
        parser = MultipartParser(boundary, parts.callbacks())
        with path.open("wb") as file:
            async for piece in request.stream():
                parser.write(piece)
                if parts.waiting >= _PIECE:
                    await asyncio.to_thread(parts.flush, file)
            parser.finalize()
            await asyncio.to_thread(parts.flush, file)
    except FormParserError as error:
        raise InvalidInputError(f"the form cannot be read: {error}") from error
    except ClientDisconnect as error:
        raise InvalidInputError("the upload was broken off") from error
    except OSError as error:
        raise OutputError(f"the upload cannot be kept: {error.strerror}") from error
    if not parts.is_whole:
        raise InvalidInputError("the form ends before its last boundary: nothing of it is kept")
    if parts.name is None:
        raise InvalidInputError("the form has no `file`")
    return Upload(path, parts.name, parts.fields)


@dataclass(slots=True)
class _Parts:
    """What a parser finds, part after part."""

    most: int
    name: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    size: int = 0
    waiting: int = 0
    is_whole: bool = False
    _pieces: list[bytes] = field(default_factory=list)
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _header: bytes = b""
    _value: bytes = b""
    _field: str = ""
    _text: bytearray = field(default_factory=bytearray)
    _in_file: bool = False

    def callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_end,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._whole,
        }

    def flush(self, file: BinaryIO) -> None:
        file.writelines(self._pieces)
        self._pieces.clear()
        self.waiting = 0

    def _begin(self) -> None:
        self._headers, self._in_file, self._text = {}, False, bytearray()

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]
        self._check_header()

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check_header()

    def _check_header(self) -> None:
        if len(self._header) + len(self._value) > _LONGEST_HEADER:
            raise InvalidInputError("the form has a header that is too long")

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._headers[b"content-disposition"] = self._value
        self._header = self._value = b""

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        self._field = _decoded(options.get(b"name", b""))
        if self._field == "file" and b"filename" in options:
            if self.name is not None:
                raise InvalidInputError("the form has several files: send one at a time")
            self._in_file, self.name = True, _decoded(options[b"filename"])
        elif b"filename" in options:
            raise InvalidInputError(f"the form has a file {self._field[:50]!r}: call it `file`")
        elif len(self.fields) >= _MOST_FIELDS:
            raise InvalidInputError(f"the form has more than {_MOST_FIELDS} fields")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if not self._in_file:
            self._text += data[start:end]
            if len(self._text) > _LONGEST_FIELD:
                raise InvalidInputError(f"{self._field[:50]!r} is longer than {_LONGEST_FIELD}")
            return
        self.size += end - start
        self.waiting += end - start
        if self.size > self.most:
            raise HTTPException(
                413, f"the file is larger than {self.most} bytes", {"Connection": "close"}
            )
        self._pieces.append(data[start:end])

    def _whole(self) -> None:
        self.is_whole = True

    def _end(self) -> None:
        if not self._in_file:
            self.fields[self._field] = _decoded(bytes(self._text))


def _own_folder(folder: Path | None) -> Path:
    try:
        return Path(mkdtemp(prefix=_PREFIX, dir=folder))
    except OSError as error:
        raise OutputError(f"the upload cannot be kept: {error.strerror}") from error


def _decoded(given: bytes) -> str:
    try:
        return given.decode()
    except UnicodeDecodeError:
        return given.decode("latin-1")
