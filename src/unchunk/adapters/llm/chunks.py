"""Reads what a provider streams: server-sent events, and the chunks of an answer in them.

Does no I/O.
"""

import json
from typing import Any

from unchunk.ports import Delta, TokenUsage

DONE = b"[DONE]"
_LONGEST = 8 << 20
_FINISH = {"content_filter": "filtered"}


class StreamedError(Exception):
    """The provider says, amid an answer, that it failed; `code` is its own, or empty."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class EventReader:
    """Bytes that may be cut anywhere into the data of events.

    Comments and events without data are signs of life and nothing more. `stray` keeps the
    beginning of what is no event at all, to tell a web page from a stream.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.stray = b""

    def feed(self, received: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + received).split(b"\n")
        if len(self._rest) > _LONGEST:
            raise ValueError("a line of it does not end")
        events = []
        for line in lines:
            found = self._line(line.removesuffix(b"\r"))
            if found is not None:
                events.append(found)
        return events

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            data, self._data = self._data, []
            return b"\n".join(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name not in (b"", b"event", b"id", b"retry") and len(self.stray) < 200:
            self.stray += line[:200]
        return None


def read_chunk(data: bytes) -> Delta:
    """A piece of an answer; `ValueError` says what is wrong with it."""
    chunk = json.loads(data)
    if not isinstance(chunk, dict):
        raise _malformed("a piece of it is not an object")
    if error := chunk.get("error"):
        raise _streamed(error)
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        raise _malformed("a piece of it has no choices")
    usage = _usage(chunk.get("usage"))
    if not choices:
        return Delta(usage=usage)
    text, finish = _choice(_first(choices))
    return Delta(text, finish, usage)


def _first(choices: list[Any]) -> Any:  # noqa: ANN401 -- JSON, and nobody vouches for it
    """One answer was asked for; who sends several counts them."""
    counted = (one for one in choices if isinstance(one, dict) and one.get("index") == 0)
    return next(counted, choices[0])


def _choice(choice: Any) -> tuple[str, str]:  # noqa: ANN401 -- JSON, and nobody vouches for it
    if not isinstance(choice, dict):
        raise _malformed("a choice of it is not an object")
    finish = choice.get("finish_reason") or ""
    delta = choice.get("delta")
    if delta is None and (finish or "content_filter_results" in choice):
        delta = {}  # Azure tells so what its filter found.
    if not isinstance(delta, dict) or not isinstance(finish, str):
        raise _malformed("a piece of it has no text where it should be")
    content, refusal = delta.get("content"), delta.get("refusal")
    text = refusal if content is None and refusal is not None else content
    if not isinstance(text, str | None):
        raise _malformed("a piece of it has no text where it should be")
    return text or "", _FINISH.get(finish, finish)


def _malformed(what: str) -> ValueError:
    return ValueError(what)


def _usage(usage: Any) -> TokenUsage | None:  # noqa: ANN401 -- as above
    """None where it cannot be understood: an answer is worth more than its counts."""
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens")]
    fits = all(type(count) is int and count >= 0 for count in counts)
    return TokenUsage(*counts) if fits else None


def _streamed(error: Any) -> StreamedError:  # noqa: ANN401 -- as above
    if not isinstance(error, dict):
        return StreamedError(str(error), "")
    message = error.get("message") or "it did not say why"
    return StreamedError(str(message), str(error.get("code") or error.get("type") or ""))
