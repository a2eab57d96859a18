"""Every route there is, from the application's own list: closed to all but its owner.

Whoever adds a route need not think of this file, unless the route is meant to be open, or has an
id in its path of a kind that is not known here: then a test says so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server.doors import Door, with_library
from server.scripted import Scripted, Served, parsed
from unchunk.server.app import create_app
from unchunk.server.options import Options
from unchunk.server.shielding import HEADERS

# All that may be seen without a key.
OPEN = {
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/favicon.ico"),
    ("HEAD", "/favicon.ico"),
    ("GET", "/page/{name}"),
    ("HEAD", "/page/{name}"),
    ("GET", "/health"),
    ("GET", "/api/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/api/session"),
    ("POST", "/api/session"),
    ("DELETE", "/api/session"),
}
# What stands in a path and is nobody's.
NO_IDS = {"/page/{name}", "/api/beside/{call}"}
# What a route wants beside an id, so that it is the id that is looked at.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/api/conversations/{conversation}"): {"json": {"title": "Mine now"}},
    ("GET", "/api/documents/{document}/pages/{page}/marks"): {"params": {"start": 0, "end": 9}},
    ("POST", "/v1/vector_stores/{store}"): {"json": {"name": "Mine now"}},
    ("POST", "/v1/vector_stores/{store}/search"): {"json": {"query": "tide tables"}},
    ("POST", "/v1/vector_stores/{store}/files"): {"json": {"file_id": "file-1"}},
    ("POST", "/v1/vector_stores/{store}/files/{file}"): {"json": {"attributes": {"mine": True}}},
    ("POST", "/v1/vector_stores/{store}/file_batches"): {"json": {"file_ids": ["file-1"]}},
}
# Under OpenAI's API, errors are called as it calls them.
REFUSALS = {
    False: ("type", "key-needed", "wrong-key"),
    True: ("code", "key_needed", "invalid_api_key"),
}
NEVER = {
    "document": "0123456789abcdef",
    "file": "file-0123456789abcdef",
    "store": "vs_fedcba9876543210",
    "batch": "vsfb_89abcdef01234567",
    "model": "unchunk/vs_fedcba9876543210",
    "response": "resp_0f1e2d3c4b5a6978",
    "conversation": "0123456789abcdef",
    "stream": "A" * 20,
    "job": "A" * 16,
    "page": "1",
    "number": "1",
}
TEXT = "The harbour master of Skagen keeps the tide tables in a blue box. " * 40


@dataclass(frozen=True)
class Way:
    method: str
    path: str

    @property
    def ids(self) -> list[str]:
        return re.findall(r"\{(\w+)(?::\w+)?\}", self.path)

    def filled(self, ids: dict[str, str]) -> str:
        return re.sub(r"\{(\w+)(?::\w+)?\}", lambda it: ids.get(it[1], "x"), self.path)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def ways() -> list[Way]:
    app = create_app(Scripted().engine)
    found = []
    for route in iter_route_contexts(app.routes):
        methods = sorted(route.methods or ["WEBSOCKET"])
        # What is mounted whole has no list of methods: it is tried by a few.
        if not hasattr(route.original_route, "endpoint"):
            methods = ["GET", "POST", "DELETE"]
        found += [Way(method, route.path or "/") for method in methods]
    return found


WAYS = ways()


@dataclass(frozen=True)
class Place:
    """A real library that two owners may use; `ids` are those of Anna's things."""

    door: Door
    ids: dict[str, str]

    @property
    def served(self) -> Served:
        return self.door.served

    def client(self, who: str = "", **headers: str) -> httpx2.Client:
        return self.door.client({"anna": "local", "ben": "other"}.get(who, who), **headers)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    options = Options(require_keys=True, rate_limit=0, sign_in_limit=0, kept_seconds=3600)
    with with_library(tmp_path_factory.mktemp("place"), options) as door:
        place = Place(door, {})
        with place.client("anna") as anna:
            _fill(place, anna)
        yield place


