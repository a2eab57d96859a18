"""Document 002, RAG in chat: what it says, against `unchunk serve` and a server like Chunkenizer."""

import asyncio
import inspect
import json
import logging
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

import unchunk
from adapters.llm.scripted import ScriptedModel, answer
from adapters.sources.stores import Chunkenizer, chunkenizer
from chat.rooms import HARBOUR, LIGHTHOUSE, NIGHT
from cli.terminals import Piped, environment, piped
from corpus import ROOT
from seed_documents import code_block, document, needs_documents
from server.houses import add, house
from server.scripted import eventually, parsed
from servers import free_ports
from sheets import prose
from unchunk.settings import load

ID = "550e8400-e29b-41d4-a716-446655440000"
FREE = {"model": "scripted"}


def result(index: int, text: str, document: str = ID) -> dict[str, Any]:
    return {
        "document_id": document,
        "document_name": f"{document[:3]}.md",
        "chunk_index": index,
        "chunk_text": text,
        "token_count": 9,
        "metadata": {"team": "port"},
    }


RESULTS = [
    result(3, "A night in the harbour costs 22 euros for a vessel of up to twelve metres."),
    result(7, "The harbour master alone works the crane, which lifts six tonnes."),
    result(1, "In winter a night in the harbour costs half.", "winter"),
    result(2, "Every vessel calls the harbour office before it passes the outer buoy.", "radio"),
    result(4, "The lamp of the lighthouse burned colza oil for nine years.", "lamp"),
    result(5, "Fresh water is to be had at the quay of the harbour by day and night.", "water"),
    result(6, "What a berth costs is written at the office of the harbour.", "berth"),
]


