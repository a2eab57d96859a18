"""A page of a PDF as a picture, and where on it the characters of its text stand.

Knows nothing of isolation. A hostile file may take the process down: see `pages`.
"""

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pypdfium2 import (  # type: ignore[import-untyped]  # it has no types of its own
    PdfDocument,
    PdfiumError,
    PdfPage,
    PdfTextPage,
)
from pypdfium2 import raw as pdfium

from unchunk.adapters.extract.matching import matched
from unchunk.adapters.extract.png import png
from unchunk.domain import Mark
from unchunk.errors import ExtractionError

# A page may be as tall as it likes; a picture of it may not.
_TALLEST = 3
_MOST_MARKS = 2_000
# Places are told in whole numbers: of thousandths of the page's own unit.
_FINE = 1_000
# How far apart, in heights of a line, two words of it may stand.
_GAP = 2.0


class _Box(NamedTuple):
    """As the page has it: upwards, whichever way it is turned."""

    left: float
    bottom: float
    right: float
    top: float

    def joins(self, other: "_Box") -> bool:
        """Whether another follows on the same line."""
        height = min(self.top - self.bottom, other.top - other.bottom)
        shared = min(self.top, other.top) - max(self.bottom, other.bottom)
        gap = max(self.left, other.left) - min(self.right, other.right)
        return shared * 2 >= height and gap <= _GAP * height

    def with_(self, other: "_Box") -> "_Box":
        return _Box(
            min(self.left, other.left),
            min(self.bottom, other.bottom),
            max(self.right, other.right),
            max(self.top, other.top),
        )


def draw(path: Path, page: int, width: int) -> bytes:
    """A PNG of page `page`, counted from 1, so many pixels wide unless it is very tall."""
    with _opened(path, page) as opened:
        across, down = opened.get_size()
        scale = min(width / across, _TALLEST * width / down)
        try:
            bitmap = opened.render(scale=scale, rev_byteorder=True, limit_image_cache=True)
        except PdfiumError as error:
            raise ExtractionError("damaged", f"page {page} cannot be drawn") from error
        pixels = bytes(bitmap.buffer)
        return png(pixels, bitmap.width, bitmap.height, bitmap.stride)


def locate(path: Path, page: int, text: str, start: int, end: int) -> list[Mark]:
    """Where `text[start:end]` stands on a page whose whole text is `text`, line by line."""
    with _opened(path, page) as opened:
        content = opened.get_textpage()
        try:
            drawn = "".join(
                chr(pdfium.FPDFText_GetUnicode(content, at)) for at in range(content.count_chars())
            )
            where = matched(drawn, text)
            wanted = [where[at] for at in range(start, end) if at in where]
            marks = (_mark(opened, box) for box in _lines(_boxes(content, wanted)))
            return [mark for mark in marks if mark.width and mark.height][:_MOST_MARKS]
        finally:
            content.close()


@contextmanager
def _opened(path: Path, page: int) -> Iterator[PdfPage]:
    try:
        document = PdfDocument(path)
    except PdfiumError as error:
        raise ExtractionError("damaged", "its pages cannot be found") from error
    try:
        # What was filled into a form; without that, the rest of the page is drawn all the same.
        with suppress(PdfiumError):
            document.init_forms()
        if not 0 < page <= len(document):
            raise ExtractionError("damaged", f"it has no page {page}")
        try:
            opened = document[page - 1]
        except PdfiumError as error:
            raise ExtractionError("damaged", f"page {page} cannot be read") from error
        if min(opened.get_size()) <= 0:
            raise ExtractionError("damaged", f"page {page} has no size")
        yield opened
        opened.close()
    finally:
        document.close()


def _boxes(content: PdfTextPage, wanted: Iterable[int]) -> Iterator[_Box]:
    found = pdfium.FS_RECTF()
    for at in wanted:
        if pdfium.FPDFText_GetLooseCharBox(content, at, found):
            box = _Box(found.left, found.bottom, found.right, found.top)
            if box.left < box.right and box.bottom < box.top:
                yield box


def _lines(boxes: Iterable[_Box]) -> Iterator[_Box]:
    line: _Box | None = None
    for box in boxes:
        if line is not None and line.joins(box):
            line = line.with_(box)
        else:
            if line is not None:
                yield line
            line = box
    if line is not None:
        yield line


def _mark(page: PdfPage, box: _Box) -> Mark:
    """As the page is drawn: turned, cut, and from above."""
    across, down = (max(1, round(size * _FINE)) for size in page.get_size())
    x, y = ctypes.c_int(), ctypes.c_int()
    corners = []
    for corner in ((box.left, box.bottom), (box.right, box.top)):
        pdfium.FPDF_PageToDevice(page, 0, 0, across, down, 0, *corner, x, y)
        corners.append((min(max(x.value, 0), across), min(max(y.value, 0), down)))
    (left, right), (top, bottom) = (sorted(pair) for pair in zip(*corners, strict=True))
    return Mark(left / across, top / down, (right - left) / across, (bottom - top) / down)
