"""Values as JSON on the wire."""

import json
from datetime import datetime

from starlette.responses import Response


def rendered(value: object) -> bytes:
    """JSON in UTF-8. Half a character, as a model may give it, is escaped: the rest may follow."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def reply(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(rendered(value), status, headers, "application/json")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")