@dataclass
class Service:
    """`unchunk serve`, the model that it asks, and the Chunkenizer server that it is told of."""

    url: str
    process: Piped
    model: ScriptedModel
    chunks: Chunkenizer

    def ask(self, message: str = NIGHT, **more: object) -> dict[str, Any]:
        body = {"message": message, **FREE, **more}
        reply = httpx2.post(f"{self.url}/api/chat", json=body, timeout=60)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    @property
    def sent(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.model.asked[-1].body["messages"]
        return messages

    @property
    def context(self) -> str:
        said = str(self.sent[-1]["content"])
        found = re.search(r"CONTEXT:\n<<<evidence\n(.*)\nevidence>>>", said, re.DOTALL)
        return found[1] if found else ""

    def lines(self, request_id: str, enough: int = 1) -> list[str]:
        """The log's lines of one request, once there is its line of a question."""
        wanted = f"[{request_id}] RAG retrieval"
        eventually(lambda: self.process.complained.count(wanted) >= enough)
        return [it for it in self.process.complained.splitlines() if f"[{request_id}]" in it]


@contextmanager
def service(folder: Path, **variables: str) -> Iterator[Service]:
    with ExitStack() as stack:
        chunks = Chunkenizer(RESULTS)
        address = stack.enter_context(chunkenizer(chunks))
        model = stack.enter_context(ScriptedModel())
        settings = {
            "UNCHUNK_CHAT": "openai:scripted",
            "UNCHUNK_CHAT_URL": f"{model.url}/v1",
            "CHUNKENIZER_API_URL": address,
            **variables,
        }
        command = ("serve", "--port", "0", "--json", "--no-sample")
        process = stack.enter_context(piped(*command, home=folder, settings=settings))
        url = json.loads(process.wait_for("\n").splitlines()[0])["url"]
        yield Service(url, process, model, chunks)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("002") / "home"
    with service(folder, RAG_ENABLED="true", RAG_TOP_K="3") as running:
        yield running


@pytest.fixture
def chat(served: Service) -> Iterator[Service]:
    served.chunks.asked.clear()
    served.chunks.listings = 0
    yield served
    served.chunks.trick = None
    served.chunks.results = list(RESULTS)
    served.model.script.clear()


def cited(context: str) -> list[str]:
    return re.findall(r"\[([\w-]+:\d+)\]", context)


@pytest.mark.statement("002-01", "002-02", "002-07")
@pytest.mark.parametrize("route", ["/api/chat", "/api/chat/stream"])
def test_the_latest_question_is_searched_for_and_the_chunks_go_to_the_model(
    chat: Service, route: str
) -> None:
    said = [
        {"role": "user", "content": "Who works the crane of the quay?"},
        {"role": "assistant", "content": f"The harbour master alone [{ID}:7]."},
        {"role": "user", "content": NIGHT},
    ]
    reply = httpx2.post(f"{chat.url}{route}", json={"messages": said, **FREE}, timeout=60)
    assert reply.status_code == 200
    assert chat.chunks.asked == [{"query": NIGHT, "top_k": 3, "filters": None}]
    assert len(cited(chat.context)) == 3
    assert f"up to twelve metres. [{ID}:3]" in chat.context
    assert [one["role"] for one in chat.sent] == ["user", "assistant", "user"]


@pytest.mark.statement("002-01", "002-07")
@pytest.mark.parametrize(
    "question",
    ["Explain all the fees of the quay in detail", "Summarise everything", "Tell me all"],
)
def test_any_question_is_sent_as_it_is_and_answered_from_what_it_found_alone(
    chat: Service, question: str
) -> None:
    chat.ask()
    chat.chunks.results = [result(at, f"Chunk {at} tells of the quay.", ID) for at in (2, 18, 28)]
    chat.chunks.asked.clear()
    found = chat.ask(question)
    assert chat.chunks.asked == [{"query": question, "top_k": 3, "filters": None}]
    assert {int(one.rpartition(":")[2]) for one in cited(chat.context)} == {2, 18, 28}
    assert [one for one in found["warnings"] if "room" in one["message"]] == []
    [line] = [one for one in chat.lines(found["request_id"]) if "RAG retrieval" in one]
    assert "top_k=3" in line
    assert "chunks=3" in line


@pytest.mark.statement("002-01", "002-07", "003-07", "003-08")
def test_tags_narrow_the_search_of_a_chunkenizer(chat: Service) -> None:
    chat.ask("What does it cost? source:lam.md")
    assert chat.chunks.asked == [
        {"query": "What does it cost?", "top_k": 3, "filters": {"doc_id": "lamp"}}
    ]
    assert cited(chat.context) == ["lamp:4"]
    assert chat.chunks.listings == 1
    chat.chunks.asked.clear()
    chat.ask("Compare source:lam.md with wat.md")
    assert chat.chunks.listings == 2
    chat.chunks.asked.clear()
    chat.ask("Compare source:lam.md source:wat.md")
    asked = sorted((one["filters"]["doc_id"], one["query"]) for one in chat.chunks.asked)
    assert asked == [("lamp", "Compare"), ("water", "Compare")]
    assert sorted(cited(chat.context)) == ["lamp:4", "water:5"]
    chat.chunks.asked.clear()
    chat.ask("source:lam.md")
    assert [one["filters"] for one in chat.chunks.asked] == [{"doc_id": "lamp"}]
    assert cited(chat.context) == ["lamp:4"]


@pytest.mark.statement("002-16")
def test_the_model_is_told_what_the_document_says(chat: Service) -> None:
    chat.ask()
    said = str(chat.sent[-1]["content"])
    assert said.startswith(
        "Answer ONLY using the provided context. If not present, say you don't know. "
        "Cite sources as [doc_id:chunk_index]"
    )


@pytest.mark.statement("002-03")
def test_retrieval_is_over_before_the_first_token(chat: Service) -> None:
    body = {"message": NIGHT, **FREE}
    events = parsed(httpx2.post(f"{chat.url}/api/chat/stream", json=body, timeout=60).text)
    kinds = [one.kind for one in events]
    assert kinds[:2] == ["plan", "sources"]
    assert kinds.index("sources") < kinds.index("token")
    assert ID in json.dumps(events[1].data)


@pytest.mark.statement("002-04")
def test_the_context_goes_before_the_last_question_and_the_system_prompt_stays(
    chat: Service,
) -> None:
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": NIGHT}]
    httpx2.post(f"{chat.url}/api/chat", json={"messages": said, **FREE}, timeout=60)
    assert chat.sent[0] == said[0]
    assert str(chat.sent[-1]["content"]).endswith(f"evidence>>>\n\nQuestion: {NIGHT}")


@needs_documents
@pytest.mark.statement("002-05")
def test_citations_are_document_and_chunk_in_the_context_and_in_the_answer(chat: Service) -> None:
    [example] = set(re.findall(r"`(\[[0-9a-f-]{36}:\d\])`", document("002")))
    chat.model.script.append(answer("22 euros ", example, "."))
    found = chat.ask()
    assert example in chat.context
    [one] = found["citations"]
    assert (one["state"], one["document"], one["chunk_index"]) == ("cited", ID, 3)


@pytest.mark.statement("002-10", "002-19")
def test_with_rag_off_for_one_request_the_messages_go_as_they_came(chat: Service) -> None:
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": NIGHT}]
    body = {"messages": said, "rag_enabled": False, **FREE}
    found = httpx2.post(f"{chat.url}/api/chat", json=body, timeout=60).json()
    assert chat.chunks.asked == []
    assert chat.sent == said
    assert (found["sources"], found["warnings"], found["plan"]["rag"]) == ([], [], False)
    line = chat.lines(found["request_id"])[-1]
    assert "rag_enabled=False top_k=3" in line
    assert "context_size=0 chunks=0" in line


@needs_documents
@pytest.mark.statement("002-20")
def test_each_question_has_the_line_of_the_document_in_the_log(
    chat: Service, caplog: pytest.LogCaptureFixture
) -> None:
    headers, body = {"X-Request-ID": "trace-7"}, {"message": NIGHT, **FREE}
    httpx2.post(f"{chat.url}/api/chat", json=body, headers=headers, timeout=60)
    [line] = chat.lines("trace-7")
    caplog.set_level(logging.INFO)
    theirs: dict[str, Any] = {
        "logger": logging.getLogger("theirs"),
        "settings": SimpleNamespace(rag_enabled=True, rag_top_k=3),
        "request_id": "trace-7",
        "retrieval_time_ms": float(str(re.findall(r"time_ms=([\d.]+)", line)[0])),
        "context_size": len(f"<<<evidence\n{chat.context}\nevidence>>>"),
        "chunks": [1, 2, 3],
    }
    exec(code_block("002", 272), theirs)  # noqa: S102 - as the document writes it
    [written] = caplog.messages
    # As written, and the scores behind it, which document 004 wants.
    assert re.fullmatch(
        rf".* INFO \[trace-7\] {re.escape(written)} scores=([\d.]+,){{2}}[\d.]+", line
    )


@pytest.mark.statement("002-20")
def test_a_log_for_programs_has_the_same_as_fields_and_the_defaults_are_the_documents(
    tmp_path: Path,
) -> None:
    with service(tmp_path / "home", UNCHUNK_LOG_FORMAT="json") as running:
        found = running.ask()
        wanted = '"RAG retrieval request_id='
        eventually(lambda: wanted in running.process.complained)
    told = [json.loads(it) for it in running.process.complained.splitlines() if wanted in it]
    [fields] = told
    assert fields["request_id"] == found["request_id"]
    assert (fields["rag_enabled"], fields["top_k"], fields["chunks"]) == (True, 5, 5)
    assert fields["context_size"] == found["usage"]["context_size"]
    assert found["usage"]["context_budget"] == 8000
    assert fields["scores"] == sorted(fields["scores"], reverse=True)
    assert running.chunks.asked[0]["top_k"] == 5


def rows(**wrong: object) -> tuple[int, bytes]:
    """An answer of results that are all wrong in the same way."""
    results = [{"score": 0.5} | result(at, "It costs 22 euros.") | wrong for at in range(3)]
    return 200, json.dumps({"results": results}).encode()


UNUSABLE: dict[str, tuple[int, bytes]] = {
    "no JSON": (200, b"<html>"),
    "no results": (200, b'{"results": 5}'),
    "another server": (404, b"{}"),
    "no texts": rows(chunk_text=""),
    "indices are text": rows(chunk_index="0"),
    "no indices": rows(chunk_index=None),
    "no documents": rows(document_id=None),
    "no scores": rows(score=None),
}


@pytest.mark.statement("002-21", "002-23")
@pytest.mark.parametrize("route", ["/api/chat", "/api/chat/stream"])
@pytest.mark.parametrize("name", ["unavailable", *UNUSABLE])
def test_without_chunks_the_chat_goes_on_without_a_context_and_the_log_says_why(
    chat: Service, name: str, route: str
) -> None:
    chat.chunks.trick = UNUSABLE.get(name, (503, b"{}"))
    reply = httpx2.post(f"{chat.url}{route}", json={"message": NIGHT, **FREE}, timeout=60)
    assert reply.status_code == 200, reply.text
    if route.endswith("stream"):
        events = parsed(reply.text)
        answer, warnings = events[-1].data, [it.data for it in events if it.kind == "warning"]
    else:
        answer, warnings = reply.json(), reply.json()["warnings"]
    assert answer["answer"] == "The pilot boards at the outer buoy."
    assert chat.sent == [{"role": "user", "content": NIGHT}]
    codes = [str(one["code"]) for one in warnings]
    assert "search-unavailable" in codes
    assert len(codes) == len(set(codes))
    why, line = chat.lines(reply.headers["x-request-id"])
    if name in UNUSABLE:
        assert " ERROR " in why
        assert "Invalid response from Chunkenizer" in why
    else:
        assert " WARNING " in why
        assert "Chunkenizer API unavailable, skipping RAG" in why
    assert "rag_enabled=True top_k=3" in line
    assert "context_size=0 chunks=0" in line


@pytest.mark.statement("002-21")
def test_retrieve_chunks_gives_none_of_a_server_that_is_not_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with chunkenizer(Chunkenizer([])) as url:
        pass
    assert asyncio.run(unchunk.retrieve_chunks("q", 5, url)) == []
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("Chunkenizer API unavailable, skipping RAG")


@pytest.mark.statement("002-22", "002-24")
def test_that_nothing_was_found_is_logged_and_not_where_it_had_no_room(tmp_path: Path) -> None:
    logged = {"UNCHUNK_LOG_FORMAT": "json", "RAG_MAX_CONTEXT_CHARS": "60"}
    with service(tmp_path / "home", **logged) as running:

        def told() -> list[tuple[str, str]]:
            job = running.ask()["request_id"]
            eventually(lambda: f'"job": "{job}", "message": "RAG' in running.process.complained)
            complained = running.process.complained
            every = [json.loads(it) for it in complained.splitlines() if f'"{job}"' in it]
            return [(it["level"], it["message"]) for it in every]

        no_room = told()
        running.chunks.trick = (200, b'{"results": []}')
        nothing = told()
    assert ("info", "No chunks found for query") in nothing
    assert ("info", "No chunks found for query") not in no_room
    [said] = [message for level, message in no_room if level == "warning"]
    assert said.startswith("there was no room for all that was found: ")


@pytest.mark.statement("002-22", "002-28")
def test_where_nothing_is_found_it_is_said_and_strict_refuses(chat: Service) -> None:
    chat.chunks.trick = (200, b'{"results": []}')
    asked = len(chat.model.asked)
    found = chat.ask(strict=True)
    assert found["finish"] == "refused"
    assert len(chat.model.asked) == asked
    assert found["answer"] == "Nothing was found in the documents that answers this."
    found = chat.ask()
    assert len(chat.model.asked) == asked + 1
    [warning] = found["warnings"]
    assert warning["message"].startswith("no source was used. Nothing was found")


@pytest.mark.statement("002-29")
def test_one_question_has_at_most_one_warning_of_each_kind(tmp_path: Path) -> None:
    with service(tmp_path / "home", RAG_TOP_K="30") as running:
        words = "abcdefghijklmnopqrst"
        running.chunks.results = [
            result(at, f"A night in the harbour {word * 4} {word * 3}{at} {word * 5} {word * 6}.")
            for at, word in enumerate(words)
        ]
        running.chunks.rows = running.chunks.rows[:1].repeat(len(words), axis=0)
        found = running.ask()
        lines = running.lines(found["request_id"])
    assert len(cited(running.context)) == len(words)
    kinds = [re.sub(r"chunks? [\d ,and-]+|\d+", "", one["message"]) for one in found["warnings"]]
    assert len(kinds) == len(set(kinds)) <= 3
    assert len([one for one in found["warnings"] if "share nothing" in one["message"]]) <= 1
    assert len(lines) == 1


@pytest.mark.statement("002-07", "002-23", "002-29")
def test_a_kind_of_wrong_result_is_said_once_however_many_there_are(chat: Service) -> None:
    good = [{"score": 0.9} | result(at, f"Berth {at} costs 22 euros.") for at in range(0, 20, 2)]
    wrong = [one | {"chunk_index": str(at)} for at, one in enumerate(good)]
    chat.chunks.trick = 200, json.dumps({"results": [*good, *good, *wrong]}).encode()
    found = chat.ask()
    assert len(cited(chat.context)) == 3
    several, odd = (one["message"] for one in found["warnings"] if one["code"] == "search")
    assert "some chunks were left out: another chunk has the same document" in several
    assert "some chunks were left out: 'chunk_index' is not a valid chunk index" in odd
    error, _ = chat.lines(found["request_id"])
    assert " ERROR " in error
    assert len(error) < 500


REPETITIVE = "".join(f"{'The harbour night costs money. ' * 9}Pier {at}. " for at in range(9))


@pytest.mark.statement("002-29")
@pytest.mark.parametrize("text", [REPETITIVE, prose(3_000)])
def test_chunks_with_places_are_joined_by_them_without_a_warning(tmp_path: Path, text: str) -> None:
    """The server is one of ours, which tells where each chunk stands in its text."""
    with house(tmp_path, settings={"chunk_size": 400, "chunk_overlap": 100}) as it:
        add(it["local"], "notes.txt", text)
        address = str(it["local"].base_url)
        with service(tmp_path / "chat", CHUNKENIZER_API_URL=address, RAG_TOP_K="30") as chat:
            found = chat.ask("What of wind and rope does the harbour night cost?")
    [source] = found["sources"]
    assert "".join(one["text"] for one in source["passages"]) == text
    assert [one["message"] for one in found["warnings"] if one["code"] == "search"] == []


@pytest.mark.statement("002-29")
def test_names_that_no_document_has_give_one_warning_together(tmp_path: Path) -> None:
    with house(tmp_path, "local") as it:
        add(it["local"], "bakers.txt", "The baker opens at six.")
        question = "Compare the bakers source:quay.pdf source:baker.txt source:x1.md"
        found = it["local"].post("/api/chat", json={"message": question}).json()
    messages = [one["message"] for one in found["warnings"] if one["code"] == "search"]
    unknown = "there are no documents 'quay.pdf', 'baker.txt' (did you mean bakers.txt?), 'x1.md'"
    rest = "everything is searched, because no named document could be identified"
    assert messages == [unknown, rest]


@pytest.mark.statement("002-29")
def test_the_two_searches_for_a_follow_up_give_one_warning_of_each_kind(
    chat: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def answer(request: dict[str, Any]) -> tuple[int, bytes]:
        asked.append(request["query"])
        good, bad = {"score": 0.9} | result(0, "Berth 0 costs 22 euros."), {"chunk_index": None}
        silent = {"score": 0.8} | result(1, "")
        results = [good, *[good | bad, silent] * len(asked)]
        return 200, json.dumps({"results": results}).encode()

    monkeypatch.setattr(chat.chunks, "answer", answer)
    said = [
        {"role": "user", "content": NIGHT},
        {"role": "assistant", "content": f"22 euros [{ID}:0]."},
        {"role": "user", "content": "And in winter?"},
    ]
    reply = httpx2.post(f"{chat.url}/api/chat", json={"messages": said, **FREE}, timeout=60)
    assert len(asked) == 2
    found = [one["message"] for one in reply.json()["warnings"] if one["code"] == "search"]
    assert len(found) == 2
    assert any("no chunk index" in one for one in found)
    assert any("no text" in one for one in found)


@pytest.mark.statement("002-06", "002-08", "002-24")
def test_too_much_is_cut_to_the_characters_and_the_log_says_so(tmp_path: Path) -> None:
    with service(tmp_path / "home", RAG_MAX_CONTEXT_CHARS="400") as running:
        running.chunks.results = [
            result(at, f"A night in the harbour costs {at} euros. " + "It is dear. " * 9, f"d{at}")
            for at in range(4)
        ]
        found = running.ask()
        kept = cited(running.context)
        assert 0 < len(kept) < 4
        assert found["usage"]["context_size"] <= 400
        assert found["usage"]["context_budget"] == 400
        lines = running.lines(found["request_id"])
        assert [one for one in lines if " WARNING " in one and "there was no room" in one]
        # The lowest scores leave first.
        scored = {one["name"]: one["chunks"][0]["score"] for one in found["sources"]}
        left = [one["score"] for one in found["omitted"]]
        assert min(scored.values()) >= max(left)
        # One that is too long alone is cut, and keeps its citation.
        running.chunks.results = [result(0, "A night in the harbour is dear. " * 90, "long")]
        found = running.ask()
        assert cited(running.context) == ["long:0"]
        assert "rest of chunk 0 omitted" in running.context
        assert found["usage"]["context_size"] <= 400


@pytest.mark.statement("002-06", "002-07", "002-08")
def test_the_limit_is_used_up_whatever_the_chunks_are_like(tmp_path: Path) -> None:
    with service(tmp_path / "home") as running:
        kept = running.chunks
        kept.rows = kept.rows[:1].repeat(5, axis=0)
        # Five of them take 7,300 characters with their citations.
        text = "A night in the harbour costs 22 euros. " * 36
        kept.results = [result(0, f"{at} {text}"[:1400], f"d{at}") for at in range(5)]
        found = running.ask()
        assert len(cited(running.context)) == 5
        assert found["omitted"] == []
        for text in (
            "Harbour fees. " + ", ".join(f"berth {at} costs {at} euros" for at in range(400)),
            "港口每晚的费用是二十二欧元，" * 700,
            "ค่าธรรมเนียมท่าเรือ" * 500,
            "aGFyYm91cg" * 900,
        ):
            kept.results = [result(0, text, "long"), result(1, "It costs 22 euros.", "short")]
            found = running.ask()
            assert "long:0" in cited(running.context)
            assert 7900 < found["usage"]["context_size"] <= 8000


def signature(stub: str) -> list[tuple[str, object]]:
    found: dict[str, Any] = {"List": list, "Dict": dict}
    exec(stub, found)  # noqa: S102 - as the document writes it
    [function] = [it for it in found.values() if inspect.isfunction(it)]
    return [(it.name, it.default) for it in inspect.signature(function).parameters.values()]


@needs_documents
@pytest.mark.statement("002-11", "002-14", "002-16")
@pytest.mark.parametrize(
    ("line", "ours"),
    [
        (138, unchunk.retrieve_chunks),
        (154, unchunk.build_context_block),
        (175, unchunk.inject_rag_context),
    ],
    ids=["retrieve_chunks", "build_context_block", "inject_rag_context"],
)
def test_the_functions_take_what_the_document_says(line: int, ours: Callable[..., object]) -> None:
    wanted = signature(code_block("002", line))
    parameters = [*inspect.signature(ours).parameters.values()]
    assert [(it.name, it.default) for it in parameters[: len(wanted)]] == wanted
    assert all(it.kind is it.KEYWORD_ONLY for it in parameters[len(wanted) :])


@pytest.mark.statement("002-11", "002-12", "002-13", "002-22")
def test_retrieve_chunks_gives_what_a_prompt_needs_and_logs_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kept = Chunkenizer(RESULTS)
    with chunkenizer(kept) as url:
        found = asyncio.run(unchunk.retrieve_chunks(NIGHT, base_url=url))
        monkeypatch.setenv("CHUNKENIZER_API_URL", url)
        assert asyncio.run(unchunk.retrieve_chunks(query=NIGHT, top_k=2)) == found[:2]
        kept.trick = (200, b'{"results": []}')
        assert asyncio.run(unchunk.retrieve_chunks(NIGHT)) == []
        empty = [one for one in caplog.records if one.getMessage() == "No chunks found for query"]
        assert [one.levelno for one in empty] == [logging.INFO]
        kept.trick = (500, b"")
        assert asyncio.run(unchunk.retrieve_chunks(NIGHT)) == []
    assert len(found) == 5
    keys = {"chunk_text", "document_id", "chunk_index", "score", "metadata"}
    assert all(set(one) == keys for one in found)
    assert (ID, 3) in [(one["document_id"], one["chunk_index"]) for one in found]
    assert any(re.search(r"retrieval_time_ms=\d", one) for one in caplog.messages)
    assert caplog.records[-1].levelno == logging.WARNING


@pytest.mark.statement("002-14")
def test_the_context_block_is_laid_out_as_the_document_says() -> None:
    chunks = [
        {"chunk_text": "One.", "document_id": "a", "chunk_index": 0, "score": 0.9},
        {"chunk_text": "Two.", "document_id": "b", "chunk_index": 4, "score": 0.8},
    ]
    assert unchunk.build_context_block(chunks) == "CONTEXT:\n\nOne. [a:0]\n\nTwo. [b:4]"


@pytest.mark.statement("002-15", "002-24")
def test_a_context_block_that_is_too_long_loses_the_lowest_scores(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chunks = [
        {"chunk_text": "word " * 300, "document_id": "d", "chunk_index": at, "score": at / 10}
        for at in range(9)
    ]
    block = unchunk.build_context_block(chunks)
    assert 7000 < len(block) <= 8000
    assert cited(block) == [f"d:{at}" for at in range(3, 9)]
    [record] = caplog.records
    assert record.levelno == logging.WARNING


@needs_documents
@pytest.mark.statement("002-16")
def test_the_instruction_is_the_documents_and_the_context_is_fenced() -> None:
    [told] = re.findall(r'Prepend: "(.*)"$', code_block("002", 175), re.MULTILINE)
    first, rest = told.encode().decode("unicode_escape").split(" Cite sources")
    [_, tail] = rest.split("\n\nCONTEXT:\n{context}\n\n")
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": NIGHT}]
    made = unchunk.inject_rag_context(messages, "CONTEXT:\n\nOne. [a:0]")
    said = str(made[-1]["content"])
    assert made[0] == messages[0]
    assert said.startswith(f"{first} Cite sources as [doc_id:chunk_index]")
    assert re.search(r"\n\nCONTEXT:\n<<<(evidence.*)\nOne\. \[a:0\]\n\1>>>\n\n", said)
    assert said.endswith(tail.replace("{original_user_message}", NIGHT))


@needs_documents
@pytest.mark.statement("002-18")
def test_the_integration_runs_as_the_document_writes_it() -> None:
    body = textwrap.indent(code_block("002", 193), "    ")
    found: dict[str, Any] = {
        "retrieve_chunks": unchunk.retrieve_chunks,
        "build_context_block": unchunk.build_context_block,
        "inject_rag_context": unchunk.inject_rag_context,
        "_prepare_messages": lambda payload: [{"role": "user", "content": payload}],
        "payload": NIGHT,
    }
    exec(f"async def integrated():\n{body}\n    return messages", found)  # noqa: S102 - as written
    kept = Chunkenizer(RESULTS)
    with chunkenizer(kept) as url:
        found["settings"] = SimpleNamespace(
            rag_enabled=True, rag_top_k=2, chunkenizer_api_url=url, rag_max_context_chars=8000
        )
        [message] = asyncio.run(found["integrated"]())
        found["settings"].rag_enabled = False
        assert asyncio.run(found["integrated"]()) == [{"role": "user", "content": NIGHT}]
    assert [one["top_k"] for one in kept.asked] == [2]
    assert len(cited(message["content"].partition("CONTEXT:")[2])) == 2


@needs_documents
@pytest.mark.statement("002-09", "002-17")
@pytest.mark.parametrize(
    "variables",
    [
        {},
        *({"RAG_ENABLED": it} for it in ("1", "TRUE", "yes", "y", "On", "0", "false", "no")),
        {"RAG_TOP_K": "9", "RAG_MAX_CONTEXT_CHARS": "100", "CHUNKENIZER_API_URL": "http://a:1"},
    ],
    ids=str,
)
def test_the_variables_mean_what_the_documents_expressions_say(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    lines = re.findall(r"`(\w+): \w+ = (os\.getenv.*|int\(os.*)`$", document("002"), re.MULTILINE)
    getenv = SimpleNamespace(getenv=variables.get)
    theirs = {name: eval(code, {"os": getenv, "int": int}) for name, code in lines}  # noqa: S307
    assert len(theirs) == 4
    ours = load(tmp_path, variables)
    assert ours.rag_enabled is theirs["rag_enabled"]
    if variables.keys() >= {"RAG_TOP_K"}:
        assert ours.rag_top_k == theirs["rag_top_k"]
        assert ours.rag_max_context_chars == theirs["rag_max_context_chars"]
        assert ours.answer_source == f"chunkenizer:{theirs['chunkenizer_api_url']}"
    else:
        # Our own library keeps its own defaults, and is what is asked.
        assert (ours.rag_top_k, ours.rag_max_context_chars, ours.answer_source) == (None, None, "")
        assert (theirs["rag_top_k"], theirs["rag_max_context_chars"]) == (5, 8000)


@pytest.fixture
def library_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, ScriptedModel]]:
    """A home with two documents and the variables of a model."""
    for name in [it for it in os.environ if it.startswith(("UNCHUNK_", "RAG_", "CHUNKENIZER_"))]:
        monkeypatch.delenv(name)
    with ScriptedModel() as model:
        home = tmp_path / "home"
        for name, value in environment(home).items():
            if name.startswith("UNCHUNK_"):
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("UNCHUNK_CHAT", "openai:scripted")
        monkeypatch.setenv("UNCHUNK_CHAT_URL", f"{model.url}/v1")
        for name, text in (("harbour.md", HARBOUR), ("lighthouse.md", LIGHTHOUSE)):
            (tmp_path / name).write_text(text)
        yield home, model


@pytest.mark.statement("002-26")
@pytest.mark.parametrize("where", ["environment", "file", "own library"])
def test_a_url_is_enough_in_the_python_api_and_the_file_and_the_source_goes_over_it(
    library_home: tuple[Path, ScriptedModel], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, model = library_home
    with chunkenizer(kept := Chunkenizer(RESULTS)) as url:
        if where == "file":
            home.mkdir()
            (home / "unchunk.toml").write_text(f'chunkenizer_url = "{url}"\n')
        else:
            monkeypatch.setenv("CHUNKENIZER_API_URL", url)
        if where == "own library":
            monkeypatch.setenv("UNCHUNK_CHAT_SOURCE", "library")
        with unchunk.open() as library:
            library.add(home.parent / "harbour.md")
            found = library.ask(NIGHT)
    [own] = [one.name for one in found.sources.documents if one.name == "harbour.md"] or [""]
    assert bool(kept.asked) is (where != "own library")
    assert bool(own) is (where == "own library")
    assert "22 euros" in str(model.asked[-1].body["messages"])


@pytest.mark.statement("002-26")
def test_the_command_that_asks_asks_chunkenizer_too(
    library_home: tuple[Path, ScriptedModel],
) -> None:
    home, model = library_home
    with chunkenizer(kept := Chunkenizer(RESULTS)) as url:
        chosen = {"CHUNKENIZER_API_URL": url, "RAG_TOP_K": "2"} | {
            name: os.environ[name] for name in ("UNCHUNK_CHAT", "UNCHUNK_CHAT_URL")
        }
        with piped("ask", NIGHT, "--json", home=home, settings=chosen) as asking:
            assert asking.ended() == 0, asking.complained
    assert [one["top_k"] for one in kept.asked] == [2]
    assert len(json.loads(asking.said)["sources"]) >= 1
    assert model.asked


@pytest.mark.statement("002-26")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:{port}", "is not a server URL: use http://HOST:PORT"),
        ("http://localhost:{port}", "is the address of this server itself"),
        ("http://127.0.0.1:{port}/api", "is the address of this server itself"),
    ],
)
def test_a_server_does_not_start_with_a_url_that_cannot_be_a_chunkenizers(
    tmp_path: Path, url: str, said: str
) -> None:
    (port,) = free_ports(1)
    settings = {"CHUNKENIZER_API_URL": url.format(port=port)}
    command = ("serve", "--port", str(port), "--no-sample")
    with piped(*command, home=tmp_path / "home", settings=settings) as serving:
        assert serving.ended() != 0
    assert said in serving.complained
    assert url.format(port=port) in serving.complained


@pytest.mark.statement("002-27")
def test_over_our_own_library_the_variables_limit_chunks_and_characters(
    library_home: tuple[Path, ScriptedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, model = library_home

    def sent() -> tuple[str, list[str]]:
        with unchunk.open() as library:
            library.add(home.parent / "harbour.md", home.parent / "lighthouse.md")
            used = library.ask("What do the harbour and the lighthouse cost a night?").usage
        said = str(model.asked[-1].body["messages"][-1]["content"]).partition("CONTEXT:")[2]
        assert used is not None
        return f"{used.context_budget}", cited(said)

    budget, usual = sent()
    assert budget == "24000"
    monkeypatch.setenv("RAG_TOP_K", "1")
    monkeypatch.setenv("RAG_MAX_CONTEXT_CHARS", "900")
    budget, limited = sent()
    assert budget == "900"
    assert len(limited) == 1 < len(usual)
    monkeypatch.setenv("RAG_TOP_K", "0")
    with pytest.raises(unchunk.UnchunkError, match="rag_top_k has to be from 1"):
        unchunk.open().__enter__()


@pytest.mark.statement("002-20", "002-27")
def test_of_long_documents_so_many_chunks_are_sent_and_whole_ones_have_no_limit_of_chunks(
    library_home: tuple[Path, ScriptedModel],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    home, model = library_home
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("RAG_TOP_K", "3")
    nights = (
        f"Night {at} in the harbour costs {at} euros. " + "It is dear. " * 9 for at in range(60)
    )
    (home.parent / "nights.md").write_text("\n\n".join(nights))

    def sent(question: str) -> int:
        caplog.clear()
        library.ask(question)
        context = str(model.asked[-1].body["messages"][-1]["content"]).partition("CONTEXT:")[2]
        [line] = [one for one in caplog.messages if one.startswith("RAG retrieval")]
        assert f"chunks={len(cited(context))} " in line
        return len(cited(context))

    with unchunk.open() as library:
        library.add(home.parent / "nights.md")
        assert sent("What does a night in the harbour cost?") == 3
        assert sent("source:nights.md summarise") > 3


@pytest.mark.statement("002-25")
def test_the_documentation_says_how_it_works() -> None:
    docs = {path.name: path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")}
    readme = (ROOT / "README.md").read_text("utf-8")
    for name in ("RAG_ENABLED", "RAG_TOP_K", "RAG_MAX_CONTEXT_CHARS", "CHUNKENIZER_API_URL"):
        assert f"`{name}`" in docs["settings.md"]
        assert name in docs["answers.md"]
        assert name in readme
    assert re.search(r"curl [^`]*?/api/chat", readme)
    assert re.search(r"curl [^`]*?/documents", readme)
    assert "[document:chunk]" in docs["answers.md"]
    assert "[document:chunk]" in readme
    assert re.search(r"curl [^`]*?/api/chat", docs["http.md"])
    assert re.search(r"curl [^`]*?/documents", docs["http.md"])
