"""What a document says, over HTTP: its text, its chunks, its outline and its bytes."""

import asyncio
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from urllib.parse import unquote

import httpx2
import pytest

from adapters.extract import making
from server.houses import Reply, add, error, house, send
from unchunk.domain import Document, Version
from unchunk.engine import Engine
from unchunk.errors import TransientError
from unchunk.server.attachments import disposition
from unchunk.server.pictures import Pictures

ASTRAL = "𝕎𝕒𝕧𝕖𝕤 🌊 and e\u0301 "
LONG = (
    "# Harbour\n\nRules of the harbour.\n\n## Boats\n\n"
    + f"{ASTRAL}Every boat has a light at night. " * 120
    + "\n\n## Fees\n\n| berth | fee |\n|---|---|\n| inner | 12 |\n\n"
    + "The fee is paid at the office before noon. " * 60
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with house(tmp_path_factory.mktemp("reading")) as it:
        yield it["local"]


@pytest.fixture(scope="module")
def document(client: httpx2.Client) -> str:
    return add(client, "Harbour – rules.md", LONG, folder="port")


def get(client: httpx2.Client, path: str, **query: int | str) -> Reply:
    reply = client.get(f"/api/documents/{path}", params=query)
    assert reply.status_code == 200, reply.text
    body = reply.json()
    assert isinstance(body, dict)
    return body


def test_the_text_comes_in_any_part_counted_in_characters(
    client: httpx2.Client, document: str
) -> None:
    whole = get(client, f"{document}/text")
    text = whole.pop("text")
    assert text == LONG.rstrip() or text == LONG
    assert whole == {
        "document_id": document,
        "name": "Harbour – rules.md",
        "start": 0,
        "end": len(text),
        "text_length": len(text),
    }
    for start, end in ((0, 1), (45, 60), (44, 2000), (len(text) - 5, len(text)), (7, 7)):
        part = get(client, f"{document}/text", start=start, end=end)
        assert (part["start"], part["end"]) == (start, end)
        assert part["text"] == text[start:end]
    beyond = get(client, f"{document}/text", start=len(text) - 3, end=10**9)
    assert (beyond["end"], beyond["text"]) == (len(text), text[-3:])
    behind = get(client, f"{document}/text", start=10**9)
    assert (behind["start"], behind["end"], behind["text"]) == (len(text), len(text), "")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("start=-1", 422),
        ("start=5&end=4", 400),
        ("start=x", 422),
        ("start=99999999999999999999", 422),
        ("format=html", 422),
    ],
)
def test_a_part_that_cannot_be_is_refused(
    client: httpx2.Client, document: str, query: str, status: int
) -> None:
    assert client.get(f"/api/documents/{document}/text?{query}").status_code == status


def test_a_very_long_text_comes_in_parts_of_a_million(client: httpx2.Client) -> None:
    row = "2024-01-01 the gauge stood at four metres ü\n"
    document = add(client, "gauge.txt", row * 30_000)
    first = get(client, f"{document}/text")
    assert (first["start"], first["end"]) == (0, 1_000_000)
    assert len(first["text"]) == 1_000_000
    second = get(client, f"{document}/text", start=1_000_000)
    assert second["end"] == second["text_length"]
    whole = client.get(f"/api/documents/{document}/text?format=plain")
    assert whole.text == first["text"] + second["text"]


def test_the_whole_text_can_be_saved(client: httpx2.Client, document: str) -> None:
    reply = client.get(f"/api/documents/{document}/text?format=plain")
    assert reply.text == get(client, f"{document}/text")["text"]
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    said = reply.headers["content-disposition"]
    assert said.startswith("attachment;")
    assert unquote(said.rpartition("''")[2]) == "Harbour – rules.md.txt"


