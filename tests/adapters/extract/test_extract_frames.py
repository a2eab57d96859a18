"""What a worker says is looked at before it is believed."""

import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.extract.frames import (
    BrokenFrameError,
    answer,
    packed,
    read_frame,
    refusal,
    reply,
    request,
    requested,
)
from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionError

GOOD: dict[str, object] = {
    "media_type": "text/plain",
    "title": "",
    "notes": [],
    "pages": [0, 3],
    "headings": [[1, 1, "b"]],
}


def unpacked(frame: bytes, longest: int = 10_000) -> tuple[dict[str, object], bytes]:
    stream = io.BytesIO(frame)

    def read(count: int) -> bytes:
        data = stream.read(count)
        if len(data) < count:
            raise EOFError
        return data

    return read_frame(read, longest)


@given(st.text(), st.text(), st.lists(st.text()))
def test_what_was_found_arrives_as_it_was(text: str, title: str, notes: list[str]) -> None:
    found = Extracted(
        text, "text/x", (0, len(text)), (Heading(0, 2, title),), title=title, notes=tuple(notes)
    )
    header, body = unpacked(reply(found, last=False))
    assert answer(header, body) == found
    assert header["last"] is False


def test_a_refusal_arrives_as_an_error() -> None:
    header, body = unpacked(refusal(ExtractionError("damaged", "it is \ud800 broken"), last=True))
    with pytest.raises(ExtractionError, match=r"it is \? broken") as refused:
        answer(header, body)
    assert refused.value.code == "damaged"
    assert header["last"] is True


@given(st.text(st.characters(codec=None, categories=None)), st.text())
def test_any_name_can_be_asked_for(path: str, name: str) -> None:
    _, body = unpacked(request(path, name), 10_000)
    assert requested(body) == (path, name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"media_type": 7},
        {"title": None},
        {"title": "\ud800"},
        {"notes": "x"},
        {"notes": [7]},
        {"pages": [3, 0]},
        {"pages": [-1]},
        {"pages": [99]},
        {"pages": [True]},
        {"pages": None},
        {"headings": [[9, 1, "beyond"]]},
        {"headings": [[2, 1, "b"], [1, 1, "a"]]},
        {"headings": [[1, 0, "x"]]},
        {"headings": [[1, 1]]},
        {"headings": [["1", 1, "x"]]},
        {"headings": {"0": 1}},
        {"code": "no-such-code", "message": "x"},
        {"code": ["damaged"], "message": "x"},
        {"code": "damaged", "message": 7},
    ],
)
def test_an_answer_that_is_wrong_anywhere_is_broken(wrong: dict[str, object]) -> None:
    assert answer(GOOD, b"abc").text == "abc"
    with pytest.raises(BrokenFrameError):
        answer({**GOOD, **wrong}, b"abc")


def test_a_text_that_is_not_utf_8_is_broken() -> None:
    with pytest.raises(BrokenFrameError):
        answer(GOOD, b"\xff\xff\xff")


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">IQ", 2**31, 0),
        struct.pack(">IQ", 2, 10_001) + b"{}",
        struct.pack(">IQ", 2, 0) + b"[]",
        struct.pack(">IQ", 2, 0) + b"{x",
        struct.pack(">IQ", 2, 0) + b"\xff\xff",
        struct.pack(">IQ", 1, 0) + b"7",
    ],
)
def test_a_frame_that_is_too_long_or_no_object_is_broken(frame: bytes) -> None:
    with pytest.raises(BrokenFrameError):
        unpacked(frame)


def test_a_header_nested_without_end_is_broken() -> None:
    head = b"[" * 200_000
    with pytest.raises(BrokenFrameError):
        unpacked(struct.pack(">IQ", len(head), 0) + head)


def test_a_frame_that_ends_early_is_no_frame() -> None:
    for end in (0, 5, 13):
        with pytest.raises(EOFError):
            unpacked(packed({"a": 1}, b"body")[:end])
    assert json.loads(packed({"a": 1}, b"body")[12:-4]) == {"a": 1}
