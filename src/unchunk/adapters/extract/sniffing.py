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
# Readers of PDF look 1024 bytes far for its mark; mail puts more than that before it.
_PDF_WITHIN = 4096
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+html\b|<html[\s>]|<head[\s>]|<body[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(r"\s*<\?xml[\s?]")
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]tfn-])")
_NOTEBOOK = re.compile(r'"nbformat"\s*:\s*\d')
_MAIL = re.compile(
    r"(?:(?:Return-Path|Received|Delivered-To|From|To|Cc|Subject|Date|MIME-Version|Message-ID"
    r"|Content-[\w-]+|X-[\w-]+|DKIM-[\w-]+|Reply-To|Sender|ARC-[\w-]+)[ \t]*:[^\n]*\n"
    r"(?:[ \t][^\n]*\n)*){3}",
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
# Kinds of text that may begin like any other.
_LOOSE = (formats.HTML, formats.XML, formats.JSON, formats.CSV, formats.TSV)
# What the content looks like, and what it may be called nevertheless.
_ALSO = (
    (formats.XML, formats.HTML),
    (formats.HTML, formats.XML),
    (formats.JSON, formats.CSV),
    (formats.JSON, formats.TSV),
    (formats.NOTEBOOK, formats.JSON),
)
_MAIN_FOLDERS = {"word": formats.DOCX, "ppt": formats.PPTX, "xl": formats.XLSX}


def extension(name: str) -> str:
    """The ending of a name, in small letters; empty if it has none."""
    last = re.split(r"[/\\]", name)[-1].lstrip(".")
    return last.rpartition(".")[2].lower() if "." in last else ""


def sniff_binary(path: Path, limits: Limits) -> Format | None:
    """What the bytes say by their marks; `None` if it may be text."""
    with path.open("rb") as file:
        head = file.read(4096)
        if head.startswith(b"%PDF-") or (b"%PDF-" in head[:_PDF_WITHIN] and not _is_text(head)):
            return formats.PDF
        if is_zip(head):
            file.seek(0)
            return _sniff_zip(path, file, limits)
        if head.startswith(_OLE):
            return _sniff_ole(file)
    for mark, found in formats.MAGIC:
        # Marks such as `MZ` begin words too.
        if head.startswith(mark) and not (mark.isalnum() and b"\0" not in head):
            return found
    for offset, mark, found in formats.MAGIC_INSIDE:
        if head[offset:].startswith(mark) and b"\0" in head:
            return found
    return None


def _is_text(head: bytes) -> bool:
    """Whether it is UTF-8 as far as it goes, such as an article on the format of PDF."""
    text = head.decode("utf-8", "ignore")
    return b"\0" not in head and len(head) - len(text.encode()) < 4


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
    if not any(names):
        raise ExtractionError("damaged", "it is an old office file without its directory")
    return formats.BINARY


def _ole_names(file: IO[bytes]) -> set[str]:
    file.seek(0)
    header = file.read(512)
    sector = 4096 if header[30:32] == b"\x0c\0" else 512

    def table_of(number: int) -> bytes:
        file.seek((number + 1) * sector)
        return file.read(sector)

    names: set[str] = set()
    at = int.from_bytes(header[48:52], "little")
    for _ in range(256):  # so many sectors of directory hold a thousand names and more
        entries = table_of(at)
        if not entries:
            break
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
    ending = extension(name)
    claimed = formats.KNOWN.get(ending)
    found = _by_content(text)
    if claimed is None:
        # An ending that claims nothing, such as .py, is the name of some plain text.
        return formats.TEXT if ending else found
    return claimed if _may_be(found, claimed) else found


def _may_be(found: Format, claimed: Format) -> bool:
    if claimed in (found, formats.TEXT, formats.MARKDOWN):
        return True
    return claimed in _LOOSE if found is formats.TEXT else (found, claimed) in _ALSO


def _by_content(text: str) -> Format:
    head = text[:4096]
    if head.lstrip().startswith("{\\rtf"):
        return formats.RTF
    if _MAIL.match(head):
        return formats.MAIL
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
    raise ExtractionError(
        "mismatch",
        f"its name ends in .{ending}, as {claimed.label} does, but its content is {found.label}:"
        " give it the right name, or the right content",
    )