def _fill(place: Place, anna: httpx2.Client) -> None:
    sent = anna.post("/api/documents", files={"file": ("secret.md", TEXT.encode())})
    assert sent.status_code == 200, sent.text
    place.ids["document"] = sent.json()["document_id"]
    question = {"message": "Where are the tide tables?", "conversation": "new"}
    said = parsed(anna.post("/api/chat/stream", json=question).text)
    place.ids["stream"] = said[-1].id.partition(":")[0]
    [kept] = anna.get("/api/conversations").json()["conversations"]
    place.ids["conversation"] = kept["id"]
    begun = anna.post(f"/api/documents/{place.ids['document']}/reindex")
    assert begun.status_code == 202, begun.text
    place.ids["job"] = begun.json()["job"]["id"]
    file = f"file-{place.ids['document']}"
    store = anna.post("/v1/vector_stores", json={"name": "Tides"}).json()["id"]
    batch = anna.post(f"/v1/vector_stores/{store}/file_batches", json={"file_ids": [file]})
    place.ids.update(file=file, store=store, batch=batch.json()["id"])
    asked = {"model": "unchunk", "input": "Where are the tide tables?"}
    response = anna.post("/v1/responses", json=asked).json()["id"]
    place.ids.update(response=response, model=f"unchunk/{store}")
    place.ids.update(page="1", number="1")


def test_the_list_of_routes_is_all_of_them() -> None:
    """What is found by walking is what the application describes, and more."""
    described = create_app(Scripted().engine).openapi()["paths"]
    listed = {(one.method.lower(), re.sub(r":\w+\}", "}", one.path)) for one in WAYS}
    assert {(method, path) for path, it in described.items() for method in it} <= listed
    assert ("websocket", "/api/chat/ws") in listed
    assert {(one.method, one.path) for one in WAYS} >= OPEN
    assert len(WAYS) > 40


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_route_is_closed_without_a_key_unless_it_is_named_here(place: Place, way: Way) -> None:
    if way.method == "WEBSOCKET":
        url = place.served.url.replace("http", "ws") + way.filled(place.ids)
        with pytest.raises(InvalidStatus) as refused, connect(url, open_timeout=30):
            pass
        assert refused.value.response.status_code == 401
        return
    with place.client() as nobody:
        reply = nobody.request(way.method, way.filled(place.ids))
        wrong = nobody.request(way.method, way.filled(place.ids), headers={"X-API-Key": "x"})
    if (way.method, way.path) in OPEN:
        assert reply.status_code in (200, 204, 404, 422)
        return
    assert reply.status_code == wrong.status_code == 401
    if way.method != "HEAD":
        name, needed, refused_as = REFUSALS[way.path.startswith("/v1/")]
        assert reply.json()["error"][name] == needed
        assert wrong.json()["error"][name] == refused_as


@pytest.mark.parametrize("way", [one for one in WAYS if one.method != "WEBSOCKET"], ids=str)
def test_a_key_for_figures_opens_the_figures_alone(place: Place, way: Way) -> None:
    with place.client("figures") as figures:
        status = figures.request(way.method, way.filled(place.ids)).status_code
    if way.path == "/metrics":
        assert status == 200
    elif (way.method, way.path) not in OPEN:
        assert status == 403


@pytest.mark.parametrize("way", [one for one in WAYS if one.method != "WEBSOCKET"], ids=str)
def test_every_reply_is_shielded(place: Place, way: Way) -> None:
    with place.client(Origin="http://evil.example") as nobody:
        reply = nobody.request(way.method, way.filled(NEVER))
        options = nobody.request("OPTIONS", way.filled(NEVER))
    for one in (reply, options):
        assert {name.lower() for name in HEADERS} <= set(one.headers), one.headers
        assert one.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in one.headers["content-security-policy"]
        assert not [name for name in one.headers if name.startswith("access-control")]
        assert "strict-transport-security" not in one.headers


WITH_IDS = [one for one in WAYS if one.ids and one.path not in NO_IDS]


def test_ids_of_all_kinds_are_known_here(place: Place) -> None:
    kinds = {name for way in WITH_IDS for name in way.ids}
    assert kinds <= set(place.ids), "say here how a thing of this kind is made, for Anna"
    assert kinds <= set(NEVER)
    assert len(WITH_IDS) > 10


@pytest.mark.parametrize("way", WITH_IDS, ids=str)
def test_what_is_anothers_is_not_there_exactly_as_what_never_was(place: Place, way: Way) -> None:
    beside = BESIDE.get((way.method, way.path), {})
    with place.client("ben") as ben:
        theirs = ben.request(way.method, way.filled(place.ids), **beside)
        never = ben.request(way.method, way.filled(NEVER), **beside)
    assert theirs.status_code == never.status_code == 404
    assert without_ids(theirs, place.ids) == without_ids(never, NEVER)
    assert sorted(theirs.headers) == sorted(never.headers)
    # And it is still there for Anna, as it was.
    with place.client("anna") as anna:
        assert anna.get(f"/api/documents/{place.ids['document']}/text").json()["text"] == TEXT
        talk = anna.get(f"/api/conversations/{place.ids['conversation']}").json()
        assert talk["title"] != "Mine now"
        assert anna.get(f"/api/jobs/{place.ids['job']}").status_code == 200
        store = anna.get(f"/v1/vector_stores/{place.ids['store']}").json()
        assert (store["name"], store["file_counts"]["total"]) == ("Tides", 1)
        assert anna.get(f"/api/chat/stream/{place.ids['stream']}").status_code == 200


