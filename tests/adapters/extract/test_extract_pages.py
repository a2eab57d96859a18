"""Pages as they look: real PDFs, turned ones, hostile ones; drawn in processes of their own."""

import asyncio
import ctypes
import os
import random
import re
import signal
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from pypdfium2 import PdfDocument  # type: ignore[import-untyped]  # it has no types of its own
from pypdfium2 import raw as pdfium

from adapters.extract import making
from adapters.extract.test_extract_isolated import alive, gone, take_over
from corpus import DATA, MISSING
from unchunk.adapters.extract import drawing, pages
from unchunk.adapters.extract.formats import PDF, READ_AGAIN
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.adapters.extract.pages import IsolatedPages
from unchunk.adapters.extract.png import png
from unchunk.adapters.extract.reading import read_file
from unchunk.domain import Extracted, Mark, Version
from unchunk.errors import ExtractionError

T = TypeVar("T")
SAMPLES = DATA / "pdf_samples"
TEXT = "The harbour opens at six.\nBoats over nine metres\nmoor at the outer wall."


def run(work: Callable[[IsolatedPages], Awaitable[T]], workers: int = 1) -> T:
    async def use() -> T:
        drawer = IsolatedPages(10**9, workers)
        try:
            return await work(drawer)
        finally:
            await drawer.close()

    return asyncio.run(use())


def size_of(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", picture, 16)
    return width, height


def page_of(found: Extracted, page: int) -> str:
    ends = (*found.pages[1:], len(found.text))
    return found.text[found.pages[page - 1] : ends[page - 1]]


def inside(path: Path, page: int, marks: list[Mark]) -> str:
    """What stands inside the marks, as PDFium reads it there, without white space and hyphens."""
    opened = PdfDocument(path)[page - 1]
    content = opened.get_textpage()
    across, down = (round(size * 1000) for size in opened.get_size())
    x, y = ctypes.c_double(), ctypes.c_double()
    said = []
    for mark in marks:
        corners = []
        for left, top in ((mark.x, mark.y), (mark.x + mark.width, mark.y + mark.height)):
            place = (round(left * across), round(top * down))
            pdfium.FPDF_DeviceToPage(opened, 0, 0, across, down, 0, *place, x, y)
            corners.append((x.value, y.value))
        (left, right), (low, high) = (sorted(pair) for pair in zip(*corners, strict=True))
        said.append(content.get_text_bounded(left, low, right, high))
    return shown("".join(said))


def shown(text: str) -> str:
    return re.sub(r"[\s\-\u2010\ufffe]", "", text)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.pdf"
    path.write_bytes(making.pdf([TEXT, "Another page."]))
    return path


@pytest.mark.skipif(not DATA.exists(), reason=MISSING)
def test_marks_cover_the_words_of_a_sentence_and_little_else() -> None:
    chosen = [
        ("001-trivial/minimal-document.pdf", 1),
        ("002-trivial-libre-office-writer/002-trivial-libre-office-writer.pdf", 1),
        ("004-pdflatex-4-pages/pdflatex-4-pages.pdf", 2),
        ("009-pdflatex-geotopo/GeoTopo-komprimiert.pdf", 8),
        ("011-google-doc-document/google-doc-document.pdf", 1),
        ("015-arabic/habibi.pdf", 1),
        ("026-latex-multicolumn/multicolumn.pdf", 1),
    ]

    async def check(drawer: IsolatedPages) -> int:
        sentences = 0
        for name, page in chosen:
            path = SAMPLES / "py-pdf-sample-files" / name
            text = page_of(read_file(path, path.name, Limits()), page)
            for found in re.finditer(r"[^.!?]{20,400}[.!?]", text):
                marks = await drawer.marks(path, page, text, *found.span())
                seen, wanted = inside(path, page, marks), shown(found[0])
                words = re.findall(r"\w+", found[0])
                missing = [word for word in words if shown(word) not in seen]
                assert len(missing) <= len(words) // 50, (name, found[0], missing)
                # A mark is as high as its line, and may touch the next.
                assert len(seen) <= 1.5 * len(wanted) + 40, (name, found[0], seen)
                sentences += 1
        return sentences

    assert run(check) > 60


@pytest.mark.skipif(not DATA.exists(), reason=MISSING)
def test_every_sample_is_drawn_or_fails_with_its_reason() -> None:
    paths = sorted(SAMPLES.rglob("*.pdf"))

    async def check(drawer: IsolatedPages) -> list[str]:
        async def one(path: Path) -> str:
            try:
                width, height = size_of(await drawer.draw(path, 1, 200))
            except ExtractionError as error:
                return error.code
            assert 0 < width <= 201
            assert 0 < height <= 601
            return "drawn"

        return await asyncio.gather(*map(one, paths))

    found = run(check, workers=2)
    assert len(paths) > 80
    assert set(found) <= {"drawn", "damaged"}
    assert found.count("drawn") > 0.75 * len(paths)


@pytest.mark.skipif(not DATA.exists(), reason=MISSING)
def test_what_was_filled_into_a_form_is_drawn() -> None:
    path = SAMPLES / "py-pdf-sample-files" / "012-libreoffice-form" / "libreoffice-form.pdf"
    filled = drawing.draw(path, 1, 400)
    opened = PdfDocument(path)
    assert opened.get_formtype()
    bitmap = opened[0].render(scale=400 / opened[0].get_width(), rev_byteorder=True)
    plain = png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)
    assert size_of(plain) == size_of(filled)
    assert plain != filled


