"""Pixels as a PNG, with nothing but the standard library. Grey pictures are kept as such."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _COLOURS = 0, 2
# Pages are flat: more effort takes twice as long and saves little.
_EFFORT = 4


def png(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """`pixels` are red, green and blue, a byte each; a row takes `stride` bytes, some unused."""
    rows = [pixels[at : at + 3 * width] for at in range(0, height * stride, stride)]
    kind = _COLOURS
    if all(row[::3] == row[1::3] == row[2::3] for row in rows):
        kind, rows = _GREY, [row[::3] for row in rows]
    # Before each row stands how it was filtered: not at all.
    packed = zlib.compress(b"\0" + b"\0".join(rows), _EFFORT)
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return SIGNATURE + _part(b"IHDR", head) + _part(b"IDAT", packed) + _part(b"IEND", b"")


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