def test_chunks_tile_the_text(client: httpx2.Client, document: str) -> None:
    text = get(client, f"{document}/text")["text"]
    found = get(client, f"{document}/chunks")
    assert found["chunk_count"] == len(found["chunks"]) > 5
    assert "".join(one["text"] for one in found["chunks"]) == text
    for at, chunk in enumerate(found["chunks"]):
        assert chunk["chunk_index"] == at
        assert chunk["text"] == text[chunk["start"] : chunk["end"]]
        assert (chunk["first_page"], chunk["last_page"]) == (None, None)
    assert found["chunks"][-1]["heading_path"] == ["Harbour", "Fees"]
    some = get(client, f"{document}/chunks", first=2, last=4)["chunks"]
    assert some == found["chunks"][2:5]
    assert get(client, f"{document}/chunks", first=10**6)["chunks"] == []
    assert get(client, f"{document}/chunks", first=3, last=10**6)["chunks"] == found["chunks"][3:]
    assert error(client.get(f"/api/documents/{document}/chunks?first=3&last=2"))[0] == 400


def test_of_many_chunks_200_come_at_once(client: httpx2.Client) -> None:
    document = add(client, "many.txt", "".join(f"{at}. A line of the log.\n" for at in range(9000)))
    first = get(client, f"{document}/chunks")
    assert first["chunk_count"] > len(first["chunks"]) == 200
    last = get(client, f"{document}/chunks", first=150, last=10**6)
    assert [one["chunk_index"] for one in last["chunks"]][:1] == [150]
    assert len(last["chunks"]) == min(200, first["chunk_count"] - 150)


def test_the_outline_says_where_headings_begin(client: httpx2.Client, document: str) -> None:
    outline = get(client, f"{document}/outline")
    text = get(client, f"{document}/text")["text"]
    assert [(one["level"], one["title"]) for one in outline["headings"]] == [
        (1, "Harbour"),
        (2, "Boats"),
        (2, "Fees"),
    ]
    for one in outline["headings"]:
        assert text[one["at"] :].startswith("#" * one["level"] + " " + one["title"])
    assert (outline["pages"], outline["page_count"]) == ([], 0)
    assert outline["has_pages_to_see"] is False
    assert outline["text_length"] == len(text)


def test_the_original_is_the_same_bytes_and_only_to_be_saved(client: httpx2.Client) -> None:
    page = b"<!DOCTYPE html><title>x</title><script>alert(1)</script><p>Hello, harbour.</p>"
    document = add(client, "page.html", page)
    reply = client.get(f"/api/documents/{document}/original")
    assert reply.content == page
    assert reply.headers["content-length"] == str(len(page))
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["content-disposition"].startswith("attachment;")


def test_what_has_no_text_says_why_and_gives_its_bytes(client: httpx2.Client) -> None:
    send(client, "broken.pdf", b"%PDF-1.7 broken")
    [row] = client.get("/api/documents?q=broken").json()["documents"]
    for path in ("text", "text?format=plain", "chunks", "outline"):
        reply = client.get(f"/api/documents/{row['id']}/{path}")
        assert error(reply) == (404, "not-found")
        assert "broken.pdf" in reply.json()["detail"]
    assert client.get(f"/api/documents/{row['id']}/original").content == b"%PDF-1.7 broken"


