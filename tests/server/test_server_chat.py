"""A question over HTTP, answered at once: what is sent, what comes back, what is refused."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from server.scripted import Scripted, Step, answer, eventually, serving
from unchunk.chat.events import Done, Failed, Token, Warned
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.retrieval.shelf import Where
from unchunk.server.options import Options

PLAIN = {"message": "When is high tide?"}


def nested(depth: int) -> dict[str, object]:
    inside: dict[str, object] = {}
    for _ in range(depth):
        inside = {"x": inside}
    return inside


def test_an_answer_is_all_its_events_as_one_object() -> None:
    engine = Scripted(answer("At ", "noon."))
    with serving(engine.engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
    assert reply.status_code == 200
    body = reply.json()
    assert body["answer"] == "At noon."
    assert (body["finish"], body["model"]) == ("stop", "scripted")
    assert body["sources"] == []
    assert body["plan"] == {"rag": True, "conversation": ""}
    assert body["usage"]["context_budget"] == 100
    assert body["request_id"] == reply.headers["x-request-id"]
    [(request, owner, request_id)] = engine.asked
    assert request.messages == ({"role": "user", "content": "When is high tide?"},)
    assert (owner, request_id) == ("local", body["request_id"])


def test_all_that_can_be_said_of_a_question_reaches_the_engine() -> None:
    engine = Scripted()
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "u"}},
    ]
    messages = [
        {"role": "system", "content": "Be brief.", "name": "boss"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": parts},
    ]
    body = {
        "messages": messages,
        "conversation": "new",
        "rag_enabled": False,
        "mode": "full documents",
        "folder": "a",
        "folders": ["b"],
        "names": ["n.txt"],
        "documents": ["d1"],
        "context_chunks": 7,
        "full_documents": 0,
        "full_document_chars": 9000,
        "template": "question-first",
        "strict": True,
        "system_prompt": "You are terse.",
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 20,
        "stop": "END",
    }
    with serving(engine.engine) as served:
        assert httpx2.post(f"{served.url}/api/chat", json=body).status_code == 200
        assert httpx2.post(f"{served.url}/api/chat", json=PLAIN | {"stop": ["a", "b"]}).is_success
    request = engine.asked[0][0]
    # As they were sent, with nothing added.
    assert list(request.messages) == messages
    assert request.conversation == "new"
    assert request.rag_enabled is False
    assert request.mode == "full documents"
    assert request.where == Where(documents=("d1",), folders=("a", "b"), names=("n.txt",))
    assert (request.template, request.strict) == ("question-first", True)
    assert (request.limit, request.full_documents, request.full_document_chars) == (7, 0, 9000)
    assert request.system_prompt == "You are terse."
    sampling = request.sampling
    assert (sampling.model, sampling.temperature, sampling.max_tokens) == ("m", 0.5, 20)
    assert sampling.stop == ("END",)
    plain = engine.asked[1][0]
    assert (plain.rag_enabled, plain.strict, plain.system_prompt) == (None, None, None)
    assert plain.where == Where()
    assert plain.sampling.stop == ("a", "b")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "either `message` or `messages`"),
        ({"message": "q", "messages": [{"role": "user", "content": "q"}]}, "either"),
        ({"message": ""}, "at least 1 character"),
        ({"message": "q", "massage": 1}, "massage: Extra inputs"),
        ({"message": 5}, "message: Input should be a valid string"),
        ({"message": "q", "temperature": 3}, "temperature"),
        ({"message": "q", "max_tokens": 0}, "max_tokens"),
        ({"message": "q", "mode": "all"}, "mode"),
        ({"message": "q", "context_chunks": 0}, "context_chunks"),
        ({"message": "q", "full_documents": -1}, "full_documents"),
        ({"message": "q", "full_document_chars": 0.5}, "full_document_chars"),
        ({"message": "q", "stop": ["x"] * 17}, "stop"),
        ({"messages": []}, "messages"),
        ({"messages": [{"content": "q"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ({"message": "half \ud83d a character"}, "message"),
        ({"messages": [{"role": "user", "content": [{"text": "\ud83d"}]}]}, "half a character"),
        ({"messages": [{"role": "user", "content": [nested(900)]}]}, "messages.0"),
        ([], "valid dictionary"),
        ("q", "valid dictionary"),
    ],
)
def test_a_malformed_question_says_what_is_wrong(body: Any, said: str) -> None:  # noqa: ANN401
    engine = Scripted()
    with serving(engine.engine) as served:
        reply = httpx2.post(
            f"{served.url}/api/chat",
            content=json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
    assert reply.status_code == 422
    error = reply.json()["error"]
    assert error["type"] == "malformed"
    assert said in error["message"]
    assert error["request_id"] == reply.headers["x-request-id"]
    assert all(set(one) == {"loc", "msg", "type"} for one in reply.json()["detail"])
    assert not engine.asked


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 422),
        (b"\xff\xfe{}", "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b'{"message": "q"}', "text/plain", 422),
        (b'{"message": "q"}', "", 422),
        (b"message=q", "application/x-www-form-urlencoded", 422),
        (b"", "application/json", 422),
    ],
)
def test_what_is_no_json_is_refused(content: bytes, kind: str, status: int) -> None:
    """A form or plain text, too: a page of another site can send those without being asked."""
    engine = Scripted()
    with serving(engine.engine) as served:
        headers = {"Content-Type": kind} if kind else {}
        reply = httpx2.post(f"{served.url}/api/chat", content=content, headers=headers)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]
    assert not engine.asked


def test_a_question_that_cannot_be_asked_is_an_error_of_its_own_kind() -> None:
    with serving(Scripted([InvalidInputError("no template of that name")]).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
        assert (reply.status_code, reply.json()["error"]["type"]) == (400, "invalid")
        last = {"messages": [{"role": "assistant", "content": "No."}]}
        reply = httpx2.post(f"{served.url}/api/chat", json=last)
        assert reply.status_code == 400
        assert "the last message must be the user's" in reply.json()["detail"]
    with serving(Scripted([NotFoundError("there is no conversation 'x'")]).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
        assert (reply.status_code, reply.json()["error"]["type"]) == (404, "not-found")


def test_an_answer_in_spite_of_an_error_is_an_answer() -> None:
    events: list[Step] = [
        Warned("w", "less"),
        Failed("model", "the model is down", transient=True),
        Token("Quoted."),
        Done("Quoted.", "extractive", ""),
    ]
    with serving(Scripted(events).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
    assert reply.status_code == 200
    assert reply.json()["error"]["message"] == "the model is down"
    assert reply.json()["warnings"] == [{"code": "w", "message": "less"}]


@pytest.mark.parametrize(("transient", "status"), [(True, 503), (False, 502)])
def test_no_answer_at_all_is_an_error_with_all_that_is_known(transient: bool, status: int) -> None:
    events: list[Step] = [Token("Half"), Failed("model", "it broke off", transient)]
    with serving(Scripted(events).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
    assert reply.status_code == status
    body = reply.json()
    assert (body["answer"], body["finish"]) == ("Half", "failed")
    assert (body["error"]["type"], body["error"]["code"]) == ("model", "model")
    assert body["error"]["request_id"] == body["request_id"]


def test_a_bug_is_told_without_what_is_inside() -> None:
    with serving(Scripted([RuntimeError("secret /path")]).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN, headers={"X-Request-ID": "r-1"})
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"] == "r-1"


def test_half_a_character_does_not_break_an_answer() -> None:
    with serving(Scripted(answer("\ud83d", "\ude00 ok")).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
    assert reply.json()["answer"].encode("utf-16", "surrogatepass").decode("utf-16") == "😀 ok"


def test_who_hangs_up_stops_the_answer() -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine) as served:
        before = served.tasks()
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            body = b'{"message": "q"}'
            line.sendall(
                f"POST /api/chat HTTP/1.1\r\nHost: {host}:{port}\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            eventually(lambda: engine.open == 1)
        eventually(lambda: engine.open == 0)
        assert engine.stopped == 1
        eventually(lambda: served.tasks() <= before)
        assert served.streams.running == 0


def test_a_server_that_ends_does_not_wait_for_the_whole_answer() -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine) as served, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(httpx2.post, f"{served.url}/api/chat", json=PLAIN)
        eventually(lambda: engine.open == 1)
        served.inside(served.streams.close)
        reply = waiting.result(20)
    assert (reply.status_code, reply.json()["error"]["type"]) == (503, "unavailable")
    assert (engine.open, engine.stopped) == (0, 1)


def test_too_many_answers_at_once_are_too_many() -> None:
    engine = Scripted()
    with serving(engine.engine, Options(max_streams=0)) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=PLAIN)
        assert (reply.status_code, reply.json()["error"]["type"]) == (503, "unavailable")
        assert httpx2.post(f"{served.url}/api/chat/stream", json=PLAIN).status_code == 503
    assert not engine.asked


def test_conversations_are_listed_read_renamed_and_deleted() -> None:
    engine = Scripted()
    with serving(engine.engine) as served, httpx2.Client(base_url=served.url) as client:
        [one] = client.get("/api/conversations").json()["conversations"]
        assert (one["id"], one["title"], one["turn_count"]) == ("c1", "Tides", 1)
        assert one["updated_at"] == "2026-01-02T03:04:05+00:00"
        assert client.get("/api/conversations?before=c1").json()["conversations"] == []
        assert client.get("/api/conversations?limit=0").status_code == 422
        whole = client.get("/api/conversations/c1").json()
        [turn] = whole["turns"]
        assert (turn["question"], turn["answer"], turn["cited"]) == (
            "When?",
            "At noon.",
            [["d1", 2]],
        )
        assert turn["record"] == {"model": "m"}
        renamed = client.patch("/api/conversations/c1", json={"title": "High tides"})
        assert renamed.json()["title"] == engine.titles["c1"] == "High tides"
        assert client.patch("/api/conversations/c1", json={"title": ""}).status_code == 422
        assert client.delete("/api/conversations/c1").status_code == 204
        for call in (client.get, client.delete):
            assert call("/api/conversations/other").status_code == 404


def test_prompts_are_set_and_read_by_folder() -> None:
    engine = Scripted()
    with serving(engine.engine) as served, httpx2.Client(base_url=served.url) as client:
        put = client.put("/api/prompts", json={"folder": "law", "text": "Cite sections."})
        assert put.status_code == 200
        assert client.get("/api/prompts").json() == {"prompts": {"law": "Cite sections."}}
        assert client.put("/api/prompts", json={"folder": "law"}).status_code == 422


def test_the_routes_describe_themselves() -> None:
    with serving(Scripted().engine) as served:
        schema = httpx2.get(f"{served.url}/openapi.json").json()
        assert httpx2.get(f"{served.url}/docs").status_code == 404
    assert {"/api/chat", "/api/chat/stream", "/api/chat/stream/{stream}"} <= set(schema["paths"])
    assert schema["components"]["schemas"]["ChatBody"]["examples"]
