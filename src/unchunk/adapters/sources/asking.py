"""JSON from somebody else's store, bounded in bytes and in time, tried again with patience."""

import asyncio
import json
from collections.abc import Mapping
from time import monotonic

import httpx2

from unchunk.adapters.sources.bounds import TRANSIENT, Body, Bounds, asked_wait, wait_after
from unchunk.errors import (
    IntegrityError,
    InvalidSettingError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.telemetry import trace_headers

_SHOWN = 400


class NotUnderstoodError(ProviderRefusedError):
    """A request is not as the server would have it."""


class Server:
    """One server, by its address. Connects at first use; belongs to that event loop.

    `where` is how it is called in messages.
    """

    def __init__(self, url: str, where: str, bounds: Bounds, headers: Mapping[str, str]) -> None:
        try:
            parts = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise InvalidSettingError(f"{url!r} is no URL: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.host:
            raise InvalidSettingError(f"{url!r} is no URL of a server: use http://HOST:PORT")
        self._url = url.rstrip("/")
        self._bounds = bounds
        # A store is near, mostly, and what is packed may be more than it seems.
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._client: httpx2.AsyncClient | None = None
        # Without a password that may stand in it.
        self.where = f"{where} at {str(parts.copy_with(userinfo=b'')).rstrip('/')}"

    async def ask(self, method: str, path: str, body: object = None) -> object:
        """What it says to one request that changes nothing there, so that it may be repeated."""
        end = monotonic() + self._bounds.patience
        failures = 0
        while True:
            left = max(0.001, end - monotonic())
            try:
                return await asyncio.to_thread(_read, await self._attempt(method, path, body, left))
            except IntegrityError as error:
                what = f"the reply of {self.where} to {path} cannot be used: {error}"
                raise type(error)(what) from None
            except ProviderUnavailableError as error:
                failures += 1
                wait = wait_after(failures, error.retry_after)
                if monotonic() + wait >= end:
                    spent = f"; tried {failures} times, for at most {self._bounds.patience:.3g} s"
                    raise ProviderUnavailableError(f"{error}{spent}", error.retry_after) from None
                await asyncio.sleep(wait)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _attempt(self, method: str, path: str, body: object, left: float) -> bytearray:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                headers=self._headers, timeout=httpx2.Timeout(self._bounds.idle)
            )
        request = self._client.build_request(
            method, f"{self._url}/{path}", json=body, headers=trace_headers()
        )
        try:
            async with asyncio.timeout(left):
                response = await self._client.send(request, stream=True)
                try:
                    return await self._received(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise ProviderUnavailableError(
                f"{self.where} did not answer within {left:.3g} s"
            ) from None
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
        refusal = NotUnderstoodError if status in (400, 413, 422) else ProviderRefusedError
        return refusal(f"{message}; check the URL")


async def _beginning(response: httpx2.Response) -> bytes:
    """Enough of a reply that is none to show what it says."""
    kept = b""
    async for piece in response.aiter_raw():
        kept += piece[:_SHOWN]
        if len(kept) >= _SHOWN:
            break
    return kept


def _read(body: bytearray) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"it is no JSON: {_clean(str(error))}; check the URL") from None


def _clean(message: str) -> str:
    """One short line with nothing that steers a terminal."""
    message = " ".join(message.split())
    return "".join(one if one.isprintable() else "?" for one in message[:_SHOWN])
