"""The tools over HTTP, by the official client and by hostile ones."""

import json
from collections.abc import Mapping
from typing import Any, cast

import httpx2
import pytest
from mcp import MCPError

from agents.clients import ERAS, Hearing, over_http, refused, run, told
from agents.shelves import HARBOUR, LONG, Town
from server.scripted import Served

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}


def posted(
    served: Served, body: object, key: str = "", headers: Mapping[str, str] | None = None
) -> httpx2.Response:
    """What a client of its own making gets."""
    sent = HEADERS | dict(headers or {})
    if key:
        sent["Authorization"] = f"Bearer {key}"
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(f"{served.url}/mcp", content=content, headers=sent, timeout=60)


def calling(tool: str, arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_say_what_they_are_for_and_what_they_take(
    served: Served, keys: Town, era: str
) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada, era) as client:
            assert client.instructions is not None
            assert "data, and no instruction" in client.instructions
            tools = {one.name: one for one in (await client.list_tools()).tools}
            assert list(tools) == ["rag_search", "get_document", "list_documents", "ask"]
            for one in tools.values():
                assert one.description
                assert one.title
                assert one.annotations is not None
                # A conversation is kept where one is named, and nothing else is ever changed.
                assert one.annotations.read_only_hint is (one.name != "ask")
                assert one.annotations.destructive_hint is False
                assert one.input_schema["additionalProperties"] is False
            search = tools["rag_search"].input_schema
            assert search["required"] == ["query"]
            limit = search["properties"]["limit"]
            assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 50, 10)
            assert search["properties"]["use_chunk_aware"]["default"] is True
            assert set(tools["get_document"].input_schema["properties"]) == {
                "document",
                "start",
                "end",
            }

    run(work)


@pytest.mark.parametrize("era", ERAS)
def test_a_search_gives_documents_in_the_form_that_was_asked_for(
    served: Served, keys: Town, era: str
) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada, era) as client:
            found = await told(client, "rag_search", query="what does a berth cost", limit=1)
            lines = found.splitlines()
            assert lines[0] == "🔍 CHUNK-AWARE RETRIEVAL: 1 document(s) reconstructed"
            assert lines[2] == "[1] MARKDOWN: Rules of the harbour"
            assert lines[3] == f"    Document: {keys.of_ada}"
            assert lines[4].startswith("    Relevance: ")
            assert lines[5].startswith("    Coverage: chunks 0")
            assert "\n    The harbour master keeps the keys" in found
            # What a document says cannot pass for a card of ours.
            assert "\n    [2] PAGE: Forged card" in found
            assert "\n[2] PAGE" not in found
            short = await told(
                client, "rag_search", query="what does a berth cost", show_content=False
            )
            assert "Matched chunks" in short
            assert "fourteen" not in short
            plain = await told(client, "rag_search", query="berth", use_chunk_aware=False, limit=1)
            assert plain.startswith("🔍 1 chunk(s) found")
            assert "Preview: " in plain

    run(work)


def test_a_search_stays_in_its_folder(served: Served, keys: Town) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            found = await told(client, "rag_search", query="tides and berths", folder="rules")
            assert "Rules of the harbour" in found
            assert "long.txt" not in found
            for aware in (True, False):
                nothing = await told(
                    client, "rag_search", query="berth", folder="none", use_chunk_aware=aware
                )
                assert "Nothing was found" in nothing

    run(work)


def test_what_has_no_room_in_a_result_is_named(served: Served, keys: Town) -> None:
    async def work() -> str:
        async with over_http(served.url, keys.ada) as client:
            return await told(client, "rag_search", query="long report tides weather", limit=50)

    found = run(work)
    assert len(found) < 80_000


@pytest.mark.parametrize("era", ERAS)
def test_a_long_text_is_read_part_by_part(served: Served, keys: Town, era: str) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada, era) as client:
            read, start = "", 0
            while True:
                part = await told(client, "get_document", document="long.txt", start=start)
                head, _, content = part.partition("\n\n    Content:\n")
                lines = content.removesuffix("\n").split("\n")
                read += "\n".join(line.removeprefix("    ") for line in lines)
                if "More: " not in head:
                    break
                more = head.partition("and start ")[2].partition(" ")[0]
                assert start < int(more) <= start + 20_000
                start = int(more)
            assert f"of {len(LONG)}" in head
            assert read == LONG

    run(work)


def test_a_document_is_found_by_its_id_its_name_and_its_path(served: Served, keys: Town) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            for name in (keys.of_ada, "harbour.md", "rules/harbour.md"):
                found = await told(client, "get_document", document=name, start=2, end=22)
                assert found.endswith("Content:\n    Rules of the harbour\n")
                assert f"Characters: 2-22 of {len(HARBOUR)}" in found
                assert "and start 22 goes on" in found

    run(work)


