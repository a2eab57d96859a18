"""What a file is. Its content decides; its name may only choose among kinds of text.

A name that claims something else is an error which names both: the file was mixed up, or is
made to be taken for another.
"""

import re
from pathlib import Path
from typing import IO

from unchunk.adapters.extract import formats
from unchunk.adapters.extract.archive import Archive, first_member, is_zip
from unchunk.adapters.extract.formats import Format
from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.package import parts_of_kind
from unchunk.errors import ExtractionError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_WITHIN = 1024  # readers of PDF look that far for its mark
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+html\b|<html[\s>]|<head[\s>]|<body[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(r"\s*<\?xml[\s?]")
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]tfn-])")
_NOTEBOOK = re.compile(r'"nbformat"\s*:\s*\d')
_MAIL = re.compile(
    rb"(?:(?:Return-Path|Received|Delivered-To|From|To|Cc|Subject|Date|MIME-Version|Message-ID"
    rb"|Content-[\w-]+|X-[\w-]+|DKIM-[\w-]+|Reply-To|Sender|ARC-[\w-]+)[ \t]*:[^\n]*\n"
    rb"(?:[ \t][^\n]*\n)*){3}",
    re.IGNORECASE,
)
_OPENDOCUMENT = {
    each.media_type: each for each in (formats.ODT, formats.ODS, formats.ODP, formats.EPUB)
}
_STREAMS = {
    "EncryptedPackage": formats.ENCRYPTED,
    "Workbook": formats.XLS,
    "Book": formats.XLS,
    "WordDocument": formats.DOC,
    "PowerPoint Document": formats.PPT,
    "__properties_version1.0": formats.MSG,
}
_MAIN_FOLDERS = {"word": formats.DOCX, "ppt": formats.PPTX, "xl": formats.XLSX}


def extension(name: str) -> str:
    """The ending of a name, in small letters; empty if it has none."""
    last = re.split(r"[/\\]", name)[-1].lstrip(".")
    return last.rpartition(".")[2].lower() if "." in last else ""


def sniff_binary(path: Path, limits: Limits) -> Format | None:
    """What the bytes say by their marks; `None` if it may be text."""
    with path.open("rb") as file:
        head = file.read(4096)
        if b"%PDF-" in head[:_PDF_WITHIN]:
            return formats.PDF
        if is_zip(head):
            file.seek(0)
            return _sniff_zip(path, file, limits)
        if head.startswith(_OLE):
            return _sniff_ole(file)
    for mark, found in formats.MAGIC:
        if head.startswith(mark) and not _is_ascii_text(head):
            return found
    for offset, mark, found in formats.MAGIC_INSIDE:
        if head[offset:].startswith(mark) and not _is_ascii_text(head):
            return found
    return formats.MAIL if _MAIL.match(head) else None


def _is_ascii_text(head: bytes) -> bool:
    """Marks such as `BZh` and `MZ` begin words too."""
    return head.isascii() and b"\0" not in head


def _sniff_zip(path: Path, file: IO[bytes], limits: Limits) -> Format:
    name, content = first_member(file, 100)
    if name == "mimetype":
        for media_type, found in _OPENDOCUMENT.items():
            if content.startswith((media_type.encode(), f"{media_type}-template".encode())):
                return found
    with Archive(path, limits) as archive:
        if "mimetype" in archive:
            media_type = archive.read("mimetype").decode("ascii", "replace").strip()
            return _OPENDOCUMENT.get(media_type.removesuffix("-template"), formats.ZIP)
        if "[Content_Types].xml" in archive:
            for main in parts_of_kind(archive, "", "officeDocument"):
                return _MAIN_FOLDERS.get(main.partition("/")[0], formats.ZIP)
            raise ExtractionError("damaged", "it is an office document without its main part")
    return formats.ZIP


def _sniff_ole(file: IO[bytes]) -> Format:
    """By the streams that the directory names; old office files are small file systems."""
    names = _ole_names(file)
    for stream, found in _STREAMS.items():
        if stream in names:
            return found
    return formats.BINARY


def _ole_names(file: IO[bytes]) -> set[str]:
    file.seek(0)
    header = file.read(512)
    sector = 1 << min(int.from_bytes(header[30:32], "little"), 12)

    def table_of(number: int) -> bytes:
        file.seek((number + 1) * sector)
        return file.read(sector)

    names: set[str] = set()
    at = int.from_bytes(header[48:52], "little")
    for _ in range(256):  # so many sectors of directory hold a thousand names and more
        entries = table_of(at)
        for start in range(0, len(entries) - 127, 128):
            length = min(int.from_bytes(entries[start + 64 : start + 66], "little"), 64)
            names.add(entries[start : start + max(length - 2, 0)].decode("utf-16-le", "replace"))
        block, place = divmod(at, sector // 4)
        if block >= 109:
            break
        table = int.from_bytes(header[76 + 4 * block : 80 + 4 * block], "little")
        at = int.from_bytes(table_of(table)[4 * place : 4 * place + 4], "little")
        if at >= 0xFFFFFFFA:
            break
    return names


def sniff_text(text: str, name: str) -> Format:
    """Which kind of text: as the name says where the content does not forbid it."""
    claimed = formats.KNOWN.get(extension(name))
    found = _by_content(text)
    if claimed is None:
        # An ending that claims nothing, such as .py, is the name of some plain text.
        return found if not extension(name) else formats.TEXT
    if claimed in (formats.TEXT, formats.MARKDOWN) or found is claimed:
        return claimed
    if claimed is formats.NOTEBOOK or claimed not in formats.TEXTUAL:
        return found
    if found is formats.TEXT or {claimed, found} == {formats.HTML, formats.XML}:
        return found if claimed in (formats.RTF, formats.MAIL) else claimed
    if claimed in (formats.CSV, formats.TSV) and found is formats.JSON:
        return claimed  # a row may begin with a bracket
    return found


def _by_content(text: str) -> Format:
    head = text[:4096]
    if head.lstrip().startswith("{\\rtf"):
        return formats.RTF
    if _HTML.match(head):
        return formats.HTML
    if _XML.match(head):
        return formats.XML
    if _JSON.match(head):
        return formats.NOTEBOOK if _NOTEBOOK.search(text) else formats.JSON
    return formats.TEXT


def check_name(found: Format, name: str) -> None:
    """Refuse a file whose name claims another format than it has."""
    ending = extension(name)
    claimed = formats.KNOWN.get(ending)
    if claimed is None or ending in found.extensions:
        return
    if found in formats.TEXTUAL and claimed in (formats.TEXT, formats.MARKDOWN):
        return
    raise ExtractionError(
        "mismatch",
        f"its name ends in .{ending}, as {claimed.label} does, but its content is {found.label}:"
        " give it the right name, or the right content",
    )