def without_ids(reply: httpx2.Response, ids: dict[str, str]) -> str:
    text = reply.text
    for name in (*ids.values(), reply.headers["x-request-id"]):
        if len(name) > 1:
            text = text.replace(name, "ID")
    return text


def test_lists_and_counts_have_nothing_of_anothers(place: Place) -> None:
    lists = [one for one in WAYS if one.method == "GET" and not one.ids and one.path != "/"]
    seen = 0
    with place.client("ben") as ben, place.client("anna") as anna:
        for way in lists:
            if (way.method, way.path) in OPEN or way.path == "/metrics":
                continue
            mine = anna.get(way.path).text
            others = ben.get(way.path).text
            for name in ("document", "conversation", "job", "stream"):
                assert place.ids[name] not in others, way
                seen += place.ids[name] in mine
            assert "secret.md" not in others
        counts = ben.get("/api/status").json()["library"]
        assert counts["documents"] == 0
    # Anna does see hers, so the test looks at the right thing.
    assert seen >= 3


Sent = dict[str, Any]


def asking(place: Place) -> Iterator[tuple[str, str, Sent, Sent]]:
    """Requests that name an id elsewhere than in the path: of Anna's thing, and of none."""
    document = (place.ids["document"], NEVER["document"])
    talk = (place.ids["conversation"], NEVER["conversation"])
    stream = (place.ids["stream"], NEVER["stream"])
    question = {"message": "Where are the tide tables?"}

    def bodies(path: str, *given: Sent) -> tuple[str, str, Sent, Sent]:
        theirs, never = ({"json": one} for one in given)
        return "POST", path, theirs, never

    for path in ("/api/chat", "/api/retrieve"):
        yield bodies(path, *({**question, "documents": [one]} for one in document))
        yield bodies(path, *({**question, "names": [one]} for one in ("secret.md", "nothing.md")))
        yield bodies(path, *({**question, "conversation": one} for one in talk))
        chunk = {"first_chunk": 0, "last_chunk": 0}
        yield bodies(
            path, *({**question, "include": [{"document": one, **chunk}]} for one in document)
        )
    for path in ("/search", "/api/search"):
        query = {"query": "tide tables"}
        yield bodies(path, *({**query, "filters": {"document_id": one}} for one in document))
    before: list[Sent] = [{"params": {"before": one}} for one in talk]
    yield "GET", "/api/conversations", before[0], before[1]
    last: list[Sent] = [{"headers": {"Last-Event-ID": f"{one}:1"}} for one in stream]
    yield "POST", "/api/chat/stream", last[0], last[1]


def test_an_id_of_anothers_in_a_body_or_a_query_tells_nothing(place: Place) -> None:
    with place.client("ben") as ben:
        for method, path, theirs, never in asking(place):
            one = ben.request(method, path, **theirs)
            other = ben.request(method, path, **never)
            assert one.status_code == other.status_code, (path, theirs, one.text, other.text)
            assert "tide tables in a blue box" not in one.text
            told = plain(one, {**place.ids, "name": "secret.md"})
            assert told == plain(other, {**NEVER, "name": "nothing.md"}), (path, theirs)


def plain(reply: httpx2.Response, ids: dict[str, str]) -> str:
    return re.sub(r'"took_ms":[\d.e-]+', "", without_ids(reply, ids))


def test_an_agent_sees_only_what_its_key_opens(place: Place) -> None:
    def call(owner: str, document: str) -> str:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_document", "arguments": {"document": document}},
        }
        headers = {"Accept": "application/json, text/event-stream"}
        with place.client(owner) as client:
            reply = client.post("/mcp", json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.text

    assert "blue box" in call("anna", place.ids["document"])
    for document in (place.ids["document"], "secret.md"):
        told = call("ben", document)
        assert "blue box" not in told
        never = call("ben", NEVER["document"])
        assert told.replace(document, "ID") == never.replace(NEVER["document"], "ID")
