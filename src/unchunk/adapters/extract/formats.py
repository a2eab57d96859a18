"""The formats that are known: how each is called, which names it goes by, who reads it."""

from typing import NamedTuple


class Format(NamedTuple):
    """`reader` is the module that reads it, empty where none does; `advice` then says what to do.

    `extensions` are the endings of names that claim to be it.
    """

    label: str
    media_type: str
    extensions: frozenset[str]
    reader: str = ""
    advice: str = ""


def _format(
    label: str, media_type: str, extensions: str, reader: str = "", advice: str = ""
) -> Format:
    return Format(label, media_type, frozenset(extensions.split()), reader, advice)


_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."

PDF = _format("a PDF", "application/pdf", "pdf", "pdf")
# What is noted of a PDF that only the second parser could read.
READ_AGAIN = "it is damaged: a second parser read what it could, and text may be missing"
DOCX = _format(
    "a Word document (docx)",
    f"{_OOXML}wordprocessingml.document",
    "docx docm dotx dotm",
    "docx",
)
PPTX = _format(
    "a PowerPoint presentation (pptx)",
    f"{_OOXML}presentationml.presentation",
    "pptx pptm potx potm ppsx ppsm",
    "pptx",
)
XLSX = _format(
    "an Excel workbook (xlsx)",
    f"{_OOXML}spreadsheetml.sheet",
    "xlsx xlsm xltx xltm xlsb",
    "sheets",
)
XLS = _format("an old Excel workbook (xls)", "application/vnd.ms-excel", "xls xlt", "sheets")
ODT = _format("an OpenDocument text (odt)", f"{_ODF}text", "odt ott", "opendocument")
ODS = _format("an OpenDocument spreadsheet (ods)", f"{_ODF}spreadsheet", "ods ots", "opendocument")
ODP = _format(
    "an OpenDocument presentation (odp)", f"{_ODF}presentation", "odp otp", "opendocument"
)
EPUB = _format("an electronic book (epub)", "application/epub+zip", "epub", "epub")
HTML = _format("an HTML page", "text/html", "html htm xhtml xht", "html")
RTF = _format("a rich text (rtf)", "application/rtf", "rtf", "rtf")
MAIL = _format("an e-mail message", "message/rfc822", "eml", "mail")
NOTEBOOK = _format("a Jupyter notebook", "application/x-ipynb+json", "ipynb", "notebook")
XML = _format("XML", "application/xml", "xml rss atom xsd xsl xslt svg opml", "plain")
JSON = _format("JSON", "application/json", "json geojson", "plain")
CSV = _format("comma-separated values", "text/csv", "csv", "plain")
TSV = _format("tab-separated values", "text/tab-separated-values", "tsv", "plain")
MARKDOWN = _format("Markdown", "text/markdown", "md markdown mdown mkd", "plain")
TEXT = _format("plain text", "text/plain", "txt text log", "plain")

ENCRYPTED = _format(
    "an encrypted office document",
    "application/x-ole-storage",
    "docx docm dotx dotm xlsx xlsm xltx xltm xlsb pptx pptm potx potm ppsx ppsm",
)
DOC = _format(
    "an old Word document (doc)", "application/msword", "doc", advice="save it as docx or PDF"
)
PPT = _format(
    "an old PowerPoint presentation (ppt)",
    "application/vnd.ms-powerpoint",
    "ppt pps",
    advice="save it as pptx or PDF",
)
MSG = _format(
    "an Outlook message (msg)", "application/vnd.ms-outlook", "msg", advice="save it as eml or PDF"
)
ZIP = _format("a zip archive", "application/zip", "zip jar", advice="unpack it first")
BINARY = _format("binary data of a kind that is not known", "application/octet-stream", "")

_IMAGE = "turn it into a PDF with recognised text (OCR) first"
_UNPACK = "unpack it first"
_SOUND = "transcribe it first"

# What is known by its first bytes and not read.
MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"\x89PNG\r\n\x1a\n", _format("a PNG image", "image/png", "png", advice=_IMAGE)),
    (b"\xff\xd8\xff", _format("a JPEG image", "image/jpeg", "jpg jpeg", advice=_IMAGE)),
    (b"GIF8", _format("a GIF image", "image/gif", "gif", advice=_IMAGE)),
    (b"II*\0", _format("a TIFF image", "image/tiff", "tif tiff", advice=_IMAGE)),
    (b"MM\0*", _format("a TIFF image", "image/tiff", "tif tiff", advice=_IMAGE)),
    (b"\x1f\x8b", _format("a gzip archive", "application/gzip", "gz tgz", advice=_UNPACK)),
    (b"BZh", _format("a bzip2 archive", "application/x-bzip2", "bz2", advice=_UNPACK)),
    (b"\xfd7zXZ\0", _format("an xz archive", "application/x-xz", "xz", advice=_UNPACK)),
    (b"\x28\xb5\x2f\xfd", _format("a zstd archive", "application/zstd", "zst", advice=_UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", _format("a 7z archive", "application/x-7z-compressed", "7z", advice=_UNPACK)),
    (b"Rar!\x1a\x07", _format("a rar archive", "application/vnd.rar", "rar", advice=_UNPACK)),
    (b"\x7fELF", _format("a program", "application/x-elf", "so")),
    (b"MZ", _format("a program", "application/x-msdownload", "exe dll")),
    (b"SQLite format 3\0", _format("an SQLite database", "application/vnd.sqlite3", "sqlite db")),
    (b"ID3", _format("a sound file", "audio/mpeg", "mp3", advice=_SOUND)),
    (b"OggS", _format("a sound file", "audio/ogg", "ogg oga opus", advice=_SOUND)),
    (b"fLaC", _format("a sound file", "audio/flac", "flac", advice=_SOUND)),
    (b"PAR1", _format("a Parquet table", "application/vnd.apache.parquet", "parquet", advice="export it as csv")),
)  # fmt: skip
# Those whose mark stands behind a length: (offset, mark, format).
MAGIC_INSIDE: tuple[tuple[int, bytes, Format], ...] = (
    (4, b"ftyp", _format("a film or sound file", "video/mp4", "mp4 m4a m4v mov", advice=_SOUND)),
    (8, b"WEBP", _format("a WebP image", "image/webp", "webp", advice=_IMAGE)),
    (8, b"WAVE", _format("a sound file", "audio/wav", "wav", advice=_SOUND)),
    (8, b"AVI ", _format("a film", "video/x-msvideo", "avi", advice=_SOUND)),
    (257, b"ustar", _format("a tar archive", "application/x-tar", "tar", advice=_UNPACK)),
)

TEXTUAL: tuple[Format, ...] = (HTML, RTF, MAIL, NOTEBOOK, XML, JSON, CSV, TSV, MARKDOWN, TEXT)
"""Formats that are text; the name may choose between some of them."""

KNOWN: dict[str, Format] = {
    extension: each
    for each in (
        *(found for *_, found in MAGIC),
        *(found for *_, found in MAGIC_INSIDE),
        *(ZIP, BINARY, MSG, PPT, DOC, *TEXTUAL),
        *(EPUB, ODP, ODS, ODT, XLS, XLSX, PPTX, DOCX, PDF),
    )
    for extension in each.extensions
}
"""What each ending of a name claims. Other endings claim nothing."""
