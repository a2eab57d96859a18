"""Call the server that has the library open, and turn its errors into ours."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx2

from unchunk.beside.running import Running
from unchunk.beside.wire import PATH, read_error, written
from unchunk.engine import silent
from unchunk.errors import PermanentError, TransientError, UnchunkError

_CONNECTING = 10.0
_OK = 200
# Too slow, too many, not now.
_LATER = (408, 429, 503)
_REQUEST_ID = "X-Request-ID"

Told = Callable[[Any], None]


class Line:
    """Send calls to the running server; `find` is asked each time, so a restarted one is picked up.

    `version` is that of this process: a server of another version is not called.
    """

    def __init__(self, find: Callable[[], Running | None], version: str) -> None:
        self._find, self._version = find, version
        self._last: Running | None = find()
        # No read timeout: adding a document can take minutes. Ignore proxies: the server is local.
        timeout = httpx2.Timeout(None, connect=_CONNECTING)
        self._client = httpx2.AsyncClient(timeout=timeout, trust_env=False)

    async def call(
        self, name: str, owner: str, given: object, told: Told = silent, request_id: str = ""
    ) -> Any:  # noqa: ANN401 - JSON
        return await self.result(
            name, owner, told, request_id=request_id, json=written(type(given), given)
        )

    async def result(self, name: str, owner: str, told: Told, **body: Any) -> Any:  # noqa: ANN401 - JSON
        """What the server says in the end; what it says before that goes to `told`."""
        async with aclosing(self.lines(name, owner, **body)) as lines:
            async for line in lines:
                if "result" in line:
                    return line["result"]
                told(line["told"])
        raise TransientError(f"{self._where()} ended before it had answered: try again")

    async def lines(
        self,
        name: str,
        owner: str,
        request_id: str = "",
        **body: Any,  # noqa: ANN401 - of HTTP
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Each line of the answer, about documents of `owner`."""
        running = self._running()
        running.check(owner, self._version)
        headers = {"Authorization": f"Bearer {running.secret}"}
        if request_id:
            headers[_REQUEST_ID] = request_id
        url = f"{running.url}{PATH}/{name}"
        try:
            async with self._client.stream("POST", url, headers=headers, **body) as reply:
                if reply.status_code != _OK:
                    raise _refusal(reply.status_code, await reply.aread())
                async for text in reply.aiter_lines():
                    line = json.loads(text)
                    if "error" in line:
                        raise read_error(line["error"])
                    yield line
        except httpx2.HTTPError as error:
            self._running()
            raise TransientError(f"{self._where()} does not answer: {error}") from error

    def in_the_way(self, what: str) -> UnchunkError:
        return self._running().in_the_way(what)

    async def close(self) -> None:
        await self._client.aclose()

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
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the server answered with status {status}"
    return TransientError(message) if status in _LATER else PermanentError(message)
