"""What goes over the pipes between a worker and its owner.

A frame is two lengths, a header in JSON and a body of bytes. Nothing is unpickled: a worker may
have been taken over by the file it parsed, so its owner believes nothing that it says before
it has looked at each value.
"""

import json
import struct
from collections.abc import Callable
from typing import get_args

from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionCode, ExtractionError

_LENGTHS = struct.Struct(">IQ")
_LONGEST_HEADER = 64 * 1024 * 1024
_CODES = frozenset(get_args(ExtractionCode))

Header = dict[str, object]
Read = Callable[[int], bytes]


class BrokenFrameError(ValueError):
    """Not what a sound worker sends."""


def packed(header: Header, body: bytes = b"") -> bytes:
    """One frame. Surrogates in the header, which JSON would let pass, become question marks."""
    head = json.dumps(header, ensure_ascii=False).encode("utf-8", "replace")
    return b"".join((_LENGTHS.pack(len(head), len(body)), head, body))


def read_frame(read: Read, longest_body: int) -> tuple[Header, bytes]:
    """The next frame; `read(n)` gives exactly n bytes, or raises `EOFError`."""
    head, body = _LENGTHS.unpack(read(_LENGTHS.size))
    if head > _LONGEST_HEADER or body > longest_body:
        raise BrokenFrameError("a frame is too long")
    try:
        header = json.loads(read(head))
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError("a header is not JSON") from error
    if not isinstance(header, dict):
        raise BrokenFrameError("a header is not an object")
    return header, read(body)


def request(path: str, name: str) -> bytes:
    """Paths and names may hold any bytes, so they travel escaped."""
    body = json.dumps([path, name]).encode("ascii")
    return packed({}, body)


def requested(body: bytes) -> tuple[str, str]:
    path, name = json.loads(body)
    return path, name


def reply(extracted: Extracted, *, last: bool) -> bytes:
    header: Header = {
        "last": last,
        "media_type": extracted.media_type,
        "title": extracted.title,
        "notes": extracted.notes,
        "pages": extracted.pages,
        "headings": extracted.headings,
    }
    return packed(header, extracted.text.encode("utf-8"))


def refusal(error: ExtractionError, *, last: bool) -> bytes:
    return packed({"last": last, "code": error.code, "message": str(error)})


def refused(header: Header) -> None:
    """Raise the `ExtractionError` of a worker that found nothing, or `BrokenFrameError`."""
    if "code" in header:
        code = header["code"]
        if not isinstance(code, str) or code not in _CODES:
            raise BrokenFrameError("a code is not known")
        raise ExtractionError(code, _text(header.get("message")))  # type: ignore[arg-type]  # looked at


def answer(header: Header, body: bytes) -> Extracted:
    """What a worker found. Raises its `ExtractionError`, or `BrokenFrameError`."""
    refused(header)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenFrameError("a text is not UTF-8") from error
    return Extracted(
        text=text,
        media_type=_text(header.get("media_type")),
        pages=_offsets(_list(header.get("pages")), len(text)),
        headings=_headings(_list(header.get("headings")), len(text)),
        title=_text(header.get("title")),
        notes=tuple(map(_text, _list(header.get("notes")))),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BrokenFrameError("a text is missing")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BrokenFrameError("a text cannot be encoded") from error
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise BrokenFrameError("a list is missing")
    return value


def _offsets(values: list[object], end: int) -> tuple[int, ...]:
    last, found = 0, []
    for value in values:
        if type(value) is not int or not last <= value <= end:
            raise BrokenFrameError("an offset is out of order")
        found.append(value)
        last = value
    return tuple(found)


def _headings(values: list[object], end: int) -> tuple[Heading, ...]:
    found = []
    for value in values:
        match value:
            case [int(at), int(level), str(title)] if level > 0:
                found.append(Heading(at, level, _text(title)))
            case _:
                raise BrokenFrameError("a heading is broken")
    _offsets([heading.at for heading in found], end)
    return tuple(found)
