"""What an OpenAI-compatible server says to a GET, as JSON; bounded in bytes and in time."""

import asyncio
import json
import re
from collections.abc import Mapping
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

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

from unchunk.adapters.sources.bounds import (
    TRANSIENT,
    Body,
    Bounds,
    asked_wait,
    check_structure,
    wait_after,
)
from unchunk.adapters.sources.openai_clients import Client, in_thread, prepared
from unchunk.errors import (
    IntegrityError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)

_KEY_LIKE = re.compile(r"\b(?:sk|key)-[\w*.-]+")
_SHOWN = 300
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)


class Calls:
    """One server. Belongs to the event loop that it is first used in.

    A synchronous client is used in threads: one that hangs there is left behind.
    """

    def __init__(self, client: Client, bounds: Bounds, *, own: bool) -> None:
        self._client, self._mine = prepared(client, own=own)
        self._bounds = bounds
        parts = urlsplit(str(client.base_url))
        port = f":{parts.port}" if parts.port else ""
        self.where = f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"
        self._is_azure = isinstance(client, BaseAzureClient)

    async def get(
        self, path: str, query: Mapping[str, object] | None = None, most: int | None = None
    ) -> Any:  # noqa: ANN401 - JSON
        """The reply, tried as often as patience allows. `most` is bytes, where it is less."""
        end = monotonic() + self._bounds.patience
        failures = 0
        while True:
            left = max(0.001, end - monotonic())
            try:
                return _read(await self._attempt(path, query or {}, left, most))
            except IntegrityError as error:
                what = f"the reply of {self.where} to {path}"
                raise IntegrityError(f"{what} cannot be used: {error}") from None
            except ProviderUnavailableError as error:
                failures += 1
                wait = wait_after(failures, error.retry_after)
                if monotonic() + wait >= end:
                    spent = f"; tried {failures} times, for at most {self._bounds.patience:.3g} s"
                    raise ProviderUnavailableError(f"{error}{spent}", error.retry_after) from None
                await asyncio.sleep(wait)

    async def close(self) -> None:
        if self._mine is not None:
            await self._mine.aclose()

    async def _attempt(
        self, path: str, query: Mapping[str, object], left: float, most: int | None
    ) -> bytearray:
        options: Any = {
            "params": dict(query),
            "headers": {"OpenAI-Beta": "assistants=v2", "Accept-Encoding": "gzip"},
            "timeout": httpx2.Timeout(min(left, self._bounds.idle)),
            "follow_redirects": False,
        }
        limit = self._bounds.reply if most is None else min(most, self._bounds.reply)
        try:
            async with asyncio.timeout(left):
                if isinstance(self._client, OpenAI):
                    client, end = self._client, monotonic() + left
                    return await in_thread(lambda: _received(client, path, options, limit, end))
                return await _awaited(self._client, path, options, limit)
        except TimeoutError:
            raise ProviderUnavailableError(
                f"{self.where} did not answer within {left:.3g} s"
            ) from None
        except APIStatusError as error:
            raise self._refusal(error, path) from None
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


def _read(body: bytearray) -> Any:  # noqa: ANN401 - JSON
    if _MARKUP.match(body):
        raise IntegrityError("it is a web page and no JSON; check the base URL")
    check_structure(body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"it is no JSON: {_clean(str(error))}; check the base URL") from None


def _clean(message: str) -> str:
    """One short line without anything that may be a key, or steer a terminal."""
    message = _KEY_LIKE.sub("***", " ".join(message.split()))
    return "".join(one if one.isprintable() else "?" for one in message[:_SHOWN])
