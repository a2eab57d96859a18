"""JSON from somebody else's store, bounded in bytes and in time, tried again with patience."""

import json
from collections.abc import Mapping

import httpx2

from unchunk.adapters.sources.addresses import check_address, is_here, shown_address
from unchunk.adapters.sources.bounds import Body, Bounds, parsed
from unchunk.adapters.sources.patience import tried
from unchunk.errors import (
    IntegrityError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.ports.replies import TRANSIENT, asked_wait
from unchunk.telemetry import trace_headers

_SHOWN = 400
# How a server says that a request is not as it would have it.
NOT_UNDERSTOOD = frozenset({400, 413, 422})


class NotUnderstoodError(ProviderRefusedError):
    """A request is not as the server would have it."""


class Server:
    """One server, by its address. Connects at first use; belongs to that event loop.

    `where` is how it is called in messages.
    """

    def __init__(self, url: str, where: str, bounds: Bounds, headers: Mapping[str, str]) -> None:
        check_address(url, "--url")
        self._url = url.rstrip("/")
        self._bounds = bounds
        # A store is near, mostly, and what is packed may be more than it seems.
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._client: httpx2.AsyncClient | None = None
        self.where = f"{where} at {shown_address(url)}"

    async def ask(self, method: str, path: str, body: object = None) -> object:
        """What it says to one request that changes nothing there, so that it may be repeated."""

        async def attempt(_: float) -> object:
            return await parsed(await self._attempt(method, path, body))

        try:
            return await tried(attempt, self._bounds.patience, self.where)
        except IntegrityError as error:
            what = f"the reply of {self.where} to {path} cannot be used: {error}"
            raise type(error)(what) from None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _attempt(self, method: str, path: str, body: object) -> bytearray:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                headers=self._headers,
                timeout=httpx2.Timeout(self._bounds.idle),
                trust_env=not is_here(self._url),
            )
        request = self._client.build_request(
            method,
            f"{self._url}/{path}",
            # ASCII, whatever is in it.
            content=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **trace_headers()},
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                return await self._received(response)
            finally:
                await response.aclose()
        except (httpx2.RequestError, httpx2.StreamError) as error:
            reason = _clean(str(error)) or type(error).__name__
            raise ProviderUnavailableError(f"no answer from {self.where}: {reason}") from None

    async def _received(self, response: httpx2.Response) -> bytearray:
        if not response.is_success:
            raise self._refusal(response, await _beginning(response))
        body = Body(self._bounds.reply, response.headers)
        async for piece in response.aiter_raw():
            body.take(piece)
        return body.whole()

    def _refusal(self, response: httpx2.Response, body: bytes) -> UnchunkError:
        status = response.status_code
        said = _clean(body.decode("utf-8", "replace")) or response.reason_phrase
        message = f"{self.where} answered {status}: {said}"
        if status in TRANSIENT or status >= 500:
            return ProviderUnavailableError(message, asked_wait(response.headers))
        if status == 404:
            return NotFoundError(message)
        if status in (401, 403):
            return ProviderRefusedError(f"{message}; check the key")
        refusal = NotUnderstoodError if status in NOT_UNDERSTOOD else ProviderRefusedError
        return refusal(f"{message}; check the URL")


async def _beginning(response: httpx2.Response) -> bytes:
    """Enough of a reply that is none to show what it says."""
    kept = b""
    async for piece in response.aiter_raw():
        kept += piece[:_SHOWN]
        if len(kept) >= _SHOWN:
            break
    return kept


def _clean(message: str) -> str:
    """One short line with nothing that steers a terminal."""
    message = " ".join(message.split())
    return "".join(one if one.isprintable() else "?" for one in message[:_SHOWN])