def test_an_original_that_is_gone_is_told(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        document = add(it["local"], "a.txt", LONG)
        for path in (it.home / "uploads").rglob("[!.]*"):
            if path.is_file():
                path.unlink()
        assert error(it["local"].get(f"/api/documents/{document}/original"))[0] == 404
        assert get(it["local"], f"{document}/text")["text"]


@pytest.mark.parametrize("name", ["", "tides.txt", "06a1v8k2m4n7p0q3", "%00", "..%2f..", "x" * 500])
def test_what_is_no_id_is_not_there(client: httpx2.Client, document: str, name: str) -> None:
    for path in ("text", "chunks", "outline", "original"):
        assert client.get(f"/api/documents/{name}/{path}").status_code == 404
    # By its name it is not there, either: another may be called so tomorrow.
    assert client.get("/api/documents/Harbour – rules.md/text").status_code == 404
    assert client.get(f"/api/documents/{document}/text").status_code == 200


@pytest.mark.parametrize(
    ("name", "plain", "saved"),
    [
        ("a.txt", "a.txt", "a.txt"),
        ("Ünï.md", "_n_.md", "Ünï.md"),
        ('q"uo\\te.txt', "te.txt", "te.txt"),
        ("a\r\nSet-Cookie: x=1", "a__Set-Cookie_ x_1", "a__Set-Cookie: x=1"),
        ("../../etc/passwd", "passwd", "passwd"),
        ("folder/sub/file.pdf", "file.pdf", "file.pdf"),
        ("...", "document", "document"),
        ("", "document", "document"),
        ("a;b=c%41'x'.txt", "a_b_c_41_x_.txt", "a;b=c%41'x'.txt"),
        ("x" * 400 + ".pdf", "x" * 150 + ".pdf", "x" * 150 + ".pdf"),
        ("x" * 400, "x" * 150, "x" * 150),
        ("half \ud800.txt", "half _.txt", "half _.txt"),
    ],
)
def test_any_name_makes_a_header_that_is_one(name: str, plain: str, saved: str) -> None:
    said = disposition(name)
    start, _, rest = said.partition("; filename*=UTF-8''")
    assert start == f'attachment; filename="{plain}"'
    assert unquote(rest) == saved
    assert said.isascii()
    assert said.isprintable()


# Pages as they look.


@pytest.fixture(scope="module")
def pdf(client: httpx2.Client) -> str:
    made = making.pdf(["The harbour opens at six.\nBoats moor here.", "The second page."])
    return add(client, "visitors.pdf", made)


def test_a_pages_picture_comes_once_and_then_from_memory(client: httpx2.Client, pdf: str) -> None:
    assert get(client, f"{pdf}/outline")["has_pages_to_see"] is True
    reply = client.get(f"/api/documents/{pdf}/pages/1?width=300")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "image/png"
    assert reply.content.startswith(b"\x89PNG")
    assert struct.unpack_from(">II", reply.content, 16) == (300, 400)
    assert "private" in reply.headers["cache-control"]
    named = {"If-None-Match": reply.headers["etag"]}
    again = client.get(f"/api/documents/{pdf}/pages/1?width=300", headers=named)
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"/api/documents/{pdf}/pages/2?width=300", headers=named)
    assert other.status_code == 200
    usual = client.get(f"/api/documents/{pdf}/pages/1")
    assert struct.unpack_from(">II", usual.content, 16) == (900, 1200)


def test_a_passage_is_marked_on_the_pages_that_it_stands_on(
    client: httpx2.Client, pdf: str
) -> None:
    text = get(client, f"{pdf}/text")["text"]
    start, end = text.index("Boats"), text.index("second") + len("second")
    first = get(client, f"{pdf}/pages/1/marks", start=start, end=end)
    assert first["page"] == 1
    [mark] = first["marks"]
    assert abs(mark["x"] - 20 / 600) < 0.01
    assert 0 < mark["width"] < 0.3
    second = get(client, f"{pdf}/pages/2/marks", start=start, end=end)
    assert len(second["marks"]) == 1
    assert get(client, f"{pdf}/pages/2/marks", start=0, end=start)["marks"] == []
    assert get(client, f"{pdf}/pages/1/marks", start=10**9, end=10**9)["marks"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("pages/0", 422),
        ("pages/x", 422),
        ("pages/3", 404),
        ("pages/999999", 404),
        ("pages/1?width=199", 422),
        ("pages/1?width=2001", 422),
        ("pages/1/marks", 422),
        ("pages/1/marks?start=5&end=4", 400),
        ("pages/1/marks?start=-1&end=4", 422),
        ("pages/3/marks?start=0&end=4", 404),
    ],
)
def test_a_page_that_cannot_be_is_refused(
    client: httpx2.Client, pdf: str, path: str, status: int
) -> None:
    assert client.get(f"/api/documents/{pdf}/{path}").status_code == status


