"""What an OpenAI-compatible server says to a GET, as JSON; bounded in bytes and in time."""

import re
from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple, cast

import httpx2
from openai import (
    APIConnectionError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    OpenAI,
    OpenAIError,
    Stream,
)
from openai.lib.azure import BaseAzureClient

from unchunk.adapters.sources.addresses import shown_address
from unchunk.adapters.sources.bounds import Body, Bounds, parsed
from unchunk.adapters.sources.openai_clients import Client, in_thread, prepared
from unchunk.adapters.sources.patience import tried
from unchunk.errors import (
    IntegrityError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.ports.replies import TRANSIENT, asked_wait

_KEY_LIKE = re.compile(r"\b(?:sk|key)-[\w*.-]+")
_SHOWN = 300
# Seconds for a call that is made with little hope.
_ONCE = 2.0


class Reply(NamedTuple):
    """JSON, and how many bytes it came in."""

    value: Any
    size: int


class Calls:
    """One server. Belongs to the event loop that it is first used in.

    A synchronous client is used in threads: one that hangs there is left behind.
    """

    def __init__(self, client: Client, bounds: Bounds, *, own: bool) -> None:
        self._client, self._mine = prepared(client, own=own)
        self._bounds = bounds
        self.where = shown_address(str(client.base_url))
        self._is_azure = isinstance(client, BaseAzureClient)

    async def get(
        self,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        most: int | None = None,
        once: bool = False,
    ) -> Reply:
        """Return the reply to a GET, which is tried again as far as the bounds allow.

        `once` makes a single attempt, or a short one; `most` lowers the bound on bytes.
        """
        limit = self._bounds.reply if most is None else min(most, self._bounds.reply)

        async def attempt(left: float) -> Reply:
            body = await self._attempt(path, query or {}, left, limit)
            return Reply(await parsed(body), len(body))

        attempts, seconds = self._bounds.attempts, self._bounds.patience
        try:
            if once:
                seconds = seconds if attempts else min(seconds, _ONCE)
                attempts = attempts and 1
            return await tried(attempt, seconds, self.where, attempts)
        except IntegrityError as error:
            what = f"the reply of {self.where} to {path}"
            raise IntegrityError(f"{what} cannot be used: {error}") from None

    async def close(self) -> None:
        if self._mine is not None:
            await self._mine.aclose()

    async def _attempt(
        self, path: str, query: Mapping[str, object], left: float, limit: int
    ) -> bytearray:
        options: Any = {
            "params": dict(query),
            "headers": {"OpenAI-Beta": "assistants=v2", "Accept-Encoding": "gzip"},
            "follow_redirects": False,
        }
        if self._bounds.idle is not None:
            options["timeout"] = httpx2.Timeout(min(left, self._bounds.idle))
        try:
            if isinstance(self._client, OpenAI):
                client, end = self._client, monotonic() + left
                return await in_thread(lambda: _received(client, path, options, limit, end))
            return await _awaited(self._client, path, options, limit)
        except APIStatusError as error:
            raise self._refusal(error, path) from None
        except TimeoutError:
            raise  # It is an OSError, too.
        except (APIConnectionError, httpx2.RequestError, httpx2.StreamError, OSError) as error:
            cause = error.__cause__ if isinstance(error, APIConnectionError) else error
            reason = _clean(str(cause or error)) or type(cause or error).__name__
            raise ProviderUnavailableError(f"no answer from {self.where}: {reason}") from None
        except OpenAIError as error:
            raise ProviderRefusedError(
                f"{self.where} cannot be asked: {_clean(str(error))}"
            ) from None

    def _refusal(self, error: APIStatusError, path: str) -> UnchunkError:
        status, headers = error.status_code, error.response.headers
        body = error.body if isinstance(error.body, dict) else {}
        said = _clean(str(body.get("message") or error.response.text or ""))
        message = f"{self.where}{path} answered {status}{f': {said}' if said else ''}"
        # A budget that is used up has the status of a rush, but does not pass.
        is_spent = "insufficient_quota" in f"{body.get('code')} {body.get('type')}"
        if (status in TRANSIENT or status >= 500) and not is_spent:
            return ProviderUnavailableError(message, asked_wait(headers))
        if status == 404:
            return NotFoundError(message)
        if status in (401, 403):
            name = "AZURE_OPENAI_API_KEY" if self._is_azure else "OPENAI_API_KEY"
            return ProviderRefusedError(f"{message}; set {name} to a key that may read this")
        if status < 400:
            to = _clean(headers.get("location", "elsewhere"))
            return ProviderRefusedError(f"{message}; it sends us to {to}: check the base URL")
        return ProviderRefusedError(f"{message}; check the base URL and the names")


def _received(client: OpenAI, path: str, options: Any, most: int, end: float) -> bytearray:  # noqa: ANN401
    # It is the reply itself, unread, whatever the types say.
    opened: object = client.get(
        path, cast_to=httpx2.Response, options=options, stream=True, stream_cls=Stream[object]
    )
    response = cast("httpx2.Response", opened)
    try:
        body = Body(most, response.headers)
        for piece in response.iter_raw():
            body.take(piece)
            if monotonic() > end:
                raise TimeoutError
    finally:
        response.close()
    return body.whole()


async def _awaited(client: AsyncOpenAI, path: str, options: Any, most: int) -> bytearray:  # noqa: ANN401
    opened: object = await client.get(
        path, cast_to=httpx2.Response, options=options, stream=True, stream_cls=AsyncStream[object]
    )
    response = cast("httpx2.Response", opened)
    try:
        body = Body(most, response.headers)
        async for piece in response.aiter_raw():
            body.take(piece)
    finally:
        await response.aclose()
    return body.whole()


def _clean(message: str) -> str:
    """One short line without anything that may be a key, or steer a terminal."""
    message = _KEY_LIKE.sub("***", " ".join(message.split()))
    return "".join(one if one.isprintable() else "?" for one in message[:_SHOWN])
