"""Call the server that has the library open, and turn its errors into ours."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx2

from unchunk.beside.running import Running
from unchunk.beside.wire import ADD, PATH, read_error, written
from unchunk.engine import silent
from unchunk.errors import (
    InvalidInputError,
    NotFoundError,
    PermanentError,
    TransientError,
    UnchunkError,
)

_CONNECTING = 10.0
# A server that works gives a sign of life every few seconds, however long the work takes.
_SILENCE = 60.0
# A large file is kept before the first sign of life: on a slow disk, that takes long.
_KEEPING = 600.0
_OK = 200
# A text in a line may hold other ends of lines.
_END = b"\n"
_JSON = {"Content-Type": "application/json"}
_REFUSALS = {one.code: one for one in (InvalidInputError, NotFoundError)}
# Too slow, too many, not now.
_LATER = (408, 429, 503)
_REQUEST_ID = "X-Request-ID"
# What goes to the collection that is searched instead of the library, if there is one.
_SEARCHES = frozenset(
    {
        "search",
        "retrieve",
        "search_with_context",
        "rag_search",
        "find_file_by_name",
        "chat",
        "explain",
    }
)

Told = Callable[[Any], None]


class Line:
    """Send calls to the running server; `find` is asked each time, so a restarted one is picked up.

    `version` is that of this process: a server of another version is not called. Searches are not
    sent to a server that searches anything other than `source`, if that is set.
    """

    def __init__(self, find: Callable[[], Running | None], version: str, source: str = "") -> None:
        self._find, self._version, self._source = find, version, source
        self._last: Running | None = find()
        # Ignore proxies: the server is local.
        self._client = httpx2.AsyncClient(timeout=None, trust_env=False)

    async def call(
        self, name: str, owner: str, given: object, told: Told = silent, request_id: str = ""
    ) -> Any:  # noqa: ANN401 - JSON
        return await self.result(name, owner, told, request_id=request_id, given=given)

    def call_now(self, name: str, owner: str, given: object) -> Any:  # noqa: ANN401 - JSON
        """As `call`, but this thread waits: only for what the server knows without any work."""
        url, headers = self._address(name, owner)
        try:
            with httpx2.Client(timeout=_CONNECTING, trust_env=False) as client:
                reply = client.post(url, headers=headers | _JSON, content=_json(given))
        except httpx2.HTTPError as error:
            raise self._silent(error) from error
        if reply.status_code != _OK:
            raise _refusal(reply.status_code, reply.content)
        for line in map(_said, reply.content.split(_END)):
            if "result" in line:
                return line["result"]
        raise self._ended()

    async def result(self, name: str, owner: str, told: Told, **body: Any) -> Any:  # noqa: ANN401 - JSON
        """What the server says in the end; what it says before that goes to `told`."""
        async with aclosing(self.lines(name, owner, **body)) as lines:
            async for line in lines:
                if "result" in line:
                    return line["result"]
                told(line["told"])
        raise self._ended()

    async def lines(
        self,
        name: str,
        owner: str,
        request_id: str = "",
        *,
        given: object = None,
        **form: Any,  # noqa: ANN401 - of HTTP
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Each line of the answer to what is `given`, or to a form, about documents of `owner`."""
        url, headers = self._address(name, owner, request_id)
        silence = _KEEPING if url.endswith(ADD) else _SILENCE
        timeout = httpx2.Timeout(silence, connect=_CONNECTING, pool=None)
        if given is not None:
            headers |= _JSON
            form = {"content": _json(given)}
        try:
            async with self._client.stream(
                "POST", url, headers=headers, timeout=timeout, **form
            ) as reply:
                if reply.status_code != _OK:
                    raise _refusal(reply.status_code, await reply.aread())
                rest = bytearray()
                async for piece in reply.aiter_bytes():
                    rest += piece
                    if _END in piece:
                        *whole, rest = rest.split(_END)
                        for line in filter(None, map(_said, whole)):
                            yield line
        except httpx2.HTTPError as error:
            raise self._silent(error) from error

    def in_the_way(self, what: str) -> UnchunkError:
        return self._running().in_the_way(what)

    async def close(self) -> None:
        await self._client.aclose()

    def _address(self, name: str, owner: str, request_id: str = "") -> tuple[str, dict[str, str]]:
        """Where a call goes, and what tells that it may."""
        running = self._running()
        running.check(owner, self._version)
        if name in _SEARCHES:
            running.check_source(self._source)
        headers = {"Authorization": f"Bearer {running.secret}"}
        if request_id:
            headers[_REQUEST_ID] = request_id
        return f"{running.url}{PATH}/{name}", headers

    def _silent(self, error: httpx2.HTTPError) -> UnchunkError:
        """What to say of a server that is there and does not answer, or is gone."""
        self._running()
        if isinstance(error, httpx2.TimeoutException):
            return TransientError(
                f"{self._where()} does not answer in time: it may be stopped or overloaded;"
                " try again, or restart it"
            )
        return TransientError(f"{self._where()} does not answer: {error}")

    def _ended(self) -> UnchunkError:
        return TransientError(f"{self._where()} ended before it had answered: try again")

    def _running(self) -> Running:
        running = self._find()
        if running is None:
            raise TransientError(
                f"{self._where()} has stopped: start it again, or open the library again to work"
                " without it"
            )
        self._last = running
        return running

    def _where(self) -> str:
        last = self._last
        return f"the server at {last.url} (pid {last.pid})" if last else "the server"


def _refusal(status: int, body: bytes) -> UnchunkError:
    """Why the server did not even begin."""
    try:
        error = json.loads(body)["error"]
        message, code = str(error["message"]), str(error["type"])
    except (ValueError, KeyError, TypeError):
        message, code = f"the server answered with status {status}", ""
    if status in _LATER:
        return TransientError(message)
    return _REFUSALS.get(code, PermanentError)(message)


def _json(given: object) -> bytes:
    """A call's arguments as JSON that also has infinite numbers and halves of characters.

    What is wrong with them is for the engine to say, in its own words.
    """
    return json.dumps(written(type(given), given)).encode()


def _said(text: bytes | bytearray) -> dict[str, Any]:
    """What a line says; empty for a sign of life, and raised where it is an error."""
    line: dict[str, Any] = json.loads(text) if text else {}
    if "error" in line:
        raise read_error(line["error"])
    return line