def test_a_page_has_the_width_that_is_asked_for_and_shows_something(page: Path) -> None:
    async def check(drawer: IsolatedPages) -> None:
        for width in (200, 900, 2000):
            picture = await drawer.draw(page, 1, width)
            assert size_of(picture) == (width, -(-width * 4 // 3))
        assert await drawer.draw(page, 1, 300) != await drawer.draw(page, 2, 300)

    run(check)


def test_a_very_tall_page_is_drawn_narrower(tmp_path: Path) -> None:
    path = tmp_path / "tall.pdf"
    path.write_bytes(making.pdf(["Tall"]).replace(b"0 0 600 800", b"0 0 1 14000"))

    async def check(drawer: IsolatedPages) -> None:
        width, height = size_of(await drawer.draw(path, 1, 900))
        assert width < 10
        assert height <= 2701

    run(check)


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_marks_stand_where_the_words_are_however_the_page_is_turned_and_cut(
    tmp_path: Path, turned: int
) -> None:
    path = tmp_path / "turned.pdf"
    made = making.pdf([TEXT])
    box = b"/MediaBox[0 0 600 800]/Rotate %d/CropBox[10 300 500 790]" % turned
    path.write_bytes(made.replace(b"/MediaBox[0 0 600 800]", box))
    text = read_file(path, "turned.pdf", Limits()).text
    start, end = (text.index(word) for word in ("Boats", "metres"))

    async def check(drawer: IsolatedPages) -> None:
        marks = await drawer.marks(path, 1, text, start, end)
        assert len(marks) == 1
        assert inside(path, 1, marks) == shown(text[start:end]) == "Boatsovernine"
        for mark in marks:
            assert 0 <= mark.x <= mark.x + mark.width <= 1
            assert 0 <= mark.y <= mark.y + mark.height <= 1

    run(check)


def test_lines_are_marked_one_by_one(page: Path) -> None:
    async def check(drawer: IsolatedPages) -> None:
        first, second, third = await drawer.marks(page, 1, TEXT, 0, len(TEXT))
        assert first.y + first.height <= second.y + 0.01
        assert second.y < third.y
        # The text stands 20 units from the left of 600, 100 from the top of 800.
        assert abs(first.x - 20 / 600) < 0.01
        assert abs(first.y + first.height - 100 / 800) < 0.01
        [word] = await drawer.marks(page, 1, TEXT, 4, 11)
        assert inside(page, 1, [word]) == "harbour"
        assert await drawer.marks(page, 1, TEXT, 25, 26) == [], "white space is nowhere"
        assert await drawer.marks(page, 1, TEXT, 3, 3) == []
        assert await drawer.marks(page, 1, "Something else entirely", 0, 9) == []

    run(check)


def test_a_text_that_is_too_long_for_a_page_has_no_marks(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LONGEST_PAGE", 10)
    assert run(lambda drawer: drawer.marks(page, 1, TEXT, 0, 9)) == []


def test_what_is_not_there_is_told(page: Path, tmp_path: Path) -> None:
    (tmp_path / "none.pdf").write_bytes(b"no PDF at all")

    async def check(drawer: IsolatedPages) -> None:
        with pytest.raises(ExtractionError, match="it has no page 3"):
            await drawer.draw(page, 3, 300)
        with pytest.raises(ExtractionError, match="it has no page 0"):
            await drawer.marks(page, 0, TEXT, 0, 5)
        with pytest.raises(ExtractionError, match="its pages cannot be found"):
            await drawer.draw(tmp_path / "none.pdf", 1, 300)
        with pytest.raises(ExtractionError, match="No such file"):
            await drawer.draw(tmp_path / "missing.pdf", 1, 300)
        assert size_of(await drawer.draw(page, 1, 300)) == (300, 400)

    run(check)


def test_a_page_that_cannot_be_drawn_costs_nothing_but_itself(page: Path) -> None:
    async def check(drawer: IsolatedPages) -> None:
        await drawer.draw(page, 1, 200)
        [pid] = drawer.pids()
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        assert size_of(await drawer.draw(page, 1, 300)) == (300, 400)

    run(check)


def test_what_takes_too_long_or_too_much_is_given_up(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_over(monkeypatch, "time.sleep(60)")
    monkeypatch.setattr(pages, "_SECONDS", 0.2)

    async def slow(drawer: IsolatedPages) -> None:
        for work in (drawer.draw(page, 1, 300), drawer.marks(page, 1, TEXT, 0, 5)):
            with pytest.raises(ExtractionError, match=r"page 1 was not drawn within 0\.2 seconds"):
                await work

    run(slow)


def test_a_page_that_needs_too_much_memory_is_given_up(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MEMORY", 8 * MiB)

    async def much(drawer: IsolatedPages) -> None:
        with pytest.raises(ExtractionError) as error:
            await drawer.draw(page, 1, 2000)
        assert error.value.code in ("too-much-memory", "crashed", "damaged")

    run(much)


@pytest.mark.parametrize(
    "answer",
    [
        'packed({"last": False}, b"<script>")',
        'packed({"last": False}, b"[[0, 0, 2, 0]]")',
        'packed({"last": False}, b"[[NaN, 0, 0, 0]]")',
        'packed({"last": False}, b"[[1, 1, 1]]")',
        'packed({"last": False}, b"[[[]]]")',
        'packed({"last": False}, b"{")',
        'packed({"last": False, "code": "root", "message": "x"})',
    ],
)
def test_a_worker_that_was_taken_over_is_not_believed(
    page: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    take_over(
        monkeypatch,
        "import json, struct\n"
        "def packed(header, body=b''):\n"
        "    head = json.dumps(header).encode()\n"
        "    return struct.pack('>IQ', len(head), len(body)) + head + body\n"
        f"os.read(0, 65536)\nos.write(1, {answer})\ntime.sleep(60)",
    )

    async def check(drawer: IsolatedPages) -> None:
        for work in (drawer.draw(page, 1, 300), drawer.marks(page, 1, TEXT, 0, 5)):
            with pytest.raises(ExtractionError, match="nonsense"):
                await work

    run(check)


def test_pages_with_random_damage_never_do_more_than_fail(tmp_path: Path) -> None:
    made, rng = making.pdf([TEXT, None, "More"]), random.Random(7)

    async def check(drawer: IsolatedPages) -> None:
        for at in range(40):
            data = bytearray(made)
            for _ in range(rng.randint(1, 30)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path = tmp_path / f"{at}.pdf"
            path.write_bytes(data)
            try:
                assert await drawer.draw(path, 1, 200)
                await drawer.marks(path, 1, TEXT, 0, len(TEXT))
            except ExtractionError:
                pass

    run(check)


def test_workers_end_with_their_owner(page: Path) -> None:
    async def check(drawer: IsolatedPages) -> list[int]:
        await drawer.draw(page, 1, 200)
        return drawer.pids()

    [pid] = run(check)
    assert not alive(pid)


@pytest.mark.parametrize(
    ("version", "can"),
    [
        (Version("d", 1, "c", 1, "b", PDF.media_type, page_count=2), True),
        (Version("d", 1, "c", 1, "b", PDF.media_type), False),
        (Version("d", 1, "c", 1, "b", PDF.media_type, page_count=2, notes=(READ_AGAIN,)), False),
        (Version("d", 1, "c", 1, "b", "text/plain", page_count=2), False),
    ],
)
def test_only_pages_that_were_found_can_be_drawn(version: Version, can: bool) -> None:
    assert run(_can(version)) is can


def _can(version: Version) -> Callable[[IsolatedPages], Awaitable[bool]]:
    async def ask(drawer: IsolatedPages) -> bool:
        return drawer.can_draw(version)

    return ask


def test_words_far_apart_on_a_line_are_marked_each_for_itself() -> None:
    near = [drawing._Box(0, 0, 10, 10), drawing._Box(12, 1, 20, 11), drawing._Box(90, 0, 99, 10)]
    assert list(drawing._lines(near)) == [
        drawing._Box(0, 0, 20, 11),
        drawing._Box(90, 0, 99, 10),
    ]
    assert list(drawing._lines([])) == []


def test_drawing_in_this_process_is_the_same(page: Path) -> None:
    """What a worker does, where coverage sees it."""
    assert size_of(drawing.draw(page, 1, 300)) == (300, 400)
    assert len(drawing.locate(page, 1, TEXT, 0, len(TEXT))) == 3
