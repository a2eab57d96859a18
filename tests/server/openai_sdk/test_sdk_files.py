"""`client.files` of the official client, against a server of ours."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from openai import APIStatusError, AsyncOpenAI, BadRequestError, NotFoundError
from openai.types import FileObject

from server.houses import add
from server.openai_sdk.clients import SOON, Place, placed, prose, sent
from unchunk.server.options import Options

HOUR = 3600
BROKEN = b"%PDF-1.7\nthis is no PDF"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("files")) as place:
        yield place


def test_a_file_is_sent_read_and_given_back_byte_for_byte(place: Place) -> None:
    content = "Zwölf Boxkämpfer\r\njagen 漢字\x0b".encode()
    before = datetime.now(UTC)
    file = place.sync.files.create(file=("boxing.txt", content), purpose="user_data")
    assert file.id.startswith("file-")
    assert (file.filename, file.bytes, file.purpose) == ("boxing.txt", len(content), "user_data")
    assert file.expires_at is None
    assert abs(file.created_at - before.timestamp()) < 60
    assert file.status in ("uploaded", "processed")
    ready = place.sync.files.wait_for_processing(file.id, poll_interval=SOON)
    assert (ready.status, ready.status_details) == ("processed", None)
    assert place.sync.files.retrieve(file.id) == ready
    assert place.sync.files.content(file.id).read() == content
    with pytest.deprecated_call():
        assert place.sync.files.retrieve_content(file.id) == content.decode()


def test_a_file_can_be_a_path(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "on disk.md"
    path.write_text(prose(50))
    assert sent(place.sync, "x.md", "x").filename == "x.md"
    file = place.sync.files.create(file=path, purpose="assistants")
    assert (file.filename, file.bytes) == ("on disk.md", path.stat().st_size)


def test_the_same_name_twice_is_two_files(place: Place) -> None:
    one, other = (sent(place.sync, "twice.md", text) for text in ("The first.", "The second."))
    again = sent(place.sync, "twice.md", "The second.")
    assert len({one.id, other.id, again.id}) == 3
    assert [it.filename for it in (one, other, again)] == ["twice.md"] * 3
    texts = [place.sync.files.content(it.id).text for it in (one, other, again)]
    assert texts == ["The first.", "The second.", "The second."]


def test_a_long_list_comes_page_by_page(place: Place) -> None:
    made = [sent(place.sync, f"listed {at}.md", f"Number {at}.").id for at in range(5)]
    newest = [it.id for it in place.sync.files.list(limit=2)]
    assert newest[:5] == made[::-1]
    assert len(newest) == len(set(newest)) == len(place.sync.files.list().data)
    oldest = [it.id for it in place.sync.files.list(limit=2, order="asc")]
    assert oldest == newest[::-1]
    page = place.sync.files.list(limit=2, after=made[4])
    assert [it.id for it in page.data] == [made[3], made[2]]
    assert page.has_more
    back = place.sync.files.list(limit=2, extra_query={"before": made[1]})
    assert [it.id for it in back.data] == [made[3], made[2]]


def test_a_list_may_be_of_one_purpose(place: Place) -> None:
    place.sync.files.create(file=("tuned.jsonl", b'{"a": 1}'), purpose="fine-tune")
    assert {it.filename for it in place.sync.files.list(purpose="fine-tune")} == {"tuned.jsonl"}
    assert not place.sync.files.list(purpose="vision").data


def test_a_file_is_a_document_of_the_page_and_the_other_way_round(place: Place) -> None:
    page = place.house["local"]
    file = sent(place.sync, "from the client.md", prose(50))
    document = file.id.removeprefix("file-")
    assert page.get(f"/api/documents/{document}").json()["name"] == "from the client.md"
    assert document in {it["id"] for it in page.get("/api/documents").json()["documents"]}
    theirs = add(page, "from the page.md", "Written on the page.", folder="Notes")
    found = place.sync.files.retrieve(f"file-{theirs}")
    assert (found.filename, found.purpose, found.status) == (
        "from the page.md",
        "assistants",
        "processed",
    )
    assert place.sync.files.content(found.id).text == "Written on the page."
    assert place.sync.files.delete(found.id).deleted
    assert page.get(f"/api/documents/{theirs}").status_code == 404
    assert page.delete(f"/api/documents/{document}").status_code == 200
    with pytest.raises(NotFoundError):
        place.sync.files.retrieve(file.id)


def test_what_is_deleted_is_gone(place: Place) -> None:
    file = sent(place.sync, "gone.md", "Soon gone.")
    gone = place.sync.files.delete(file.id)
    assert (gone.id, gone.object, gone.deleted) == (file.id, "file", True)
    for ask in (place.sync.files.retrieve, place.sync.files.delete, place.sync.files.content):
        with pytest.raises(NotFoundError) as caught:
            ask(file.id)
        assert caught.value.type == "invalid_request_error"
        assert file.id in caught.value.message
    assert file.id not in {it.id for it in place.sync.files.list()}


def test_a_file_that_cannot_be_read_says_why_and_is_kept(place: Place) -> None:
    file = sent(place.sync, "broken.pdf", BROKEN)
    assert file.status == "error"
    assert file.status_details
    assert place.sync.files.content(file.id).read() == BROKEN


def test_a_file_may_be_larger_than_other_requests(place: Place) -> None:
    large = b"\x00\x01" * 3_000_000
    assert len(large) > Options().max_body
    file = place.sync.files.create(file=("large.bin", large), purpose="user_data")
    assert file.bytes == len(large)
    assert place.sync.files.content(file.id).read() == large
    through_azure = httpx2.post(
        place.url.replace("/v1", "/openai/files"),
        data={"purpose": "user_data"},
        files={"file": ("large.bin", large)},
        timeout=60,
    )
    assert through_azure.json()["bytes"] == len(large)


def test_a_file_that_is_too_large_is_refused_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    options = Options(max_upload=1_000, upload_folder=uploads)
    with placed(tmp_path, options=options) as place:
        with pytest.raises(APIStatusError) as caught:
            place.sync.files.create(file=("large.md", b"x" * 1_001), purpose="assistants")
        assert (caught.value.status_code, caught.value.code) == (413, "too_big")
        assert not place.sync.files.list().data
        assert not list(uploads.iterdir())


def test_a_file_may_have_an_end(place: Place) -> None:
    file = sent(place.sync, "for an hour.md", "Not for long.", HOUR)
    assert file.expires_at == file.created_at + HOUR
    stores = place.house.served.app.state.house.engine.stores
    later = datetime.now(UTC) + timedelta(seconds=HOUR + 5)
    assert place.house.served.inside(lambda: stores.sweep(later)) == 1
    with pytest.raises(NotFoundError):
        place.sync.files.retrieve(file.id)
    documents = place.house["local"].get("/api/documents").json()["documents"]
    assert "for an hour.md" not in {it["name"] for it in documents}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "purpose"),
        ({"purpose": "world domination"}, "purpose"),
        ({"purpose": ["assistants", "vision"]}, None),
        ({"purpose": "assistants", "expires_after[seconds]": "3600"}, "expires_after.anchor"),
        (
            {"purpose": "assistants", "expires_after[anchor]": "created_at"},
            "expires_after.seconds",
        ),
        *(
            (
                {
                    "purpose": "assistants",
                    "expires_after[anchor]": "created_at",
                    "expires_after[seconds]": seconds,
                },
                "expires_after.seconds",
            )
            for seconds in ("1", "-3600", "1e9", "٣٦٠٠", "9" * 300)
        ),
    ],
)
def test_a_form_that_makes_no_sense_names_the_field(
    place: Place, fields: dict[str, str], param: str | None
) -> None:
    reply = httpx2.post(f"{place.url}/files", data=fields, files={"file": ("a.md", b"x")})
    if param is None:
        # The last one holds, as for a browser's forms.
        assert reply.status_code == 200
        return
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../escaped.md", "escaped.md"),
        ("/etc/passwd", "passwd"),
        ("a/..", "file"),
        ("a\\..\\boot.ini", "boot.ini"),
        (" ", "file"),
    ],
)
def test_a_name_that_leads_elsewhere_is_a_label_and_no_path(
    place: Place, name: str, shown: str
) -> None:
    file = place.sync.files.create(file=(name, b"text"), purpose="assistants")
    page = place.house["local"]
    document = page.get(f"/api/documents/{file.id.removeprefix('file-')}").json()
    assert document["name"].removesuffix(" (2)") == shown
    # A name that says nothing is none.
    assert file.filename == (name if name.strip() else document["name"])
    saved = place.sync.files.content(file.id).response.headers["content-disposition"]
    assert ".." not in saved
    assert "/" not in saved


def test_a_name_that_is_too_long_is_refused(place: Place) -> None:
    with pytest.raises(BadRequestError) as caught:
        place.sync.files.create(file=("n" * 2_000, b"text"), purpose="assistants")
    assert caught.value.param == "file"


def test_half_a_form_is_refused_and_nothing_of_it_is_kept(place: Place) -> None:
    head = {"Content-Type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx'
    for body in (part, b"", b"nonsense", part + b"\r\n--b--\r\n"):
        reply = httpx2.post(f"{place.url}/files", headers=head, content=body)
        assert reply.status_code == 400, body
        assert reply.json()["error"]["type"] == "invalid_request_error"
    reply = httpx2.post(f"{place.url}/files", json={"purpose": "assistants"})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, None)


@pytest.mark.parametrize(
    "file", ["file-", "file-never", "never", "file-..%2F..", "file-%00", "f" * 999]
)
def test_a_file_that_never_was_is_not_there(place: Place, file: str) -> None:
    for way in (f"files/{file}", f"files/{file}/content"):
        reply = httpx2.get(f"{place.url}/{way}")
        assert reply.status_code == 404, reply.text
        assert reply.json()["error"]["type"] == "invalid_request_error"


def test_every_method_is_there_for_async_clients(place: Place) -> None:
    async def work(client: AsyncOpenAI) -> tuple[FileObject, list[str]]:
        made = [
            await client.files.create(file=(f"async {at}.md", b"Async."), purpose="assistants")
            for at in range(3)
        ]
        ready = [await client.files.wait_for_processing(it.id, poll_interval=SOON) for it in made]
        assert [await client.files.retrieve(it.id) for it in made] == ready
        assert (await client.files.content(made[0].id)).read() == b"Async."
        listed = [it.id async for it in client.files.list(limit=2)]
        assert listed[:3] == [it.id for it in reversed(made)]
        assert (await client.files.delete(made[0].id)).deleted
        with pytest.raises(NotFoundError):
            await client.files.retrieve(made[0].id)
        return ready[0], listed

    ready, listed = place.alone(work)
    assert ready.status == "processed"
    assert ready.id in listed
