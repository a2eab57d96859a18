"""How routes are described in /openapi.json: what each answers, and what it may refuse."""

from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue


class Fault(BaseModel):
    """`type` is for programs, `message` for people, `request_id` for the server's log."""

    type: str
    message: str
    request_id: str


class Problem(BaseModel):
    """What a request that failed is told."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "type": "not-found",
                        "message": "there is no document 'b7'",
                        "request_id": "5f0c",
                    },
                    "detail": "there is no document 'b7'",
                }
            ]
        }
    )

    error: Fault
    detail: JsonValue


# Any route may be refused so, before it is looked at.
_ALWAYS = (401, 403, 408, 413, 421, 422, 429, 503)
WORDS = {
    400: "What was asked makes no sense.",
    401: "A key is needed, or this one is not valid.",
    403: "Not from this page, or not with this key.",
    404: "It is not there, or somebody else's.",
    408: "The request did not come in time.",
    409: "Something else has to happen first.",
    410: "It is no longer kept.",
    413: "Too much was sent.",
    415: "Such a file or body cannot be read.",
    421: "The server does not answer under that name.",
    422: "The request is malformed, or the file cannot be read.",
    429: "Too many requests: `Retry-After` says when to go on.",
    501: "A part is not installed.",
    502: "A provider refused.",
    503: "Something that is needed does not answer now.",
    507: "There is no room on the disk.",
}


def told(
    model: type[BaseModel] | None, *refusals: int, status: int = 200
) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route: its reply, if it is JSON, and the refusals beside the usual."""
    known: dict[int | str, dict[str, Any]] = {} if model is None else {status: {"model": model}}
    for one in sorted({*_ALWAYS, *refusals}):
        known[one] = {"model": Problem, "description": WORDS[one]}
    return known
