"""Files made for the tests of extraction: small ones of each format, and hostile ones."""

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_CORE = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

Parts = Mapping[str, str | bytes]


def zipped(parts: Parts, *, stored: Iterable[str] = ()) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            method = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, method)
    return buffer.getvalue()


def relationships(*entries: tuple[str, str, str]) -> str:
    """A relationship part of (id, last word of the type, target)."""
    rows = "".join(
        f'<Relationship Id="{id_}" Target="{target}" Type="'
        f'{_CORE if kind == "core-properties" else f"{_RELATIONSHIPS}/{kind}"}"/>'
        for id_, kind, target in entries
    )
    return f'<Relationships xmlns="{_PACKAGE}">{rows}</Relationships>'


def docx(body: str, more: Parts | None = None, doctype: str = "", related: str = "") -> bytes:
    """A Word document with this body; `more` parts, each related by its name."""
    parts = dict(more or {})
    names = [name.removeprefix("word/") for name in parts if name.startswith("word/")]
    entries = [
        (f"r{n}", related or name.removesuffix(".xml"), name) for n, name in enumerate(names)
    ]
    main = (
        f'<?xml version="1.0" encoding="UTF-8"?>{doctype}<w:document xmlns:w="{_W}" '
        f'xmlns:r="{_RELATIONSHIPS}" xmlns:mc="http://schemas.openxmlformats.org/'
        f'markup-compatibility/2006"><w:body>{body}</w:body></w:document>'
    )
    package = [("r1", "officeDocument", "word/document.xml")]
    if "docProps/core.xml" in parts:
        package.append(("r2", "core-properties", "docProps/core.xml"))
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships(*package),
            "word/document.xml": main,
            "word/_rels/document.xml.rels": relationships(*entries),
            **parts,
        }
    )


def w(tag: str, content: str = "", **attributes: str) -> str:
    """An element of a Word document."""
    given = "".join(f' w:{name.rstrip("_")}="{value}"' for name, value in attributes.items())
    return f"<w:{tag}{given}>{content}</w:{tag}>"


def paragraph(text: str, properties: str = "") -> str:
    run = w("r", f'<w:t xml:space="preserve">{escape(text)}</w:t>') if text else ""
    return w("p", w("pPr", properties) + run)


def word_part(root: str, content: str) -> str:
    return f'<w:{root} xmlns:w="{_W}">{content}</w:{root}>'


def styles(*entries: tuple[str, str, str]) -> str:
    """The styles part: (id, name, what else it holds)."""
    rows = "".join(
        w("style", w("name", val=name) + rest, styleId=id_, type="paragraph")
        for id_, name, rest in entries
    )
    return word_part("styles", rows)


