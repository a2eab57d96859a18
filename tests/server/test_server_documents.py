"""The documents of a library over HTTP: listed, filtered, in folders, deleted; and hostile files."""

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server.houses import House, add, ended, error, house, later, send
from server.scripted import eventually
from unchunk.adapters.catalog import lookups
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.text.tokens import get_encoding

TIDES = "# Tides\n\nThe tide comes in twice a day.\n\n" + "Salt water rises over the sand. " * 60
HOSTILE = [
    "<script>alert(1)</script>.txt",
    '"><img src=x onerror=alert(1)>.txt',
    "a; filename=evil.html.txt",
    "C:\\Users\\me\\secret.txt",
    "sub/folder/file.txt",
    "\u202egnp.txt",
    "𝕊𝕡𝕒𝕔𝕖 \u2028 and more.txt",
    "%2e%2e%2fetc%2fpasswd.txt",
    "x" * 990 + ".txt",
    ".hidden",
    "'; DROP TABLE documents; --.txt",
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with house(tmp_path) as it:
        yield it["local"]


def names(client: httpx2.Client, **query: str | int) -> tuple[list[str], int]:
    reply = client.get("/api/documents", params=query)
    assert reply.status_code == 200, reply.text
    body = reply.json()
    return [one["name"] for one in body["documents"]], body["total"]


def test_documents_are_listed_by_folder_state_and_part_of_the_name(client: httpx2.Client) -> None:
    for at in range(5):
        add(client, f"Übung {at}.txt", f"{at} {TIDES}", folder="school")
    add(client, "tides.md", TIDES)
    send(client, "empty.txt", b"", folder="school")
    assert names(client) == (
        ["empty.txt", "tides.md", *(f"Übung {at}.txt" for at in (4, 3, 2, 1, 0))],
        7,
    )
    assert names(client, folder="school")[1] == 6
    assert names(client, folder="") == (["tides.md"], 1)
    assert names(client, folder="none") == ([], 0)
    assert names(client, state="failed") == (["empty.txt"], 1)
    assert names(client, state="pending") == ([], 0)
    assert names(client, state="live", folder="school")[1] == 5
    # In any case, also where a database would not know it.
    assert names(client, q="üBUNG")[1] == 5
    assert names(client, q="T") == (["empty.txt", "tides.md", *names(client, q="ü")[0]], 7)
    assert names(client, q="3", folder="school") == (["Übung 3.txt"], 1)
    # Some at a time, with the number of all.
    assert names(client, limit=2, offset=1) == (["tides.md", "Übung 4.txt"], 7)
    assert names(client, limit=2, offset=1, q="übung") == (["Übung 3.txt", "Übung 2.txt"], 5)
    assert names(client, offset=100) == ([], 7)


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "offset=-1", "state=gone", f"q={'x' * 1001}"],
)
def test_a_list_that_cannot_be_is_refused(client: httpx2.Client, query: str) -> None:
    assert error(client.get(f"/api/documents?{query}")) == (422, "malformed")


