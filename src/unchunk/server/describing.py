"""The description of the API, at /openapi.json: what the routes say of themselves, and what holds
for all of them.
"""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel

from unchunk.server.documented import WORDS
from unchunk.server.entrance import METRICS, is_open
from unchunk.server.options import Options
from unchunk.server.sessions import COOKIE
from unchunk.server.tracing import HEADER

Json = dict[str, Any]

_ABOUT = """\
Ask your documents, and answer from whole passages.

Errors are `{"error": {"type", "message", "request_id"}, "detail"}`: `type` is for programs, `message`
for people. All offsets count Unicode characters. Times are ISO 8601. Ids say nothing.

Beside what is here, `/api/chat/ws` answers over a WebSocket, `/mcp` has tools for agents, `/v1` is
OpenAI's API, and `/` is the page.
"""
TAGS = [
    {"name": "chat", "description": "Questions, answered whole or as the answer is written."},
    {"name": "conversations", "description": "What was asked and answered before; and prompts."},
    {"name": "search", "description": "Evidence without an answer, and how it was found."},
    {"name": "documents", "description": "Which documents there are, new ones, and gone ones."},
    {"name": "reading", "description": "What a document says: text, chunks, pages, the file."},
    {"name": "jobs", "description": "Files on their way in, and how far they are."},
    {"name": "session", "description": "Signing in on the page with a key, and out."},
    {"name": "operations", "description": "For those who run the server: health and figures."},
    {
        "name": "chunkenizer",
        "description": "Search as Chunkenizer's clients know it. Its other routes are `documents`"
        " and `health`, at the root and under `/api`.",
    },
]
_SCHEMES: Json = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key that `unchunk keys new NAME` made.",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same, for clients that cannot send the other.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "What signing in on the page sets; over https its name begins with"
        " `__Host-`. What changes something also needs `X-CSRF-Token`.",
    },
}
_KEYS: list[Json] = [{"bearer": []}, {"key": []}]
_ANY: list[Json] = [*_KEYS, {"session": []}]
# Of no effect where no key is needed.
_NONE: list[Json] = [{}]
_REQUEST_ID = {
    "description": "The id of the request: the one that came with it, or a new one.",
    "schema": {"type": "string"},
}
_OTHER_HEADERS: dict[str, Json] = {
    "401": {"WWW-Authenticate": {"schema": {"type": "string"}}},
    "429": {
        "Retry-After": {
            "description": "Seconds to wait.",
            "schema": {"type": "integer", "minimum": 0},
        }
    },
}


def operation_id(route: APIRoute) -> str:
    """The name of its function; Chunkenizer's routes stand twice, and so does health."""
    path = route.path_format
    if path.startswith(("/documents", "/search")):
        return f"chunkenizer_{route.name}"
    return f"api_{route.name}" if path == "/api/health" else route.name


def describe(app: FastAPI, options: Options) -> None:
    """Let the application describe itself so; what it says is made once."""
    made: Json = {}

    def openapi() -> Json:
        if not made:
            made.update(_openapi(app, options))
        return made

    app.openapi = openapi  # type: ignore[method-assign]  # as its documentation has it


def _openapi(app: FastAPI, options: Options) -> Json:
    api = get_openapi(
        title="unchunk",
        version=options.version,
        summary="Ask your documents.",
        description=_ABOUT,
        routes=app.routes,
        tags=TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    api["components"]["securitySchemes"] = _SCHEMES
    api["security"] = _ANY if options.keys_in_force else [*_ANY, *_NONE]
    for name, examples in _examples(BaseModel):
        if name in api["components"]["schemas"]:
            api["components"]["schemas"][name]["examples"] = examples
    for path, operation in _operations(api):
        operation["summary"] = operation["summary"].capitalize()
        if is_open(path):
            operation["security"] = [*_NONE, *_ANY]
        elif path == METRICS:
            operation["security"] = _KEYS if options.keys_in_force else [*_KEYS, *_NONE]
        responses = operation["responses"]
        if "requestBody" in operation:
            # What is no text at all, or does not come, is refused before anybody looks at it.
            for status in (400, 408):
                told = {**responses["422"], "description": WORDS[status]}
                responses.setdefault(str(status), told)
        for status, response in responses.items():
            known = response.get("headers", {}) | _OTHER_HEADERS.get(status, {})
            response["headers"] = known | {HEADER: _REQUEST_ID}
    return api


def _examples(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Those of our models: FastAPI leaves out of them what is null."""
    for one in model.__subclasses__():
        extra = one.model_config.get("json_schema_extra")
        if one.__module__.startswith(__package__) and isinstance(extra, dict):
            yield one.__name__, extra["examples"]
        yield from _examples(one)


def _operations(api: Json) -> Iterator[tuple[str, Json]]:
    for path, methods in api["paths"].items():
        for operation in methods.values():
            yield path, operation