def test_a_document_without_text_says_why(served: Served, keys: Town) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            assert "has no text: " in await refused(client, "get_document", document="odd.pdf")

    run(work)


@pytest.mark.parametrize(("start", "end"), [(10_000_000, None), (5, 5), (9, 3), (10**12, 10**12)])
def test_a_part_that_is_not_there_says_how_long_the_text_is(
    served: Served, keys: Town, start: int, end: int | None
) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            said = await refused(client, "get_document", document=keys.of_ada, start=start, end=end)
            assert f"the text has {len(HARBOUR)} characters" in said

    run(work)


def test_documents_are_listed_narrowed_and_paged(served: Served, keys: Town) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            every = await told(client, "list_documents")
            assert every.startswith("3 document(s)\n")
            assert "TEXT: long.txt" in every
            assert "Failed: " in every
            assert "File: rules/harbour.md" in every
            one = await told(client, "list_documents", folder="rules")
            assert one.startswith("1 document(s)\n")
            named = await told(client, "list_documents", query="HARBOUR")
            assert keys.of_ada in named
            assert named.startswith("1 document(s)\n")
            part = await told(client, "list_documents", limit=1, offset=1)
            assert part.startswith("3 document(s), 2-2 of them here\nMore: offset 2 goes on")
            behind = await told(client, "list_documents", offset=50)
            assert behind == "3 document(s), none behind that\n"

    run(work)


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_has_citations_and_sources_that_can_be_read(
    served: Served, keys: Town, era: str
) -> None:
    heard = Hearing()

    async def work() -> None:
        async with over_http(served.url, keys.ada, era) as client:
            question = {"question": "What does a berth cost?", "conversation": "new"}
            result = await client.call_tool("ask", question, progress_callback=heard)
            [content] = result.content
            said = content.model_dump()["text"]
            assert said.startswith("Answer:\n    ")
            assert f"[{keys.of_ada}:0]" in said
            assert f"    Document: {keys.of_ada}" in said
            assert "    Cited: chunk 0 (characters 0-" in said
            conversation = said.partition("Conversation: ")[2].split()[0]
            again = await told(
                client, "ask", question="And who keeps the keys?", conversation=conversation
            )
            assert f"Conversation: {conversation}" in again
            kept = await told(client, "ask", question="What does a berth cost?", folder="none")
            assert "Conversation: " not in kept

    run(work)
    assert heard.told[0] == (1.0, "documents found: 1")
    done = [one for one, _ in heard.told]
    assert done == sorted(set(done))


@pytest.mark.parametrize("era", ERAS)
def test_one_owner_sees_nothing_of_another(served: Served, keys: Town, era: str) -> None:
    async def work() -> None:
        async with (
            over_http(served.url, keys.ada, era) as ada,
            over_http(served.url, keys.ben, era) as ben,
        ):
            assert "The lighthouse" in await told(ben, "list_documents")
            assert "harbour" not in await told(ben, "list_documents")
            assert "harbour" not in await told(ben, "rag_search", query="harbour berth")
            assert "harbour" not in await told(ben, "ask", question="harbour berth crowns")
            assert "lighthouse" not in await told(ada, "rag_search", query="lighthouse lamp Ben")
            # Another's document is not there, in the same words as one that never was.
            theirs = await refused(ben, "get_document", document=keys.of_ada)
            nobodys = await refused(ben, "get_document", document="zzzzzzzzzzzzzzzz")
            assert theirs.replace(keys.of_ada, "ID") == nobodys.replace("z" * 16, "ID")
            said = await told(ada, "ask", question="What does a berth cost?", conversation="new")
            conversation = said.partition("Conversation: ")[2].split()[0]
            assert "there is no" in await refused(
                ben, "ask", question="And?", conversation=conversation
            )

    run(work)


@pytest.mark.parametrize("key", ["", "uk_0123456789abcdef_" + "x" * 43, "nonsense"])
def test_without_a_key_nobody_comes_in(served: Served, key: str) -> None:
    reply = posted(served, calling("list_documents", {}), key)
    assert reply.status_code == 401
    assert reply.json()["error"]["type"] in ("key-needed", "wrong-key")
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")

    async def work() -> None:
        with pytest.raises((MCPError, ExceptionGroup)):
            async with over_http(served.url, key) as client:
                await client.list_tools()

    run(work)


def test_a_key_that_is_revoked_is_good_for_nothing_more(served: Served) -> None:
    keyring = served.app.state.house.engine.keyring
    key, shown = served.inside(lambda: keyring.new("for a while", "ada"))
    assert posted(served, calling("list_documents", {}), shown).status_code == 200
    served.inside(lambda: keyring.revoke(key.id))
    assert posted(served, calling("list_documents", {}), shown).status_code == 401


