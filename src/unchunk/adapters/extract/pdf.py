"""PDF files: the text of each page as PDFium reads it, with the outline as headings.

Pages are joined by a blank line. What PDFium gives up on, a second parser tries.
"""

import re
from itertools import islice

from pypdfium2 import (  # type: ignore[import-untyped]  # it has no types of its own
    PdfDocument,
    PdfiumError,
    PdfPage,
)
from pypdfium2 import raw as pdfium

from unchunk.adapters.extract.composing import cleaned, tidy_title
from unchunk.adapters.extract.hyphens import MARK, rejoin
from unchunk.adapters.extract.pdf_again import read_again
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionError

_BETWEEN = "\n\n"
_MOST_HEADINGS = 20_000
_LONGEST_TITLE = 200
_NAMED = 20  # how many pages a note names one by one


def read(source: Source) -> Extracted:
    try:
        return _read(source)
    except ExtractionError as error:
        found = read_again(source) if error.code == "damaged" else None
        if found is None:
            raise
        return found


def _read(source: Source) -> Extracted:
    document = _open(source)
    try:
        source.limits.check_pages(len(document))
        texts, unreadable, drawn = _texts(document, source)
        if not any(texts):
            raise _no_text(len(texts), unreadable, drawn=bool(drawn))
        pages, end = [], 0
        for text in texts:
            pages.append(end)
            end += len(text) + len(_BETWEEN)
        notes = [*_cut_short(source)]
        if unreadable:
            notes.append(f"pages that cannot be read were left out: {_listed(unreadable)}")
        if drawn:
            notes.append(f"pages without text, perhaps scanned: {_listed(drawn)}")
        return Extracted(
            text=_BETWEEN.join(texts),
            media_type=source.media_type,
            pages=tuple(pages),
            headings=tuple(_headings(document, texts, pages)),
            title=_title(document),
            notes=tuple(notes),
        )
    finally:
        document.close()


def _open(source: Source) -> PdfDocument:
    try:
        return PdfDocument(source.path)
    except PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise ExtractionError("encrypted", "it is encrypted: remove its password") from error
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise ExtractionError("encrypted", "its kind of encryption is not known") from error
        raise ExtractionError(
            "damaged", "it is not a complete PDF: its pages cannot be found"
        ) from error


def _texts(document: PdfDocument, source: Source) -> tuple[list[str], list[int], list[int]]:
    """The text of each page; then the numbers of those that cannot be read, and of those that
    show something but say nothing.
    """
    texts: list[str] = []
    unreadable: list[int] = []
    drawn: list[int] = []
    length = 0
    for index in range(len(document)):
        text = ""
        try:
            page = document[index]
            text = _text(page)
            if not text and pdfium.FPDFPage_CountObjects(page) > 0:
                drawn.append(index + 1)
            page.close()
        except PdfiumError:
            unreadable.append(index + 1)
        texts.append(text)
        length += len(text)
        source.limits.check_text(length)
    return rejoin(texts), unreadable, drawn


def _text(page: PdfPage) -> str:
    content = page.get_textpage()
    try:
        text = content.get_text_range()
    except RecursionError:  # it steps over characters without text, one call deep for each
        text = content.get_text_bounded()
    content.close()
    if MARK in text:
        return MARK.join(map(cleaned, text.split(MARK))).strip()
    return cleaned(text).strip()


def _no_text(pages: int, unreadable: list[int], *, drawn: bool) -> ExtractionError:
    if drawn:
        return ExtractionError(
            "image-only",
            f"its pages ({pages}) show pictures and have no text: run it through a program that"
            " recognises text (OCR) first",
        )
    if unreadable:
        return ExtractionError("damaged", "none of its pages can be read")
    return ExtractionError("empty", "it has no text")


def _cut_short(source: Source) -> list[str]:
    with source.path.open("rb") as file:
        file.seek(max(0, source.path.stat().st_size - 2048))
        if b"%%EOF" in file.read():
            return []
    return ["its end is missing: it was read as far as it goes, and may lack text"]


def _headings(document: PdfDocument, texts: list[str], pages: list[int]) -> list[Heading]:
    """The entries of the outline whose words stand on the page that they lead to."""
    headings: list[Heading] = []
    behind = [0] * len(texts)  # on each page, the end of the last heading that was found
    try:
        for entry in islice(document.get_toc(max_depth=6), _MOST_HEADINGS):
            destination = entry.get_dest()
            index = destination.get_index() if destination else None
            title = " ".join(cleaned(entry.get_title()).split())[:_LONGEST_TITLE]
            if index is not None and 0 <= index < len(texts) and title:
                found = _line_of(title).search(texts[index], behind[index])
                if found:
                    behind[index] = found.end()
                    headings.append(Heading(pages[index] + found.start(), entry.level + 1, title))
    except (PdfiumError, UnicodeDecodeError):
        pass  # the text is whole without an outline
    return sorted(headings)


def _line_of(title: str) -> re.Pattern[str]:
    """A line that begins with this title, a number or two before it included."""
    words = r"\s+".join(map(re.escape, title.split()))
    return re.compile(rf"^(?:[\w.()§]{{1,12}}[ \t]+){{0,2}}?{words}", re.IGNORECASE | re.MULTILINE)


def _title(document: PdfDocument) -> str:
    try:
        return tidy_title(document.get_metadata_value("Title"))
    except UnicodeDecodeError:
        return ""


def _listed(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:_NAMED]))
    more = len(pages) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
