"""Pictures that any program can open."""

import struct
import zlib

from unchunk.adapters.extract.png import png


def opened(data: bytes) -> tuple[int, int, int, list[bytes]]:
    """Width, height, kind and rows of a picture; every checksum is right."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        assert checksum == zlib.crc32(name + body)
        parts[name], at = body, at + 12 + length
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    rows = zlib.decompress(parts[b"IDAT"])
    size = len(rows) // height
    return width, height, kind, [rows[at : at + size] for at in range(0, len(rows), size)]


def test_colours_come_as_they_are_without_what_fills_the_rows() -> None:
    rows = [b"\xff\0\0\0\xff\0", b"\0\0\xff\x01\x02\x03"]
    assert opened(png(b"..".join(rows) + b"..", 2, 2, 8)) == (2, 2, 2, [b"\0" + it for it in rows])


def test_a_grey_picture_takes_one_byte_for_a_pixel() -> None:
    data = b"\x10\x10\x10\xff\xff\xff\0\0\0"
    assert opened(png(data * 2, 3, 2, 9)) == (3, 2, 0, [b"\0\x10\xff\0"] * 2)