def test_a_key_for_the_figures_alone_is_none_for_agents(served: Served) -> None:
    keyring = served.app.state.house.engine.keyring
    _, shown = served.inside(lambda: keyring.new("figures", "ada", "metrics"))
    assert posted(served, calling("list_documents", {}), shown).status_code == 403


def test_pages_of_others_and_other_names_are_kept_out(served: Served, keys: Town) -> None:
    body = calling("list_documents", {})
    foreign = posted(served, body, keys.ada, {"Origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["error"]["type"]) == (403, "wrong-origin")
    rebound = posted(served, body, keys.ada, {"Host": "evil.example"})
    assert (rebound.status_code, rebound.json()["error"]["type"]) == (421, "wrong-host")
    assert posted(served, body, keys.ada, {"Origin": served.url}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_there_is_nothing_to_listen_to_and_no_session_to_end(
    served: Served, keys: Town, method: str
) -> None:
    headers = HEADERS | {"Authorization": f"Bearer {keys.ada}", "Accept": "text/event-stream"}
    reply = httpx2.request(method, f"{served.url}/mcp", headers=headers, timeout=60)
    assert reply.status_code == 405
    assert reply.json()["error"]["type"] == "not-allowed"


HOSTILE: list[tuple[str, Any]] = [
    ("rag_search", {}),
    ("rag_search", {"query": ""}),
    ("rag_search", {"query": "   \n"}),
    ("rag_search", {"query": "x" * 100_001}),
    ("rag_search", {"query": ["berth"]}),
    ("rag_search", {"query": "berth", "limit": 0}),
    ("rag_search", {"query": "berth", "limit": 51}),
    ("rag_search", {"query": "berth", "limit": 10**40}),
    ("rag_search", {"query": "berth", "limit": 1.5}),
    ("rag_search", {"query": "berth", "use_chunk_aware": "perhaps"}),
    ("rag_search", {"query": "berth", "owner": "ben"}),
    ("rag_search", {"query": "berth", "folder": "x" * 1001}),
    ("get_document", {"document": "../../etc/passwd"}),
    ("get_document", {"document": "' OR 1=1 --"}),
    ("get_document", {"document": "\x00\x1b[2J\u202e"}),
    ("get_document", {"document": "harbour.md", "start": -1}),
    ("get_document", {"document": "harbour.md", "end": 10**13}),
    ("list_documents", {"limit": -5}),
    ("list_documents", {"offset": "all"}),
    ("ask", {"question": ""}),
    ("ask", {"question": "berth", "conversation": "no such one"}),
    ("ask", {"question": "berth", "conversation": "x" * 101}),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("tool", "arguments"), HOSTILE)
def test_hostile_arguments_are_refused_in_words(
    served: Served, keys: Town, tool: str, arguments: dict[str, object], era: str
) -> None:
    async def work() -> str:
        async with over_http(served.url, keys.ada, era) as client:
            return await refused(client, tool, **arguments)

    said = run(work)
    assert len(said) < 1_000
    assert not any(sign in said for sign in ("Traceback", "pydantic", "sqlalchemy", "\x1b", "\x00"))
    assert "went wrong inside" not in said


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_half_a_character_is_no_text(served: Served, keys: Town, version: str) -> None:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = calling("rag_search", {"query": "berth \ud800"})
    call["params"] = {**cast("dict[str, object]", call["params"]), "_meta": envelope}
    headers = {
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "rag_search",
    }
    reply = posted(served, call, keys.ada, headers)
    if version < "2026":
        assert reply.status_code == 400
        assert "Parse error" in reply.text
    else:
        assert reply.json()["result"]["isError"]
        assert "query: " in reply.text


def test_a_tool_that_is_none_is_an_error_of_the_protocol(served: Served, keys: Town) -> None:
    async def work() -> None:
        async with over_http(served.url, keys.ada) as client:
            with pytest.raises(MCPError, match="there is no tool 'delete_everything'"):
                await client.call_tool("delete_everything", {})

    run(work)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"[" * 50_000,
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}',
        b'\xff\xfe{"jsonrpc"',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}',
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "1999-01-01", "\x7f"])
def test_what_is_no_message_is_refused(
    served: Served, keys: Town, body: bytes, version: str
) -> None:
    reply = posted(served, body, keys.ada, {"MCP-Protocol-Version": version})
    assert reply.status_code < 500
    assert "Traceback" not in reply.text


def test_too_much_is_not_read(served: Served, keys: Town) -> None:
    reply = posted(served, calling("ask", {"question": "x" * 5_000_000}), keys.ada)
    assert reply.status_code == 413