def test_what_has_no_pages_says_so(client: httpx2.Client, document: str) -> None:
    for path in ("pages/1", "pages/1/marks?start=0&end=5"):
        reply = client.get(f"/api/documents/{document}/{path}")
        assert error(reply) == (404, "not-found")
        assert "no pages to see" in reply.json()["detail"]


def test_a_page_that_cannot_be_drawn_says_why(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client = it["local"]
        document = add(client, "a.pdf", making.pdf(["Some words."]))
        # What stands on the disk is not what came in any more.
        [path] = [one for one in (it.home / "uploads").rglob("[!.]*") if one.is_file()]
        path.write_bytes(b"no PDF")
        for part in ("pages/1", "pages/1/marks?start=0&end=4"):
            reply = client.get(f"/api/documents/{document}/{part}")
            assert error(reply) == (422, "damaged")
            assert "a.pdf" in reply.json()["detail"]


def test_nothing_is_kept_of_the_pages_of_what_was_deleted(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client, kept = it["local"], it.served.app.state.house.pictures
        documents = [add(client, f"{at}.pdf", making.pdf([f"Words {at}."])) for at in range(2)]
        for document in documents:
            assert client.get(f"/api/documents/{document}/pages/1?width=200").status_code == 200
        before = kept.size
        client.delete(f"/api/documents/{documents[0]}")
        assert 0 < kept.size < before
        client.delete(f"/api/documents/{documents[1]}")
        assert kept.size == 0


class Drawing:
    """An engine whose pages are so many bytes; waits for `gate`, if there is one."""

    def __init__(self, gate: asyncio.Event | None = None) -> None:
        self.drawn, self.gate = 0, gate

    @property
    def engine(self) -> Engine:
        return cast("Engine", self)

    async def draw_page(self, document: str, page: int, width: int, *, owner: str) -> bytes:
        assert (document, owner) == ("d1", "me")
        self.drawn += 1
        if self.gate is not None:
            await self.gate.wait()
        return bytes(width * page)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = Document("d1", "me", "a.pdf", "", NOW, NOW, live=Version("d1", 1, "c", 1, "b"))


def test_pictures_are_kept_up_to_so_many_bytes_those_that_nobody_wants_leave_first() -> None:
    async def scene() -> None:
        drawing = Drawing()
        pictures = Pictures(drawing.engine, 1_000, 5, 5)
        for page in (1, 2, 3, 1):
            await pictures.of(DOCUMENT, page, 150)
        assert (drawing.drawn, pictures.size) == (3, 900)
        await pictures.of(DOCUMENT, 4, 100)
        # The second page was not wanted for longest; then the third.
        assert pictures.size == 150 + 450 + 400
        await pictures.of(DOCUMENT, 1, 150)
        assert drawing.drawn == 4
        await pictures.of(DOCUMENT, 9, 500)
        assert pictures.size == 0, "one that is larger than all is not kept"

    asyncio.run(scene())


def test_of_pages_that_are_being_drawn_there_are_only_so_many() -> None:
    async def scene() -> None:
        gate = asyncio.Event()
        pictures = Pictures(Drawing(gate).engine, 1_000, 3, 2)
        drawing = [asyncio.create_task(pictures.of(DOCUMENT, page, 10)) for page in (1, 2)]
        await asyncio.sleep(0)
        with pytest.raises(TransientError, match="2 pages are being drawn"):
            await pictures.of(DOCUMENT, 3, 10)
        with pytest.raises(TransientError, match="2 pages are being drawn"):
            await pictures.marks(DOCUMENT, 3, 0, 10)
        # What is deleted while it is drawn is shown to who asked, and not kept.
        pictures.drop("d1")
        gate.set()
        assert [len(one) for one in await asyncio.gather(*drawing)] == [10, 20]
        assert pictures.size == 0
        assert len(await pictures.of(DOCUMENT, 3, 10)) == 30

    asyncio.run(scene())
