"""What goes wrong, as the official client raises it: whoever refused, and wherever."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    OpenAI,
    PermissionDeniedError,
    RateLimitError,
)

from server.doors import with_library
from server.openai_sdk.clients import PATIENCE, Place, placed, prose, sent
from unchunk.errors import ProviderUnavailableError
from unchunk.server.options import Options

SHAPE = {"message", "type", "param", "code"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("faults")) as place:
        yield place


@pytest.fixture(scope="module")
def store(place: Place) -> str:
    return place.sync.vector_stores.create(name="Faults").id


@pytest.fixture(scope="module")
def file(place: Place) -> str:
    return sent(place.sync, "fault.md", prose(50)).id


def raised(kind: type[APIStatusError], ask: Callable[[], object]) -> APIStatusError:
    """The error, after a look at all that it should say."""
    with pytest.raises(kind) as caught:
        ask()
    error = caught.value
    assert isinstance(error.body, dict)
    assert set(error.body) == SHAPE
    assert error.body["message"]
    assert error.request_id
    return error


def test_what_is_not_there_is_not_found(place: Place, store: str, file: str) -> None:
    client = place.sync
    stores, members = client.vector_stores, client.vector_stores.files
    never = "vs_0123456789"
    asks: list[Callable[[], object]] = [
        lambda: client.files.retrieve("file-0123456789"),
        lambda: client.files.delete("file-0123456789"),
        lambda: client.files.content("file-0123456789"),
        lambda: stores.retrieve(never),
        lambda: stores.update(never, name="x"),
        lambda: stores.delete(never),
        lambda: stores.search(never, query="x"),
        lambda: members.create(never, file_id=file),
        lambda: members.create(store, file_id="file-0123456789"),
        lambda: members.create(store, file_id="0123456789"),
        lambda: members.list(never),
        lambda: members.retrieve(file, vector_store_id=store),
        lambda: members.update(file, vector_store_id=store, attributes={}),
        lambda: members.delete(file, vector_store_id=store),
        lambda: members.content(file, vector_store_id=store),
        lambda: stores.file_batches.create(never, file_ids=[file]),
    ]
    for ask in asks:
        assert raised(NotFoundError, ask).type == "invalid_request_error"


def test_a_route_that_is_not_there_and_a_method_that_is_not_are_told(place: Place) -> None:
    unknown = raised(NotFoundError, lambda: place.sync.get("/assistants", cast_to=object))
    assert unknown.type == "invalid_request_error"
    assert "GET /v1/assistants" in unknown.message
    wrong = raised(APIStatusError, lambda: place.sync.delete("/files", cast_to=object))
    assert (wrong.status_code, wrong.code) == (405, "not_allowed")
    assert wrong.response.headers["allow"] == "GET, POST"
    assert "error" in httpx2.get(place.url).json()


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": 10**30}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"order": "sideways"}, "order"),
        ({"after": "never"}, "after"),
        ({"before": "vs_never"}, "before"),
        ({"after": "x" * 201}, "after"),
    ],
)
def test_a_list_that_makes_no_sense_names_what_is_wrong(
    place: Place, query: dict[str, object], param: str
) -> None:
    error = raised(BadRequestError, lambda: place.sync.vector_stores.list(extra_query=query))
    assert error.param == param


def test_cursors_of_files_are_ids_of_files(place: Place, store: str) -> None:
    members = place.sync.vector_stores.files
    for cursor in ("0123", "file-", "file-0123456789"):
        for ask in (place.sync.files.list, partial(members.list, store)):
            error = raised(BadRequestError, partial(ask, after=cursor))
            assert error.param == "after"
    raised(BadRequestError, lambda: place.sync.files.list(limit=10_001))
    wrong: Any = "lost"
    error = raised(BadRequestError, lambda: members.list(store, filter=wrong))
    assert error.param == "filter"


def test_of_two_cursors_the_wrong_one_is_named_as_it_was_sent(place: Place, file: str) -> None:
    store = place.sync.vector_stores.create(file_ids=[file]).id
    batch = place.sync.vector_stores.file_batches.create(store, file_ids=[file]).id
    members, lots = place.sync.vector_stores.files, place.sync.vector_stores.file_batches
    lists: list[Callable[..., object]] = [
        place.sync.files.list,
        partial(members.list, store),
        partial(lots.list_files, batch, vector_store_id=store),
    ]
    for ask in lists:
        for param, other in (("after", "before"), ("before", "after")):
            query = {param: "file-zzz", other: file}
            error = raised(BadRequestError, partial(ask, extra_query=query))
            assert error.param == param
            assert "'file-zzz'" in error.message


def test_what_is_not_there_is_named_as_it_was_sent(place: Place, store: str, file: str) -> None:
    stores, members = place.sync.vector_stores, place.sync.vector_stores.files
    asks: list[tuple[str, Callable[[], object]]] = [
        ("file-nope", lambda: stores.create(file_ids=[file, "file-nope"])),
        ("file-nope", lambda: members.create(store, file_id="file-nope")),
        ("file-nope", lambda: stores.file_batches.create(store, file_ids=[file, "file-nope"])),
        ("file-nope", lambda: members.retrieve("file-nope", vector_store_id=store)),
        ("nope", lambda: members.create(store, file_id="nope")),
        (file, lambda: members.retrieve(file, vector_store_id=store)),
        (file, lambda: members.update(file, vector_store_id=store, attributes={})),
        (file, lambda: members.delete(file, vector_store_id=store)),
        (file, lambda: members.content(file, vector_store_id=store)),
    ]
    for name, ask in asks:
        told = raised(NotFoundError, ask).message
        assert f"there is no file {name!r}" in told
        assert (f"in vector store {store!r}" in told) == (name == file)
    never = raised(NotFoundError, lambda: members.retrieve(file, vector_store_id="vs_never"))
    assert "there is no vector store 'vs_never'" in never.message


STATIC = "chunking_strategy.static"
BODIES: list[tuple[dict[str, object], str]] = [
    ({"name": 7}, "name"),
    ({"name": "n" * 1_001}, "name"),
    ({"metadata": {"a": 1}}, "metadata"),
    ({"metadata": {f"k{at}": "v" for at in range(17)}}, "metadata"),
    ({"metadata": {"k" * 65: "v"}}, "metadata"),
    ({"metadata": {"k": "v" * 513}}, "metadata"),
    ({"metadata": []}, "metadata"),
    ({"expires_after": {"days": 3}}, "expires_after.anchor"),
    ({"expires_after": {"anchor": "created_at", "days": 3}}, "expires_after.anchor"),
    ({"expires_after": {"anchor": "last_active_at", "days": 0}}, "expires_after.days"),
    ({"expires_after": {"anchor": "last_active_at", "days": 366}}, "expires_after.days"),
    ({"expires_after": {"anchor": "last_active_at", "days": "3"}}, "expires_after.days"),
    ({"file_ids": "file-1"}, "file_ids"),
    ({"file_ids": [1]}, "file_ids[0]"),
    ({"chunking_strategy": {}}, "chunking_strategy.type"),
    ({"chunking_strategy": {"type": "clever"}}, "chunking_strategy.type"),
    ({"chunking_strategy": {"type": "static"}}, STATIC),
]
SIZES = [
    ((99, 0), "max_chunk_size_tokens"),
    ((4097, 0), "max_chunk_size_tokens"),
    ((100.5, 0), "max_chunk_size_tokens"),
    (("800", 400), "max_chunk_size_tokens"),
    ((800, 401), "chunk_overlap_tokens"),
    ((101, 51), "chunk_overlap_tokens"),
    ((800, -1), "chunk_overlap_tokens"),
    ((800, None), "chunk_overlap_tokens"),
    ((800, True), "chunk_overlap_tokens"),
]
BODIES += [
    (
        {
            "chunking_strategy": {
                "type": "static",
                "static": {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap},
            }
        },
        f"{STATIC}.{param}",
    )
    for (size, overlap), param in SIZES
]


@pytest.mark.parametrize(("body", "param"), BODIES)
def test_a_body_that_makes_no_sense_names_the_field(
    place: Place, body: dict[str, object], param: str
) -> None:
    before = len(place.sync.vector_stores.list(limit=100).data)
    error = raised(BadRequestError, lambda: place.sync.vector_stores.create(extra_body=body))
    assert (error.param, error.type) == (param, "invalid_request_error")
    assert len(place.sync.vector_stores.list(limit=100).data) == before


def test_fields_that_are_not_known_are_let_be(place: Place, store: str) -> None:
    newer = {"name": "Newer", "quantum": {"entangled": True}}
    assert place.sync.vector_stores.create(extra_body=newer).name == "Newer"
    page = place.sync.vector_stores.list(extra_query={"api-version": "2099-01-01", "x": "y"})
    assert page.data
    options = {"ranker": "of-tomorrow", "hybrid_search": {"text_weight": 1}}
    body = {"ranking_options": options, "stream": False}
    place.sync.vector_stores.search(store, query="x", extra_body=body)


@pytest.mark.parametrize(
    "attributes",
    [
        {f"k{at}": at for at in range(17)},
        {"k" * 65: 1},
        {"": 1},
        {"k": "v" * 513},
        {"k": None},
        {"k": [1]},
        {"k": {"deep": 1}},
        {"k": 10**400},
    ],
)
def test_attributes_have_their_bounds(
    place: Place, store: str, file: str, attributes: dict[str, Any]
) -> None:
    members = place.sync.vector_stores.files
    body = {"attributes": attributes}
    create = raised(BadRequestError, lambda: members.create(store, file_id=file, extra_body=body))
    assert create.param == "attributes"
    other = place.sync.vector_stores.create(file_ids=[file]).id
    update = raised(
        BadRequestError,
        lambda: members.update(file, vector_store_id=other, attributes={}, extra_body=body),
    )
    assert update.param == "attributes"
    assert members.retrieve(file, vector_store_id=other).attributes == {}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"query": ""}, "query"),
        ({"query": ["x", " \n"]}, "query"),
        ({"query": []}, "query"),
        ({"query": 7}, "query"),
        ({"query": ["x"] * 11}, "query"),
        ({"query": "x", "max_num_results": 0}, "max_num_results"),
        ({"query": "x", "max_num_results": 51}, "max_num_results"),
        (
            {"query": "x", "ranking_options": {"score_threshold": 2}},
            "ranking_options.score_threshold",
        ),
        ({"query": "x", "filters": {"type": "eq", "key": "a"}}, "filters"),
        ({"query": "x", "filters": {"type": "gt", "key": "a", "value": {}}}, "filters"),
    ],
)
def test_a_search_that_makes_no_sense_names_the_field(
    place: Place, store: str, body: dict[str, object], param: str
) -> None:
    error = raised(
        BadRequestError,
        lambda: place.sync.vector_stores.search(store, query="x", extra_body=body),
    )
    assert error.param == param


@pytest.mark.parametrize(
    ("content", "kind", "param", "said"),
    [
        (b"{", "application/json", None, "the body is not valid JSON"),
        (b'{"name": }', "application/json", None, "the body is not valid JSON"),
        (b"\xff\xfe", "application/json", None, "the body is not valid JSON"),
        (b"[" * 100_000, "application/json", None, "parsing the body"),
        (b"[]", "application/json", None, "the body: "),
        (
            b'{"expires_after":{"anchor":"last_active_at","days":NaN}}',
            "application/json",
            "expires_after.days",
            "expires_after.days: ",
        ),
        (b"name=x", "application/x-www-form-urlencoded", None, "application/json"),
    ],
)
def test_what_is_no_json_is_refused(
    place: Place, content: bytes, kind: str, param: str | None, said: str
) -> None:
    reply = httpx2.post(
        f"{place.url}/vector_stores", content=content, headers={"Content-Type": kind}
    )
    assert reply.status_code == 400, reply.text
    error = reply.json()["error"]
    assert set(error) == SHAPE
    assert error["param"] == param
    assert said in error["message"]


def test_what_is_too_much_is_refused(place: Place) -> None:
    error = raised(APIStatusError, lambda: place.sync.vector_stores.create(name="n" * 5_000_000))
    assert (error.status_code, error.code) == (413, "too_big")


def test_another_page_or_another_name_is_refused(place: Place) -> None:
    def ask(**headers: str) -> Callable[[], object]:
        return lambda: place.sync.vector_stores.create(extra_headers=headers)

    foreign = raised(PermissionDeniedError, ask(Origin="https://evil.example"))
    assert (foreign.type, foreign.code) == ("permission_error", "wrong_origin")
    named = raised(BadRequestError, ask(Host="evil.example"))
    assert named.code == "wrong_host"


def test_what_nobody_foresaw_tells_nothing_of_the_inside(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the house")

    stores = place.house.served.app.state.house.engine.stores
    monkeypatch.setattr(stores, "get", broken)
    error = raised(InternalServerError, lambda: place.sync.vector_stores.retrieve("vs_1"))
    assert (error.status_code, error.type) == (500, "server_error")
    assert "secret" not in error.message


def test_what_is_away_for_a_while_says_when_to_come_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise ProviderUnavailableError("the embedder is busy", 3)

    stores = place.house.served.app.state.house.engine.stores
    monkeypatch.setattr(stores, "search", away)
    error = raised(InternalServerError, lambda: place.sync.vector_stores.search("vs_1", query="x"))
    assert (error.status_code, error.response.headers["retry-after"]) == (503, "3")


def test_errors_beside_this_api_are_as_they_were(place: Place) -> None:
    reply = place.house["local"].get("/api/documents/never")
    assert set(reply.json()) == {"error", "detail"}
    assert set(reply.json()["error"]) == {"type", "message", "request_id"}
    # No path of this API, though it begins like one.
    assert "detail" in httpx2.get(f"{place.url}x/files").json()


def test_clients_are_told_how_soon_to_ask_again(place: Place, store: str, file: str) -> None:
    raw = place.sync.vector_stores.files.with_raw_response
    reply = raw.create(store, file_id=file)
    assert 0 < int(reply.headers["openai-poll-after-ms"]) <= 1_000
    found = raw.retrieve(file, vector_store_id=store)
    assert found.headers["openai-poll-after-ms"] == reply.headers["openai-poll-after-ms"]
    assert found.headers["x-request-id"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("keys"), "anna", "ben") as place:
        yield place


def test_without_a_right_key_nothing_is_told(keys: Place) -> None:
    wrong = raised(AuthenticationError, keys.sync.files.list)
    assert (wrong.type, wrong.code) == ("authentication_error", "invalid_api_key")
    none = httpx2.get(f"{keys.url}/files")
    assert (none.status_code, none.json()["error"]["code"]) == (401, "key_needed")
    unknown = httpx2.get(f"{keys.url}/nothing")
    assert unknown.json() == none.json()


def test_what_is_anothers_is_not_there_as_if_it_never_was(keys: Place) -> None:
    with keys.owned("anna") as anna, keys.owned("ben") as ben:
        mine = sent(anna, "secret.md", prose(100, "treasure")).id
        store = anna.vector_stores.create(file_ids=[mine]).id
        batch = anna.vector_stores.file_batches.create(store, file_ids=[mine]).id
        own = ben.vector_stores.create().id
        never = {mine: "file-0123456789abcdef", store: "vs_0123456789ab", batch: "vsfb_0123456789"}

        def asks(file: str, place: str, lot: str) -> list[Callable[[], object]]:
            members, lots = ben.vector_stores.files, ben.vector_stores.file_batches
            return [
                lambda: ben.files.retrieve(file),
                lambda: ben.files.content(file),
                lambda: ben.files.delete(file),
                lambda: ben.vector_stores.retrieve(place),
                lambda: ben.vector_stores.update(place, name="Mine now"),
                lambda: ben.vector_stores.delete(place),
                lambda: ben.vector_stores.search(place, query="treasure"),
                lambda: ben.vector_stores.create(file_ids=[file]),
                lambda: members.create(own, file_id=file),
                lambda: members.list(place),
                lambda: members.content(file, vector_store_id=place),
                lambda: lots.create(own, file_ids=[file]),
                lambda: lots.retrieve(lot, vector_store_id=place),
                lambda: lots.retrieve(lot, vector_store_id=own),
                lambda: lots.cancel(lot, vector_store_id=place),
                lambda: lots.list_files(lot, vector_store_id=place),
            ]

        for theirs, none in zip(asks(mine, store, batch), asks(*never.values()), strict=True):
            told, plain = raised(NotFoundError, theirs), raised(NotFoundError, none)
            assert without(told, never) == without(plain, {it: it for it in never.values()})
        for cursor in (mine, never[mine]):
            error = raised(BadRequestError, partial(ben.files.list, after=cursor))
            assert "treasure" not in error.message
        assert not ben.files.list().data
        assert [it.id for it in ben.vector_stores.list()] == [own]
        assert not ben.vector_stores.files.list(own).data
        # Anna has it all still.
        assert anna.vector_stores.retrieve(store).file_counts.completed == 1
        assert [it.id for it in anna.files.list()] == [mine]
        assert anna.vector_stores.search(store, query="treasure").data


def without(error: APIStatusError, names: dict[str, str]) -> str:
    text = error.message
    for name in names:
        text = text.replace(name.removeprefix("file-"), "ID").replace("file-", "")
    return text


def test_a_key_for_figures_is_no_key_here(tmp_path: Path) -> None:
    options = Options(require_keys=True, rate_limit=3)
    with with_library(tmp_path, options) as door:
        manner: dict[str, Any] = {"base_url": f"{door.served.url}/v1", "max_retries": 0}
        with OpenAI(api_key=door.keys["figures"], timeout=PATIENCE, **manner) as figures:
            denied = raised(PermissionDeniedError, figures.files.list)
            assert denied.type == "permission_error"
        with OpenAI(api_key=door.keys["local"], timeout=PATIENCE, **manner) as client:
            raised(RateLimitError, lambda: [client.files.list() for _ in range(20)])
            limited = raised(RateLimitError, client.files.list)
            assert (limited.type, limited.code) == ("rate_limit_error", "rate_limit_exceeded")
            assert limited.response.headers["retry-after"]