def test_the_list_reads_no_text(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(3):
        add(client, f"{at}.txt", f"{at} {TIDES}")

    def no_text(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(lookups, "text", no_text)
    rows = client.get("/api/documents").json()["documents"]
    counted = [get_encoding("cl100k_base").count(f"{at} {TIDES}") for at in (2, 1, 0)]
    assert [one["total_tokens"] for one in rows] == counted


def test_folders_are_counted_and_deleted_with_receipts(client: httpx2.Client) -> None:
    kept = add(client, "a.txt", TIDES)
    add(client, "a.txt", TIDES, folder="one/two")
    add(client, "b.txt", f"b {TIDES}", folder="one/two")
    send(client, "c.txt", b"", folder="one/two")
    folders = {one.pop("folder"): one for one in client.get("/api/folders").json()["folders"]}
    assert folders == {
        "": {"documents": 1, "pending": 0, "failed": 0, "sample": False},
        "one/two": {"documents": 3, "pending": 0, "failed": 1, "sample": False},
    }
    gone = client.delete("/api/folders", params={"folder": "one/two"}).json()
    assert (gone["deleted"], gone["clean"]) == (3, True)
    assert {one["name"] for one in gone["receipts"]} == {"a.txt", "b.txt", "c.txt"}
    for receipt in gone["receipts"]:
        left = {receipt[it] for it in ("vectors", "blobs", "cached", "catalog")}
        assert (left, receipt["problem"], receipt["clean"]) == ({0}, "", True)
    assert [one["id"] for one in client.get("/api/documents").json()["documents"]] == [kept]
    again = client.delete("/api/folders", params={"folder": "one/two"}).json()
    assert again == {"deleted": 0, "clean": True, "receipts": []}
    # What stands in no folder is not deleted by leaving something out.
    assert client.delete("/api/folders").status_code == 422
    assert client.delete("/api/folders?folder=").status_code == 422
    assert names(client)[1] == 1


def test_a_folder_that_cannot_be_is_refused(client: httpx2.Client) -> None:
    for folder in ("../up", "/root", "a\x01b", "x" * 1001):
        for wait in ("true", "false"):
            reply = send(client, "a.txt", TIDES, folder=folder, wait=wait)
            assert error(reply) == (400, "invalid"), folder
    assert names(client) == ([], 0)


def send_as_it_is(client: httpx2.Client, name: str, wait: str = "true") -> httpx2.Response:
    """A well-behaved client escapes more than what would end the header."""
    sent = name.replace("\\", "\\\\").replace('"', '\\"').encode()
    body = (
        b'--b\r\nContent-Disposition: form-data; name="wait"\r\n\r\n' + wait.encode() + b"\r\n"
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="' + sent + b'"\r\n\r\n'
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    content = body + TIDES.encode() + b"\r\n--b--\r\n"
    return client.post("/api/documents", content=content, headers=headers)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_in_as_labels_and_go_out_harmless(
    client: httpx2.Client, name: str
) -> None:
    reply = send_as_it_is(client, name)
    assert reply.status_code == 200, reply.text
    [row] = client.get("/api/documents").json()["documents"]
    assert row["name"] in {name, name.rpartition("\\")[2]}
    assert reply.headers["content-type"] == "application/json"
    original = client.get(f"/api/documents/{row['id']}/original")
    assert original.content == TIDES.encode()
    said = original.headers["content-disposition"]
    assert said.startswith('attachment; filename="')
    assert said.isascii()
    assert not {"\r", "\n", "<", ">", "/", "\\"} & set(said)
    assert said.count('"') == 2
    assert client.delete(f"/api/documents/{row['id']}").json()["receipt"]["clean"] is True


@pytest.mark.parametrize("wait", ["true", "false"])
@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\evil", "/etc/passwd", "a\tb.txt", "\x7f.txt", " ", "x" * 1001],
)
def test_names_that_lead_elsewhere_or_hide_are_refused(
    client: httpx2.Client, name: str, wait: str
) -> None:
    assert error(send_as_it_is(client, name, wait=wait)) == (400, "invalid")
    assert names(client) == ([], 0)


def test_a_header_cannot_be_smuggled_in_with_a_name(client: httpx2.Client) -> None:
    """A line end in a name ends the part's header: what follows is a header of that part."""
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
        b"Set-Cookie: evil=1\r\n\r\n" + TIDES.encode() + b"\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    document = client.post("/api/documents", content=body, headers=headers).json()["document_id"]
    original = client.get(f"/api/documents/{document}/original")
    assert "set-cookie" not in original.headers
    assert "evil" not in original.headers["content-disposition"]


@pytest.mark.parametrize("wait", ["true", "false"])
def test_a_file_without_bytes_fails_with_its_reason(client: httpx2.Client, wait: str) -> None:
    reply = send(client, "empty.txt", b"", wait=wait)
    if wait == "true":
        assert error(reply) == (422, "empty")
    else:
        job = ended(client, reply.json()["job"]["id"])
        assert (job["state"], job["result"], job["error_code"]) == ("failed", "failed", "empty")
    [row] = client.get("/api/documents?state=failed").json()["documents"]
    assert (row["name"], row["error_code"]) == ("empty.txt", "empty")


@pytest.mark.parametrize("wait", ["true", "false"])
def test_a_file_that_is_too_large_is_refused(tmp_path: Path, wait: str) -> None:
    uploads = tmp_path / "uploads"
    options = Options(max_upload=10_000, upload_folder=uploads)
    with house(tmp_path, options=options) as it:
        assert error(send(it["local"], "a.txt", "x" * 10_001, wait=wait)) == (413, "too-big")
        assert names(it["local"]) == ([], 0)


@pytest.mark.parametrize("wait", ["maybe", "2"])
def test_a_switch_that_is_none_is_refused(client: httpx2.Client, wait: str) -> None:
    assert error(send(client, "a.txt", TIDES, wait=wait)) == (400, "invalid")


def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        host, port = it.served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(
                f"POST /api/documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 90000\r\n"
                "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
                'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nso'.encode()
            )
            eventually(lambda: bool(list((tmp_path / "uploads").iterdir())))
        eventually(lambda: not list((tmp_path / "uploads").iterdir()))
        assert names(it["local"]) == ([], 0)
        assert it["local"].get("/api/jobs").json() == {"jobs": []}


def test_of_uploads_that_race_for_one_name_each_is_told_what_became_of_it(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client = it["local"]

        def one(at: int) -> httpx2.Response:
            return send(client, "a.txt", f"{at} {TIDES}", wait="true" if at % 2 else "false")

        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(one, range(8)))
        for reply in replies:
            assert reply.status_code in (200, 202, 409), reply.text
            if reply.status_code == 409:
                assert reply.json()["error"]["type"] == "overtaken"
        jobs = [reply.json()["job"]["id"] for reply in replies if reply.status_code == 202]
        for job in jobs:
            assert ended(client, job)["error_code"] in ("", "overtaken")
        [row] = client.get("/api/documents").json()["documents"]
        assert row["state"] == "live"
        text = client.get(f"/api/documents/{row['id']}/text").json()["text"]
        assert text in {f"{at} {TIDES}".rstrip() for at in range(8)} | {
            f"{at} {TIDES}" for at in range(8)
        }

        async def healthy() -> bool:
            engine: Engine = it.served.app.state.house.engine
            return (await engine.doctor()).healthy

        assert it.served.inside(healthy)


ROUTES: list[tuple[str, str]] = [
    ("GET", "/documents/{}"),
    ("DELETE", "/documents/{}"),
    ("GET", "/api/documents/{}"),
    ("DELETE", "/api/documents/{}"),
    ("GET", "/api/documents/{}/outline"),
    ("GET", "/api/documents/{}/text"),
    ("GET", "/api/documents/{}/text?format=plain"),
    ("GET", "/api/documents/{}/chunks"),
    ("GET", "/api/documents/{}/original"),
    ("GET", "/api/documents/{}/pages/1"),
    ("GET", "/api/documents/{}/pages/1/marks?start=0&end=9"),
    ("POST", "/api/documents/{}/retry"),
    ("POST", "/api/documents/{}/reindex"),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("two"), "ann", "bob") as it:
        yield it


def without_its_id(reply: httpx2.Response, document: str) -> str:
    name = reply.json()["error"]["request_id"]
    return reply.text.replace(document, "ID").replace(name, "NAME")


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_another_owners_document_is_not_there(two: House, method: str, path: str) -> None:
    document = add(two["ann"], "secret.txt", TIDES)
    theirs = two["bob"].request(method, path.format(document))
    never = two["bob"].request(method, path.format("0" * 16))
    assert theirs.status_code == never.status_code == 404
    assert "secret" not in theirs.text
    # Not even a hint that there is one.
    assert without_its_id(theirs, document) == without_its_id(never, "0" * 16)
    assert two["ann"].get(f"/api/documents/{document}").status_code == 200


def test_another_owners_jobs_and_folders_are_not_there(two: House) -> None:
    ann, bob = two["ann"], two["bob"]
    job = later(ann, "job.txt", f"job {TIDES}", folder="mine")
    assert ended(ann, job["id"])["result"] == "added"
    assert error(bob.get(f"/api/jobs/{job['id']}")) == (404, "not-found")
    assert bob.get("/api/jobs").json() == {"jobs": []}
    assert bob.get("/api/folders").json() == {"folders": []}
    assert bob.delete("/api/folders?folder=mine").json()["deleted"] == 0
    assert names(ann, folder="mine") == (["job.txt"], 1)
    # The same name and bytes are another document.
    document = add(bob, "job.txt", f"job {TIDES}", folder="mine")
    assert document != job["document_id"]
    assert bob.delete("/api/folders?folder=mine").json()["deleted"] == 1
    assert names(ann, folder="mine") == (["job.txt"], 1)


def test_nobody_without_a_key_gets_anything(two: House) -> None:
    document = add(two["ann"], "secret.txt", TIDES)
    more = [("GET", "/api/folders"), ("DELETE", "/api/folders?folder=a"), ("GET", "/api/jobs")]
    with httpx2.Client(base_url=two.served.url) as nobody:
        for method, path in (*ROUTES, *more):
            assert error(nobody.request(method, path.format(document))) == (401, "key-needed")


def test_texts_from_before_tokens_were_kept_are_counted_by_and_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncounted(_: str) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr("unchunk.library.writing.count_tokens", uncounted)
        with house(tmp_path) as it:
            document = add(it["local"], "tides.md", TIDES)
            assert it["local"].get(f"/api/documents/{document}").json()["total_tokens"] == 0
    with house(tmp_path) as it:
        client = it["local"]

        def tokens() -> object:
            return client.get(f"/api/documents/{document}").json()["total_tokens"]

        eventually(lambda: bool(tokens()))
        assert tokens() == get_encoding("cl100k_base").count(TIDES)


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unchunk.adapters.blobs.folder import FolderBlobs
    from unchunk.errors import OutputError

    async def full(*_: object) -> None:
        await asyncio.sleep(0)
        raise OutputError("no space left to keep it: free some")

    with house(tmp_path) as it:
        client = it["local"]
        with monkeypatch.context() as patch:
            patch.setattr(FolderBlobs, "put", full)
            for wait in ("true", "false"):
                reply = send(client, f"{wait}.txt", f"{wait} {TIDES}", wait=wait)
                assert error(reply) == (507, "not-written")
        # Nothing was promised, and nothing stands in the way of sending it again.
        for wait in ("true", "false"):
            assert add(client, f"{wait}.txt", f"{wait} {TIDES}")
        assert names(client, state="live")[1] == 2


@pytest.mark.parametrize("wait", ["true", "false"])
def test_an_upload_whose_document_is_deleted_meanwhile_was_overtaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    def deleting(name: str) -> None:
        take = getattr(Engine, name)

        async def taking(self: Engine, *given: Any, **more: Any) -> object:  # noqa: ANN401 - as it is
            outcome = await take(self, *given, **more)
            await self.delete(outcome.document, owner=more["owner"])
            return outcome

        monkeypatch.setattr(Engine, name, taking)

    for name in ("add_file", "keep_file"):
        deleting(name)
    with house(tmp_path) as it:
        assert error(send(it["local"], "a.txt", "Some text.", wait=wait)) == (409, "overtaken")
        assert it["local"].get("/api/jobs").json() == {"jobs": []}
