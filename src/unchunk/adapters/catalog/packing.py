"""How a document is cut and laid out, as bytes: one row for a document, not one for a chunk.

A line of JSON holds what is text, the rest are whole numbers of 4 or 8 bytes. A document of 75
chunks is packed in a twentieth of the time that 75 rows take.
"""

import json
from collections.abc import Sequence
from struct import Struct

import numpy as np
import numpy.typing as npt

from unchunk.domain import Chunk, Heading

_NONE = -1
# The numbers of a chunk, by their width: for a few of them numpy takes longer.
_ROWS = {4: Struct("<6i"), 8: Struct("<6q")}
_Numbers = npt.NDArray[np.int64]


def pack_chunks(chunks: Sequence[Chunk]) -> bytes:
    paths: dict[tuple[str, ...], int] = {}
    rows = [
        (
            index,
            start,
            end,
            _NONE if first is None else first,
            _NONE if last is None else last,
            paths.setdefault(path, len(paths)),
        )
        for index, start, end, first, last, path in chunks
    ]
    return _packed({"paths": list(paths)}, np.array(rows, np.int64).ravel())


def unpack_chunks(data: bytes) -> list[Chunk]:
    header, numbers = _unpacked(data)
    paths = [tuple(path) for path in header["paths"]]
    return [_chunk(row, paths) for row in numbers.reshape(-1, 6).tolist()]


def unpack_some(data: bytes, wanted: Sequence[int]) -> list[Chunk]:
    """Only those of these indices that are there: a long document costs little more than a short."""
    line, _, numbers = data.partition(b"\n")
    header = json.loads(line)
    row = _ROWS[header["width"]]
    count, odd = divmod(len(numbers), row.size)
    if odd:
        raise ValueError
    return [
        _chunk(row.unpack_from(numbers, at * row.size), header["paths"])
        for at in sorted(set(wanted))
        if 0 <= at < count
    ]


def pack_outline(pages: Sequence[int], headings: Sequence[Heading]) -> bytes:
    flat = [*pages, *(heading.at for heading in headings), *(item.level for item in headings)]
    titles = [heading.title for heading in headings]
    return _packed({"titles": titles}, np.array(flat, np.int64))


def unpack_outline(data: bytes) -> tuple[tuple[int, ...], tuple[Heading, ...]]:
    header, numbers = _unpacked(data)
    titles = header["titles"]
    flat = numbers.tolist()
    first = len(flat) - 2 * len(titles)
    places, levels = flat[first : first + len(titles)], flat[first + len(titles) :]
    return tuple(flat[:first]), tuple(map(Heading, places, levels, titles))


def _chunk(row: Sequence[int], paths: Sequence[Sequence[str]]) -> Chunk:
    index, start, end, first, last, path = row
    return Chunk(
        index,
        start,
        end,
        None if first == _NONE else first,
        None if last == _NONE else last,
        tuple(paths[path]),
    )


def _packed(header: dict[str, object], numbers: _Numbers) -> bytes:
    narrow = numbers.size == 0 or int(numbers.max()) < 2**31
    # Unescaped: of two escapes for halves of a character, reading would make a whole one.
    line = json.dumps(
        {"width": 4 if narrow else 8, **header}, separators=(",", ":"), ensure_ascii=False
    )
    return (
        line.encode("utf-8", "surrogatepass")
        + b"\n"
        + numbers.astype("<i4" if narrow else "<i8").tobytes()
    )


def _unpacked(data: bytes) -> tuple[dict[str, list[str]], _Numbers]:
    line, _, numbers = data.partition(b"\n")
    header = json.loads(line)
    return header, np.frombuffer(numbers, f"<i{header.pop('width')}").astype(np.int64)
