"""OpenAI's vector-store objects out of JSON that anybody may have sent. Does no I/O.

What is needed and not there is an error that names it; what is only wrong is let be.
"""

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from unchunk.adapters.sources.characters import is_sound, sound
from unchunk.domain import ChunkingStrategy
from unchunk.errors import IntegrityError, InvalidStrategyError
from unchunk.ports import FieldValue, LostFile, LostStatus

_STATUS: dict[str, LostStatus] = {
    "completed": "ready",
    "in_progress": "in progress",
    "failed": "failed",
    "cancelled": "cancelled",
}
_LONGEST_ID = 512
_LONGEST_NAME = 5_000
_SHOWN = 60

Object = Mapping[str, object]


class Listed(NamedTuple):
    """A page of a list; `more` is None where the server does not say whether there is any."""

    data: list[Object]
    more: bool | None
    next_page: str


def page(reply: object, what: str) -> Listed:
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(reply, dict) or not isinstance(data, list):
        raise IntegrityError(f"{what} is not a list: {_shown(reply)}")
    for one in data:
        if not isinstance(one, dict):
            raise IntegrityError(f"{what} holds {_shown(one)}, which is not an object")
    more, following = reply.get("has_more"), reply.get("next_page")
    if isinstance(following, str) and not is_sound(following):
        raise IntegrityError(f"{what} goes on at {_shown(following)}, which nobody can ask for")
    return Listed(
        data,
        more if isinstance(more, bool) else None,
        following if isinstance(following, str) else "",
    )


def id_of(row: Object, what: str) -> str:
    """Of a file; it becomes part of a path, so not everything will do."""
    found = row.get("id")
    if (
        not isinstance(found, str)
        or not 0 < len(found) <= _LONGEST_ID
        or found in (".", "..")
        or not is_sound(found)
    ):
        raise IntegrityError(f"{what} holds a file whose id is {_shown(found)}")
    return found


def lost_file(row: Object, identity: str, about: Object, where: str) -> LostFile:
    """A file of a store from its place in the store and from what is said of it as a file."""
    status = row.get("status")
    known = _STATUS.get(status) if isinstance(status, str) else None
    problem = "" if known else f"its status is {_shown(status)}, which is not known"
    error = row.get("last_error")
    if known not in (None, "ready") and isinstance(error, dict):
        problem = ": ".join(str(error[key]) for key in ("code", "message") if error.get(key))
    attributes = _attributes(row.get("attributes"))
    strategy = strategy_of(row.get("chunking_strategy"))
    named = attributes.get("filename")
    size, made = about.get("bytes"), about.get("created_at")
    mark = f"{where} {row.get('created_at')} {row.get('usage_bytes')} {made} {size} {strategy}"
    return LostFile(
        identity,
        _text(about.get("filename")) or _text(named) or identity,
        known or "failed",
        problem[:_LONGEST_NAME],
        strategy,
        attributes,
        mark[:_LONGEST_NAME],
        size if type(size) is int and size > 0 else None,
    )


def strategy_of(given: object) -> ChunkingStrategy | None:
    if not isinstance(given, dict):
        return None
    if given.get("type") == "auto":
        return ChunkingStrategy()
    static = given.get("static")
    if given.get("type") != "static" or not isinstance(static, dict):
        return None
    size, overlap = static.get("max_chunk_size_tokens"), static.get("chunk_overlap_tokens")
    if type(size) is not int or type(overlap) is not int:
        return None
    try:
        return ChunkingStrategy("tokens", size, overlap)
    except InvalidStrategyError:
        return None


def _attributes(given: object) -> dict[str, FieldValue]:
    if not isinstance(given, dict):
        return {}
    return {
        name: value
        for name, value in given.items()
        if isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value))
    }


def _text(value: object) -> str:
    return sound(value[:_LONGEST_NAME]) if isinstance(value, str) else ""


def _shown(value: object) -> str:
    """What came instead, in a few characters."""
    if isinstance(value, dict):
        return f"an object with {', '.join(map(repr, list(value)[:5])) or 'nothing'}"[:_SHOWN]
    shown = ascii(value[:_SHOWN] if isinstance(value, str | list) else value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
