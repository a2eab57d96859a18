"""What a file is, by its content; and what becomes of names that claim something else."""

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from unchunk.adapters.extract.sniffing import extension
from unchunk.errors import ExtractionError

PAGE = "<!DOCTYPE html><html><body><p>Words</p></body></html>"
MADE = {
    "pdf": making.pdf(["Words"]),
    "docx": making.docx(making.paragraph("Words")),
    "pptx": making.pptx([making.shape("Words")]),
    "xlsx": making.xlsx({"S": '<row r="1"><c r="A1"><v>1</v></c></row>'}),
    "odt": making.opendocument("text", "<office:text><text:p>Words</text:p></office:text>"),
    "epub": making.epub({"one": "<p>Words</p>"}),
    "html": PAGE.encode(),
    "rtf": rb"{\rtf1\ansi Words}",
    "ipynb": b'{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "Words"}]}',
    "eml": b"From: a@example.org\nTo: b@example.org\nSubject: Hi\n\nWords\n",
    "xml": b'<?xml version="1.0"?><words/>',
    "json": b'{"words": 1}',
    "csv": b"a,b\n1,2\n",
    "tsv": b"a\tb\n1\t2\n",
    "md": b"# Words\n",
    "txt": b"Words\n",
}
TEXTUAL = ("html", "rtf", "ipynb", "eml", "xml", "json", "csv", "tsv", "md", "txt")
# What is not read, by its first bytes.
UNREAD = {
    "png": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "jpg": b"\xff\xd8\xff\xe0" + bytes(50),
    "gz": b"\x1f\x8b\x08" + bytes(50),
    "zip": making.zipped({"a.txt": "Words"}),
    "mp4": b"\0\0\0\x18ftypmp42" + bytes(50),
    "exe": b"MZ\x90\0" + bytes(50),
    "doc": making.ole("WordDocument"),
    "ppt": making.ole("a", "b", "c", "PowerPoint Document"),
    "msg": making.ole("__properties_version1.0"),
    "bin": bytes(range(256)) * 4,
}


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("a.PDF", "pdf"),
        ("../../etc/passwd", ""),
        ("..\\x.Docx", "docx"),
        (".gitignore", ""),
        ("archive.tar.gz", "gz"),
        ("v1.2/readme", ""),
        ("", ""),
        ("name.", ""),
    ],
)
def test_the_ending_of_a_name(name: str, ending: str) -> None:
    assert extension(name) == ending


@pytest.mark.parametrize("kind", MADE)
def test_a_file_is_known_by_its_content_with_its_name(read: Read, kind: str) -> None:
    assert "ords" in read(MADE[kind], f"file.{kind}").text or kind in ("xlsx", "csv", "tsv")


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("pdf", "application/pdf"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("odt", "application/vnd.oasis.opendocument.text"),
        ("epub", "application/epub+zip"),
        ("html", "text/html"),
        ("rtf", "application/rtf"),
        ("ipynb", "application/x-ipynb+json"),
        ("eml", "message/rfc822"),
        ("xml", "application/xml"),
        ("json", "application/json"),
        ("csv", "text/plain"),
        ("md", "text/plain"),
        ("txt", "text/plain"),
    ],
)
def test_a_file_is_known_without_any_name(read: Read, kind: str, media_type: str) -> None:
    assert read(MADE[kind], "").media_type == media_type
    assert read(MADE[kind], "README").media_type == media_type


@pytest.mark.parametrize("kind", UNREAD)
def test_what_is_not_read_is_named(read: Read, kind: str) -> None:
    with pytest.raises(ExtractionError, match="which is not read") as refused:
        read(UNREAD[kind], f"file.{kind}")
    assert refused.value.code == "unsupported"


@pytest.mark.parametrize(
    ("content", "ending", "says"),
    [
        ("docx", "pdf", r"\.pdf, as a PDF does, but its content is a Word document \(docx\)"),
        ("pdf", "docx", r"\.docx.*but its content is a PDF"),
        ("txt", "pdf", r"\.pdf.*but its content is plain text"),
        ("html", "pdf", r"\.pdf.*but its content is an HTML page"),
        ("pdf", "txt", r"\.txt.*but its content is a PDF"),
        ("html", "json", r"\.json.*but its content is an HTML page"),
        ("html", "csv", r"\.csv.*but its content is an HTML page"),
        ("xml", "json", r"\.json.*but its content is XML"),
        ("json", "xml", r"\.xml.*but its content is JSON"),
        ("txt", "rtf", r"\.rtf.*but its content is plain text"),
        ("txt", "eml", r"\.eml.*but its content is plain text"),
        ("json", "ipynb", r"\.ipynb.*but its content is JSON"),
        ("txt", "png", r"\.png, as a PNG image does, but its content is plain text"),
        ("xlsx", "docx", r"\.docx.*but its content is an Excel workbook"),
    ],
)
def test_a_name_that_claims_something_else_is_refused_with_both_named(
    read: Read, content: str, ending: str, says: str
) -> None:
    with pytest.raises(ExtractionError, match=says) as refused:
        read(MADE[content], f"report.{ending}")
    assert refused.value.code == "mismatch"


@pytest.mark.parametrize("kind", UNREAD)
def test_what_is_not_read_does_not_come_in_under_another_name(read: Read, kind: str) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(UNREAD[kind], "file.pdf")
    assert refused.value.code == "mismatch"