def pptx(
    slides: list[str], more: Parts | None = None, related: Mapping[int, str] | None = None
) -> bytes:
    """A presentation of these slides (their shapes); `related` gives slides relationship parts."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    main = (
        f'<p:presentation xmlns:p="{_P}" xmlns:r="{_RELATIONSHIPS}"><p:sldIdLst>{ids}'
        "</p:sldIdLst></p:presentation>"
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relationships(("r1", "officeDocument", "/ppt/presentation.xml")),
        "ppt/presentation.xml": main,
        # Listed backwards: the order of the slides is that of the presentation part.
        "ppt/_rels/presentation.xml.rels": relationships(
            *((f"s{n}", "slide", f"slides/slide{n}.xml") for n in reversed(range(len(slides))))
        ),
        **(more or {}),
    }
    for number, slide in enumerate(slides):
        parts[f"ppt/slides/slide{number}.xml"] = pptx_part("sld", slide)
    for number, table in (related or {}).items():
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = table
    return zipped(parts)


def pptx_part(root: str, content: str) -> str:
    return (
        f'<p:{root} xmlns:p="{_P}" xmlns:a="{_A}" xmlns:mc="http://schemas.openxmlformats.org/'
        f'markup-compatibility/2006"><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:{root}>'
    )


def shape(*texts: str, placeholder: str | None = None, level: int = 0) -> str:
    kind = "" if placeholder is None else f'<p:ph type="{placeholder}"/>'
    body = "".join(
        f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{escape(text)}</a:t></a:r></a:p>' for text in texts
    )
    return f"<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"


def xlsx(sheets: Mapping[str, str]) -> bytes:
    """A workbook of these sheets (their rows)."""
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="s{n}"/>' for n, name in enumerate(sheets, 1)
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relationships(("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_X}" xmlns:r="{_RELATIONSHIPS}"><sheets>{names}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relationships(
            *(
                (f"s{n}", "worksheet", f"worksheets/sheet{n}.xml")
                for n in range(1, len(sheets) + 1)
            ),
            ("st", "styles", "styles.xml"),
        ),
        "xl/styles.xml": f'<styleSheet xmlns="{_X}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_X}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return zipped(parts)


def opendocument(kind: str, body: str, more: Parts | None = None) -> bytes:
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    names = ("office", "text", "table", "draw", "presentation", "svg")
    declared = " ".join(f'xmlns:{name}="{space}{name}:1.0"' for name in names)
    content = (
        f"<office:document-content {declared}><office:body>{body}</office:body>"
        "</office:document-content>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return zipped(
        {"mimetype": media_type, "content.xml": content, **(more or {})}, stored=["mimetype"]
    )


def epub(pages: Mapping[str, str], more: Parts | None = None) -> bytes:
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in pages)
    spine = "".join(f'<itemref idref="{name}"/>' for name in pages)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OEBPS/book.opf"/></container>',
            "OEBPS/book.opf": '<package xmlns:dc="dc"><dc:title>A Book</dc:title>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OEBPS/{name}.xhtml": page for name, page in pages.items()},
            **(more or {}),
        },
        stored=["mimetype"],
    )


def pdf(pages: Iterable[str | None], *, outline: str = "", info: str = "", cmap: str = "") -> bytes:
    """A PDF with one line of text for each page, in Helvetica; `None` draws a box instead."""
    out = bytearray(b"%PDF-1.4\n")
    offsets: list[int] = []

    def add(content: str) -> int:
        offsets.append(len(out))
        out.extend(f"{len(offsets)} 0 obj\n{content}\nendobj\n".encode("latin-1"))
        return len(offsets)

    def stream(content: str) -> str:
        return f"<</Length {len(content)}>>stream\n{content}\nendstream"

    add("<</Type/Catalog/Pages 2 0 R" + ("/Outlines 4 0 R>>" if outline else ">>"))
    add("")  # the page tree, written last
    add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica" + ("/ToUnicode 5 0 R>>" if cmap else ">>"))
    add(outline)
    add(stream(cmap))
    numbers = []
    for text in pages:
        if text is None:
            drawing = "10 10 100 100 re f"
        else:
            quoted = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            lines = "".join(f"({line}) Tj 0 -14 Td " for line in quoted.split("\n"))
            drawing = f"BT /F 12 Tf 20 700 Td {lines}ET" if text else ""
        content = add(stream(drawing))
        numbers.append(
            add(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>"
                f"/Contents {content} 0 R>>"
            )
        )
    last = add(info or "<<>>")
    offsets[1] = len(out)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    out.extend(f"2 0 obj\n<</Type/Pages/Count {len(numbers)}/Kids[{kids}]>>\nendobj\n".encode())
    table = len(out)
    out.extend(f"xref\n0 {len(offsets) + 1}\n0000000000 65535 f \n".encode())
    out.extend("".join(f"{offset:010d} 00000 n \n" for offset in offsets).encode())
    out.extend(
        f"trailer<</Size {len(offsets) + 1}/Root 1 0 R/Info {last} 0 R>>\n"
        f"startxref\n{table}\n%%EOF\n".encode()
    )
    return bytes(out)


def ole(*streams: str) -> bytes:
    """A compound file whose directory names these streams, and that holds nothing else."""
    sector = 512
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    per_sector = sector // 128
    sectors = -(-(len(streams) + 1) // per_sector)
    header = bytearray(sector)
    header[:8] = bytes.fromhex("d0cf11e0a1b11ae1")
    header[28:34] = struct.pack("<HHH", 0xFFFE, 9, 6)
    struct.pack_into("<II", header, 44, 1, 1)  # one sector of table; the directory begins at 1
    header[76:] = struct.pack("<I", 0) + struct.pack("<I", free) * 108
    table = [free] * 128
    table[0] = 0xFFFFFFFD
    for number in range(1, sectors + 1):
        table[number] = number + 1 if number < sectors else end
    directory = bytearray(sectors * sector)
    for number, name in enumerate(("Root Entry", *streams)):
        encoded = name.encode("utf-16-le")
        directory[number * 128 : number * 128 + len(encoded)] = encoded
        struct.pack_into("<H", directory, number * 128 + 64, len(encoded) + 2)
    return bytes(header) + struct.pack("<128I", *table) + bytes(directory)


def bomb(name: str, size: int) -> bytes:
    """A zip archive whose one member is `size` zeros."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        piece = bytes(1024 * 1024)
        for _ in range(size // len(piece)):
            member.write(piece)
    return buffer.getvalue()


def lying(archive: bytes, name: str, size: int) -> bytes:
    """The archive, with another size of that member in its directory and before its content."""
    data = bytearray(archive)
    encoded = name.encode()
    for mark, place, start in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        at = data.find(mark)
        while at >= 0:
            if data[at + start : at + start + len(encoded)] == encoded:
                struct.pack_into("<I", data, at + place, size)
            at = data.find(mark, at + 1)
    return bytes(data)
