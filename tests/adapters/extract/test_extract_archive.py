"""Archives that are broken, locked, or made to do harm."""

import io
import struct
import zipfile
from pathlib import Path

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.errors import ExtractionError

WORDS = making.docx(making.paragraph("Words " * 50))


def code_of(read: Read, data: bytes, name: str = "a.docx", limits: Limits | None = None) -> str:
    with pytest.raises(ExtractionError) as refused:
        read(data, name, limits)
    return refused.value.code


def test_a_bomb_is_refused_by_its_directory_before_it_is_opened(read: Read) -> None:
    bomb = making.bomb("word/document.xml", 64 * MiB)
    assert len(bomb) < MiB
    assert code_of(read, bomb) == "expands-too-far"
    assert code_of(read, making.bomb("a", 40 * MiB), "a.zip") == "expands-too-far"


def test_a_bomb_inside_an_archive_is_not_opened(read: Read) -> None:
    nested = making.zipped({"inner.zip": making.bomb("a", 64 * MiB)}, stored=["inner.zip"])
    assert code_of(read, nested, "a.zip") == "unsupported"


def test_a_bomb_inside_a_document_is_never_unpacked(read: Read) -> None:
    inner = making.bomb("a", 64 * MiB)
    assert (
        read(making.docx(making.paragraph("Words"), {"media/x.zip": inner}), "a.docx").text
        == "Words"
    )


def test_a_directory_that_lies_does_not_get_more_than_it_says(read: Read) -> None:
    document = making.docx(making.paragraph("Words " * 2_000_000))
    honest = Limits(max_expansion=1_000_000)
    assert len(read(document, "a.docx", honest).text) > 10_000_000
    lying = making.lying(document, "word/document.xml", 5000)
    assert code_of(read, lying) == "damaged"


def test_what_comes_out_is_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(making.zipped({"a": "x" * 6000, "b": "y" * 6000}))
    with Archive(path, Limits(max_expanded_bytes=12_000)) as archive:
        assert archive.names == ["a", "b"]
        archive.test()
        archive.read("a")
        archive.read("b")
        with pytest.raises(ExtractionError, match="max_expanded_bytes is 12,000"):
            archive.read("a")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_archive_is_damaged(read: Read, kept: float) -> None:
    assert code_of(read, WORDS[: int(len(WORDS) * kept)]) == "damaged"


def test_a_member_whose_bytes_have_changed_is_damaged(read: Read) -> None:
    at = WORDS.index(b"word/document.xml") + len(b"word/document.xml") + 10
    broken = WORDS[:at] + bytes(20) + WORDS[at + 20 :]
    assert code_of(read, broken) == "damaged"


def test_a_locked_member_is_encrypted(read: Read) -> None:
    data = bytearray(WORDS)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            struct.pack_into("<H", data, at + place, 1)
            at = data.find(mark, at + 1)
    assert code_of(read, bytes(data)) == "encrypted"


def test_a_way_of_compressing_that_no_office_program_uses_is_refused(read: Read) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("word/document.xml", "x" * 1000)
    assert code_of(read, buffer.getvalue()) == "damaged"


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(making.zipped({"a": "x"}))
    with (
        Archive(path, Limits()) as archive,
        pytest.raises(ExtractionError, match=r"part b\.xml is missing"),
    ):
        archive.read("b.xml")


def test_an_archive_of_very_many_parts_is_refused(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unchunk.adapters.extract.archive._MOST_MEMBERS", 3)
    assert code_of(read, WORDS) == "expands-too-far"
