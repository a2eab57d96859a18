"""Requests to an embedding provider, with patience. Foreign errors end here."""

import asyncio
import re
from collections.abc import Sequence

import httpx2

from unchunk.adapters.embed.attempts import Patience
from unchunk.adapters.embed.endpoints import Endpoint, read_vectors
from unchunk.errors import InvalidSettingError, ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Vectors
from unchunk.ports.replies import TRANSIENT, asked_wait
from unchunk.telemetry import trace_headers

_NOT_UNDERSTOOD = frozenset({400, 415, 422})
_HINTS = {
    401: "; check the key",
    403: "; check what the key may do",
    404: "; check the URL and the name of the model",
}
_KEY_LIKE = re.compile(r"\b(?:sk|key)-[\w*.-]+")
_LONGEST_MESSAGE = 300


class Calls:
    """Belongs to the event loop that it is first used in. Connects at first use."""

    def __init__(self, endpoint: Endpoint, patience: Patience) -> None:
        try:
            httpx2.URL(endpoint.url)
        except httpx2.InvalidURL as error:
            raise InvalidSettingError(f"{endpoint.where} is not a URL: {error}") from error
        self._endpoint = endpoint
        self._patience = patience
        self._client: httpx2.AsyncClient | None = None
        # None: not yet known whether the server can send base64.
        self._compact = None if endpoint.dialect == "openai" else False

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """As many rows as the provider sends, as it sends them."""
        patience, loop = self._patience, asyncio.get_running_loop()
        end = loop.time() + patience.deadline
        failures = 0
        while True:
            try:
                return await self._attempt(texts, end - loop.time())
            except ProviderUnavailableError as error:
                failures += 1
                wait = patience.wait(failures, error.retry_after)
                in_vain = wait > patience.longest_wait or loop.time() + wait >= end
                if in_vain or failures >= patience.attempts:
                    raise
            await asyncio.sleep(wait)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _attempt(self, texts: Sequence[str], left: float) -> Vectors:
        where, seconds = self._endpoint.where, min(self._patience.timeout, left)
        try:
            async with asyncio.timeout(seconds):
                response = await self._post(texts)
        except TimeoutError as error:
            raise ProviderUnavailableError(
                f"{where} did not answer within {seconds:.3g} s"
            ) from error
        except httpx2.RequestError as error:
            reason = self._clean(str(error)) or type(error).__name__
            raise ProviderUnavailableError(f"no answer from {where}: {reason}") from error
        if not response.is_success:
            raise self._failure(response)
        try:
            return read_vectors(response.json())
        except (ValueError, RecursionError) as error:
            reason = self._clean(str(error))
            raise ProviderRefusedError(
                f"the answer of {where} cannot be read: {reason}; check the URL"
            ) from error

    async def _post(self, texts: Sequence[str]) -> httpx2.Response:
        endpoint = self._endpoint
        if self._client is None:
            # Time is measured around the whole attempt.
            self._client = httpx2.AsyncClient(headers=endpoint.headers, timeout=None)
        body = endpoint.body(texts, compact=self._compact is not False)
        response = await self._client.post(endpoint.url, json=body, headers=trace_headers())
        if response.status_code in _NOT_UNDERSTOOD and self._compact is None:
            # It may be base64 that it does not understand, or anything else: one try tells.
            body = endpoint.body(texts, compact=False)
            response = await self._client.post(endpoint.url, json=body, headers=trace_headers())
            if response.is_success:
                self._compact = False
        elif response.is_success and self._compact is None:
            self._compact = True
        return response

    def _failure(self, response: httpx2.Response) -> Exception:
        status, (message, code) = response.status_code, _reason(response)
        said = f"{self._endpoint.where} answered {status}: {self._clean(message)}"
        # A budget that is used up has the status of a rush, but does not pass.
        if status in TRANSIENT and code != "insufficient_quota":
            return ProviderUnavailableError(said, asked_wait(response.headers))
        about_text = status in (400, 413, 422)
        return ProviderRefusedError(said + _HINTS.get(status, ""), about_text=about_text)

    def _clean(self, message: str) -> str:
        """One short line without anything that may be a key."""
        key = self._endpoint.key
        message = " ".join(message.split())
        message = _KEY_LIKE.sub("***", message.replace(key, "***") if key else message)
        return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"


def _reason(response: httpx2.Response) -> tuple[str, str]:
    """What the provider says, and the code that it gives it: both in any of the usual shapes."""
    try:
        reply = response.json()
    except (ValueError, RecursionError):
        return response.text or response.reason_phrase, ""
    error = reply.get("error", reply) if isinstance(reply, dict) else reply
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or error
    return str(message), str(error.get("code") or "")