@pytest.mark.parametrize("kind", TEXTUAL)
@pytest.mark.parametrize("ending", ["txt", "md"])
def test_any_text_may_be_called_text_and_is_then_kept_as_it_is(
    read: Read, kind: str, ending: str
) -> None:
    assert read(MADE[kind], f"notes.{ending}").text == MADE[kind].decode()


def test_an_unknown_ending_of_a_text_claims_nothing(read: Read) -> None:
    for name in ("tool.py", "server.conf", "page.j2"):
        found = read(PAGE, name)
        assert (found.text, found.media_type) == (PAGE, "text/plain")
    assert read(MADE["pdf"], "scan.2024").media_type == "application/pdf"


@pytest.mark.parametrize(
    ("data", "ending", "media_type"),
    [
        ("just words", "html", "text/html"),
        ("<p>a fragment", "htm", "text/html"),
        ('<?xml version="1.0"?><html><p>x</p></html>', "xhtml", "text/html"),
        ('<?xml version="1.0"?><html><p>x</p></html>', "xml", "application/xml"),
        ('{"a": 1}\n{"a": 2}\n', "json", "application/json"),
        ("not quite json", "json", "application/json"),
        ("[1],2\n", "csv", "text/csv"),
        ("<rss/>", "xml", "application/xml"),
        ("a, b", "log", "text/plain"),
    ],
)
def test_a_name_chooses_among_kinds_of_text(
    read: Read, data: str, ending: str, media_type: str
) -> None:
    assert read(data, f"file.{ending}").media_type == media_type


def test_words_that_begin_like_a_program_are_words(read: Read) -> None:
    assert read("MZ is the mark of a program", "a.txt").text.startswith("MZ")
    assert read("ID3 tags", "a.txt").text == "ID3 tags"
    found = read("MZ wird größer und schöner, die Häuser höher".encode("cp1252"), "a.txt")
    assert "größer" in found.text
    assert read("abcdftyp is a mark", "a.txt").text == "abcdftyp is a mark"


def test_words_about_pdf_are_words_and_a_pdf_may_begin_late(read: Read) -> None:
    text = "A file begins with %PDF-1.7, größer or not.\n" * 200
    assert read(text, "article.md").text == text
    late = b"\r\nsome bytes before it \xe2\xe3\xcf\xd3\0\n" + MADE["pdf"]
    assert read(late, "a.pdf").text == "Words"


@pytest.mark.parametrize("name", ["values.dat", "graph.dot", "words.pot", "dump.bin"])
def test_endings_that_texts_have_too_claim_nothing(read: Read, name: str) -> None:
    assert read("some words", name).text == "some words"


def test_a_notebook_may_be_called_json(read: Read) -> None:
    found = read(MADE["ipynb"], "notebook.json")
    assert (found.text, found.media_type) == (MADE["ipynb"].decode(), "application/json")


def test_an_encrypted_office_document_is_an_ole_file_and_is_called_encrypted(read: Read) -> None:
    locked = making.ole("EncryptionInfo", "EncryptedPackage")
    for name in ("secret.docx", "secret.xlsx", ""):
        with pytest.raises(ExtractionError, match="remove its password") as refused:
            read(locked, name)
        assert refused.value.code == "encrypted"


@pytest.mark.parametrize("size", [8, 100, 600, 1500])
def test_a_truncated_ole_file_is_refused(read: Read, size: int) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(making.ole("x", "y", "z", "w", "v", "WordDocument")[:size], "")
    assert refused.value.code == ("damaged" if size < 1500 else "unsupported")


def test_an_ole_file_whose_directory_runs_in_a_circle_comes_to_an_end(read: Read) -> None:
    data = bytearray(making.ole("nothing"))
    data[512 + 4 : 512 + 8] = (1).to_bytes(4, "little")
    with pytest.raises(ExtractionError) as refused:
        read(bytes(data), "")
    assert refused.value.code == "unsupported"
    data[48:52] = (0x10000).to_bytes(4, "little")  # beyond the part of the table that is looked at
    with pytest.raises(ExtractionError):
        read(bytes(data), "")


def test_an_office_document_without_its_main_part_is_damaged(read: Read) -> None:
    data = making.zipped({"[Content_Types].xml": "<Types/>"})
    with pytest.raises(ExtractionError, match="without its main part") as refused:
        read(data, "a.docx")
    assert refused.value.code == "damaged"


def test_an_opendocument_file_may_compress_its_media_type(read: Read) -> None:
    body = "<d><p>Words</p></d>"
    kind = "application/vnd.oasis.opendocument.text"
    assert read(making.zipped({"content.xml": body, "mimetype": kind}), "a.odt").text == "Words"
    template = making.zipped(
        {"mimetype": f"{kind}-template", "content.xml": body}, stored=["mimetype"]
    )
    assert read(template, "a.ott").text == "Words"
    other = making.zipped({"mimetype": "application/x-other"})
    with pytest.raises(ExtractionError) as refused:
        read(other, "")
    assert refused.value.code == "unsupported"


@pytest.mark.parametrize(
    "name", ["../" * 40 + "etc/passwd", "a\0b.txt", "n" * 300 + ".txt", "\ud800"]
)
def test_a_name_is_only_a_label(read: Read, name: str) -> None:
    assert read("Words", name).text == "Words"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \r\n\t\n", b"\0\0"])
def test_a_file_without_text_is_empty(read: Read, data: bytes) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(data, "a.txt")
    assert refused.value.code in ("empty", "mismatch")
    assert data == b"\0\0" or refused.value.code == "empty"
