"""Why a question is answered as it is, over HTTP and a real library."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from server.houses import house
from unchunk.server.replies import RetrieveReply

BOOK = "\n\n".join(
    f"# Part {n}\n\n"
    + (f"The heron of pond {n} eats frogs. " if n in (2, 17) else f"Weather of day {n}: rain. ")
    + f"Nothing else happened on day {n}. " * 20
    for n in range(20)
)
HERON = "What does the heron of the pond eat?"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with house(tmp_path) as place:
        it = place["local"]
        it.post("/api/documents", files={"file": ("book.md", BOOK.encode())}).raise_for_status()
        yield it


def retrieved(client: httpx2.Client, **body: object) -> RetrieveReply:
    reply = client.post("/api/retrieve", json={"message": HERON, **body})
    assert reply.status_code == 200, reply.text
    return RetrieveReply.model_validate(reply.json(), strict=False, extra="forbid")


def test_all_about_an_answer_but_the_answer(client: httpx2.Client) -> None:
    told = retrieved(client)
    assert told.plan is not None
    assert told.plan.mode == "passages"
    [source] = told.sources
    assert {2, 17} <= {n for n in range(20) if f"pond {n} " in source.full_content}
    for gap in source.gaps:
        assert "omitted" in source.full_content[gap.at : gap.end]
    for passage in source.passages:
        assert BOOK[passage.start : passage.end] == passage.text
    assert {way.name for one in told.found for way in one.ways} == {"dense", "lexical"}
    assert all(one.name == "book.md" for one in told.found)
    assert all(one.reason for one in told.dropped)
    assert source.passages[0].text.strip() in str(told.prompt.messages[-1]["content"])
    assert told.usage.context_size <= (told.usage.context_budget or 0)
    assert client.get("/api/conversations").json() == {"conversations": []}


def test_a_gap_is_opened_by_asking_with_its_chunks(client: httpx2.Client) -> None:
    [source] = retrieved(client).sources
    gap = source.gaps[0]
    stretch = {"document": source.document} | gap.model_dump(include={"first_chunk", "last_chunk"})
    for path in ("/api/retrieve", "/api/chat"):
        reply = client.post(path, json={"message": HERON, "include": [stretch]}).json()
        [more] = reply["sources"]
        found = {one["chunk_index"] for one in more["chunks"]}
        assert found >= set(range(gap.first_chunk, gap.last_chunk + 1))


def test_without_documents_there_is_a_prompt_and_nothing_else(client: httpx2.Client) -> None:
    told = retrieved(client, rag_enabled=False)
    assert (told.plan, told.sources, told.found) == (None, [], [])
    assert told.prompt.messages == [{"role": "user", "content": HERON}]


@pytest.mark.parametrize(
    "include",
    [
        [{"document": "d", "first_chunk": -1, "last_chunk": 2}],
        [{"document": "d", "first_chunk": 0, "last_chunk": "2"}],
        [{"document": "d"}],
        [{"document": "d", "first_chunk": 0, "last_chunk": 2, "more": 1}],
        "d",
    ],
)
def test_what_cannot_be_included_is_malformed(client: httpx2.Client, include: object) -> None:
    reply = client.post("/api/retrieve", json={"message": HERON, "include": include})
    assert (reply.status_code, reply.json()["error"]["type"]) == (422, "malformed")


def test_too_many_chunks_and_an_unknown_conversation_are_refused(client: httpx2.Client) -> None:
    many = [{"document": "d", "first_chunk": 0, "last_chunk": 5000}]
    assert client.post("/api/retrieve", json={"message": HERON, "include": many}).status_code == 400
    unknown = {"message": HERON, "conversation": "c0"}
    assert client.post("/api/retrieve", json=unknown).status_code == 404


def test_a_turn_is_looked_into_as_it_was_asked(client: httpx2.Client) -> None:
    first = client.post("/api/chat", json={"message": HERON, "conversation": "new"}).json()
    after = {"conversation": first["conversation"]}
    second = client.post("/api/chat", json={"message": "And the weather?", **after}).json()
    client.post("/api/chat", json={"message": "And then?", **after}).raise_for_status()
    assert (first["turn"], second["turn"]) == (0, 1)
    begun = retrieved(client, **after, before_turn=0)
    assert begun.prompt.messages == retrieved(client).prompt.messages
    then = retrieved(client, message="And the weather?", **after, before_turn=1)
    assert then.plan is not None
    assert then.plan.follow_up
    said = str(then.prompt.messages)
    assert HERON in said
    assert "And then?" not in said


def test_only_what_was_kept_is_looked_into_and_nothing_is_asked_before_a_turn(
    client: httpx2.Client,
) -> None:
    for conversation in ("", "new"):
        body = {"message": HERON, "conversation": conversation, "before_turn": 0}
        assert client.post("/api/retrieve", json=body).status_code == 400
    for turn in (-1, "1", 1.5, True):
        wrong = {"message": HERON, "conversation": "c0", "before_turn": turn}
        assert client.post("/api/retrieve", json=wrong).status_code == 422
    for path in ("/api/chat", "/api/chat/stream"):
        reply = client.post(path, json={"message": HERON, "conversation": "new", "before_turn": 0})
        assert reply.status_code == 422
    assert client.get("/api/conversations").json() == {"conversations": []}
