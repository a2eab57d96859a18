"""Errors as OpenAI's clients know them: `{"error": {"message", "type", "param", "code"}}`.

Whoever raises them, and wherever: what is sent for a path of this API has this shape.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from unchunk.errors import InvalidInputError

PREFIX = "/v1"
_NO_OBJECT = ("model_type", "model_attributes_type", "dict_type")
_LONGEST, _LONGEST_SAID = 100, 300
# What it knows no class of error for.
_STATUSES = {410: 404, 415: 400, 421: 400, 422: 400}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
# Where its clients look for a word of their own.
_CODES = {
    "wrong-key": "invalid_api_key",
    "too-many": "rate_limit_exceeded",
    "malformed": "invalid_request",
    "invalid": "invalid_request",
}


class WrongFieldError(InvalidInputError):
    """What a request says in one place makes no sense, or is not done here."""

    def __init__(self, message: str, param: str, code: str) -> None:
        super().__init__(message)
        self.param, self.code = param, code


def refuse(message: str, *, param: str = "", code: str = "invalid_value") -> WrongFieldError:
    """To be raised: a 400 that names the place, as `chunking_strategy.static` is one."""
    return WrongFieldError(message, param, code)


@contextmanager
def about(param: str) -> Iterator[None]:
    """What is wrong in here is wrong with this part of the request."""
    try:
        yield
    except InvalidInputError as error:
        raise refuse(str(error), param=param) from error


def is_asked(path: str) -> bool:
    """Whether a path is one of this API, if there is any such."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def nowhere(method: str, path: str) -> str:
    return f"there is no {method} {path[:_LONGEST]} here: docs/openai.md lists what there is"


def status_of(status: int) -> int:
    return _STATUSES.get(status, status)


def fault(status: int, kind: str, message: str, param: str = "") -> dict[str, object]:
    """The body of an error; `kind` is our word for it."""
    usual = "server_error" if status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": message,
            "type": _TYPES.get(status, usual),
            "param": param or None,
            "code": _CODES.get(kind, kind.replace("-", "_")),
        }
    }


def malformed(error: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with a request, in one sentence, and where in it."""
    if error["type"] == "json_invalid":
        # Its location counts characters.
        return f"the body is not valid JSON: {error['ctx']['error']}", ""
    where, said = _place(error["loc"]), str(error["msg"])
    if error["type"] == "value_error":
        # Ours, in its own words.
        said = str(error["ctx"]["error"])
    elif error["type"] in _NO_OBJECT:
        # Theirs names a class.
        said = "Input should be an object"
    if not said.startswith((where or "the body", where.rpartition(".")[2] or "the body")):
        said = f"{where or 'the body'}: {said}"
    return said[:_LONGEST_SAID], where


def _place(where: Sequence[object]) -> str:
    """Where in a request something is, as `files[0].file_id`, without the name of the part."""
    told = ""
    for one in where[1:]:
        told += f"[{one}]" if isinstance(one, int) else f".{str(one)[:_LONGEST]}"
    return told.lstrip(".")
