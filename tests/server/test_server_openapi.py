"""The description of the API says all of every route, and its examples are true."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast, get_args

import httpx2
import jsonschema_rs
import pytest

from server.scripted import Scripted, parsed, serving
from unchunk.chat.events import Kind
from unchunk.engine import Engine
from unchunk.server.app import create_app
from unchunk.server.describing import TAGS
from unchunk.server.options import Options

Json = dict[str, Any]
# Nothing is opened: an application describes itself before it starts.
API: Json = create_app(cast("Engine", object())).openapi()
KEYED: Json = create_app(cast("Engine", object()), Options(require_keys=True)).openapi()
JSON = "application/json"
# What clients are generated from: a name that changes breaks them.
IDS = """
    api_health chat chat_stream join_stream stop_stream
    chunkenizer_delete_document chunkenizer_get_document chunkenizer_list_documents
    chunkenizer_search chunkenizer_upload
    delete_conversation get_conversation list_conversations rename_conversation
    delete_document get_document list_documents upload
    delete_folder list_folders get_chunks get_marks get_original get_outline get_page get_text
    get_job list_jobs reindex_document retry_document
    get_session sign_in sign_out health live ready metrics status
    list_prompts set_prompt retrieve search
"""


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    told: Json

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def bodies(self) -> Iterator[tuple[str, Json]]:
        """What may be sent and what comes back where all is well, with its kind of content."""
        yield from self.told.get("requestBody", {}).get("content", {}).items()
        for status, reply in self.told["responses"].items():
            if status.startswith("2"):
                yield from reply.get("content", {}).items()


def operations(api: Json = API) -> list[Operation]:
    return [
        Operation(method.upper(), path, told)
        for path, methods in api["paths"].items()
        for method, told in methods.items()
    ]


every = pytest.mark.parametrize("operation", operations(), ids=str)


def resolved(schema: Json) -> Json:
    while "$ref" in schema:
        schema = API["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def examples(content: Json) -> list[tuple[Json, object]]:
    """Each example with the schema that it must fit; one for each kind that there may be."""
    if "example" in content:
        return [(content["schema"], content["example"])]
    kinds = resolved(content["schema"]).get("anyOf", [content["schema"]])
    kinds = [kind for kind in kinds if kind != {"type": "null"}]
    found = [(kind, one) for kind in kinds for one in resolved(kind).get("examples", [])]
    assert {id(kind) for kind, _ in found} == {id(kind) for kind in kinds}, content
    return found


def check(schema: Json, value: object) -> None:
    whole = {"components": API["components"], **schema}
    jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(value)


@every
def test_a_route_says_what_it_is(operation: Operation) -> None:
    told = operation.told
    assert re.fullmatch(r"[A-Z][a-z ]+", told["summary"])
    assert told["description"].strip()[0].isupper()
    [tag] = told["tags"]
    assert tag in {one["name"] for one in TAGS}


@every
def test_a_route_says_what_it_takes(operation: Operation) -> None:
    names = re.findall(r"{(\w+)}", operation.path)
    given = operation.told.get("parameters", [])
    assert [one["name"] for one in given if one["in"] == "path"] == names
    for one in given:
        assert one["schema"]
    takes_more = operation.method in ("POST", "PUT", "PATCH")
    is_about_one = operation.path.endswith(("/retry", "/reindex"))
    assert ("requestBody" in operation.told) == (takes_more and not is_about_one)


@every
def test_a_route_says_what_it_answers_and_refuses(operation: Operation) -> None:
    replies = operation.told["responses"]
    fine = [status for status in replies if status.startswith("2")]
    assert fine
    for status, reply in replies.items():
        assert reply["description"].strip()
        assert "X-Request-ID" in reply["headers"]
        content = reply.get("content", {})
        if status in ("204", "304"):
            assert not content
        elif status in fine:
            assert content
            assert all(one.get("schema") or one["itemSchema"] for one in content.values())
        else:
            schema = content[JSON]["schema"]
            kinds = [one["$ref"].rpartition("/")[2] for one in schema.get("anyOf", [schema])]
            assert "Problem" in kinds
    assert {"401", "403", "413", "421", "422", "429", "503"} <= set(replies)
    assert "WWW-Authenticate" in replies["401"]["headers"]
    assert "Retry-After" in replies["429"]["headers"]
    if "{" in operation.path:
        assert "404" in replies


@every
def test_a_route_has_examples_and_they_are_as_it_says(operation: Operation) -> None:
    for kind, content in operation.bodies:
        if kind in (JSON, "multipart/form-data"):
            found = examples(content)
            assert found, kind
            for schema, example in found:
                check(schema, example)


@pytest.mark.parametrize("name", API["components"]["schemas"])
def test_whatever_has_examples_is_as_they_are(name: str) -> None:
    schema: Json = {"$ref": f"#/components/schemas/{name}"}
    for example in resolved(schema).get("examples", []):
        check(schema, example)


def test_the_example_of_a_stream_is_one_and_every_event_is_described() -> None:
    content = API["paths"]["/api/chat/stream"]["post"]["responses"]["200"]["content"]
    stream = content["text/event-stream"]
    kinds = {
        one["properties"]["event"]["const"]: one["properties"]["data"]["contentSchema"]
        for one in stream["itemSchema"]["oneOf"]
    }
    assert set(kinds) == set(get_args(Kind))
    events = parsed(stream["example"])
    assert [one.kind for one in events] == ["plan", "token", "done"]
    for one in events:
        check(stream["itemSchema"], {"event": one.kind, "data": json.dumps(one.data), "id": one.id})
        check(kinds[one.kind], one.data)


def test_whatever_is_referred_to_is_there() -> None:
    wanted = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(API)))
    assert wanted <= set(API["components"]["schemas"])


def test_an_error_has_an_example() -> None:
    assert API["components"]["schemas"]["Problem"]["examples"]


def test_names_of_operations_do_not_change_by_themselves() -> None:
    ids = [one.told["operationId"] for one in operations()]
    assert sorted(ids) == sorted(IDS.split())


def test_every_route_for_programs_is_described() -> None:
    app = create_app(Scripted().engine)
    hidden = {"/", "/page/{name}", "/favicon.ico", "/mcp", "/openapi.json", "/api/chat/ws"}
    with serving(Scripted().engine) as served:
        known = httpx2.get(f"{served.url}/openapi.json", timeout=60).json()
        assert known == app.openapi() == API
        described = {(one.method, one.path) for one in operations()}
        for path in hidden - {"/page/{name}"}:
            assert not any(path == it for _, it in described)
    assert {tag["name"] for tag in API["tags"]} == {one.told["tags"][0] for one in operations()}


def test_keys_are_asked_for_where_they_are_in_force_and_nowhere_else() -> None:
    schemes = API["components"]["securitySchemes"]
    assert {it["type"] for it in schemes.values()} == {"http", "apiKey"}
    assert {it.get("in") for it in schemes.values()} == {None, "header", "cookie"}
    named: list[Json] = [{"bearer": []}, {"key": []}, {"session": []}]
    assert API["security"] == [*named, {}]
    assert KEYED["security"] == named
    for one in operations(KEYED):
        own = one.told.get("security", [])
        if one.path.endswith(("/health", "/live", "/ready", "/session")):
            assert {} in own
        elif one.path == "/metrics":
            assert own == named[:2]
        else:
            assert not own
