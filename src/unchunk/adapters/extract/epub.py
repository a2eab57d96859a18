"""Electronic books: the pages of their spine, read as web pages."""

import posixpath
from urllib.parse import unquote

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.decoding import decode
from unchunk.adapters.extract.html import write_page
from unchunk.adapters.extract.source import Source
from unchunk.adapters.extract.xmlparts import attributes_of, first_text
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# Fonts may be garbled by these, and the text is still there for all to read.
_OF_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read(source: Source) -> Extracted:
    with Archive(source.path, source.limits) as archive:
        _refuse_locked(archive)
        roots = attributes_of(_CONTAINER, archive.pieces(_CONTAINER), "rootfile")
        root = next((record.get("full-path", "") for record in roots), "")
        out = Composition(source.limits)
        out.title = first_text(root, archive.pieces(root), "title")
        for part in _spine(archive, root):
            page = decode(archive.read(part), markup=True)
            if page is not None:
                write_page(page.text, out)
    return out.finish(source.media_type)


def _refuse_locked(archive: Archive) -> None:
    if _ENCRYPTION in archive:
        methods = attributes_of(_ENCRYPTION, archive.pieces(_ENCRYPTION), "EncryptionMethod")
        if any(record.get("Algorithm") not in _OF_FONTS for record in methods):
            raise ExtractionError("encrypted", "it is locked for one reader program")


def _spine(archive: Archive, root: str) -> list[str]:
    items = {
        record.get("id", ""): record.get("href", "")
        for record in attributes_of(root, archive.pieces(root), "item")
    }
    folder = posixpath.dirname(root)
    parts = [
        posixpath.normpath(posixpath.join(folder, unquote(items.get(record.get("idref", ""), ""))))
        for record in attributes_of(root, archive.pieces(root), "itemref")
    ]
    return [part for part in parts if part in archive]
