"""The official SDK's clients: one from the environment, and what is needed to use a given one.

A client reads the whole of a reply that is an error, however long: here only its beginning.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpxClient, OpenAI, OpenAIError

from unchunk.adapters.sources.addresses import check_address, is_here
from unchunk.adapters.sources.bounds import Body, Bounds
from unchunk.errors import IntegrityError, InvalidInputError, InvalidSettingError

Client = OpenAI | AsyncOpenAI
T = TypeVar("T")
_MOST_OF_AN_ERROR = 64 * 1024
_NO_KEY = "none"
# Seconds in which a reply has to be whole, however long the client waits for each piece of it, and
# in which a list or a file has.
_ATTEMPT, _WHOLE = 600.0, 3_600.0


def client_from(
    environment: Mapping[str, str], base_url: str | None = None, *, azure: bool = False
) -> AsyncOpenAI:
    """A client as OpenAI's own variables say; `base_url` goes before theirs.

    It belongs to who asked for it. A server that was named by its URL may want no key.
    """
    name = "AZURE_OPENAI_ENDPOINT" if azure else "OPENAI_BASE_URL"
    url = base_url or environment.get(name) or None
    if url is not None:
        check_address(url, "--base-url" if base_url else name)
    try:
        return _azure(environment, url) if azure else _openai(environment, url)
    except OpenAIError as error:
        name = "AZURE_OPENAI_API_KEY" if azure else "OPENAI_API_KEY"
        raise InvalidSettingError(f"there is no key: set {name}") from error


def _openai(environment: Mapping[str, str], url: str | None) -> AsyncOpenAI:
    key = environment.get("OPENAI_API_KEY") or (_NO_KEY if url else None)
    return AsyncOpenAI(api_key=key, base_url=url, http_client=_connections(url))


def _azure(environment: Mapping[str, str], url: str | None) -> AsyncOpenAI:
    if not url:
        raise InvalidSettingError(
            "Azure needs the address of your resource: set AZURE_OPENAI_ENDPOINT"
        )
    version = environment.get("OPENAI_API_VERSION")
    if not version:
        raise InvalidSettingError("Azure needs a version of its API: set OPENAI_API_VERSION")
    given: dict[str, Any] = {"azure_ad_token": environment.get("AZURE_OPENAI_AD_TOKEN")}
    if not given["azure_ad_token"]:
        given = {"api_key": environment.get("AZURE_OPENAI_API_KEY")}
    # The newer interface is an ordinary base URL.
    given["base_url" if url.rstrip("/").endswith("/openai/v1") else "azure_endpoint"] = url
    return AsyncAzureOpenAI(api_version=version, http_client=_connections(url), **given)


def _connections(url: str | None) -> httpx2.AsyncClient:
    return DefaultAsyncHttpxClient(trust_env=not (url and is_here(url)))


def bounds_of(client: Client) -> Bounds:
    """Bounds under which calls are tried again, and waited for, as `client` itself does it."""
    check_client(client)
    # Seconds, None, or a Timeout of either HTTP library.
    timeout: Any = client.timeout
    waits: list[float | None] = [getattr(timeout, kind, timeout) for kind in ("connect", "read")]
    attempts = client.max_retries + 1
    seconds = max(_ATTEMPT, *(wait or 0 for wait in waits))
    return Bounds(
        patience=seconds, idle=None, attempts=attempts, whole=max(_WHOLE, attempts * seconds)
    )


def check_client(client: object) -> None:
    if not isinstance(client, Client):
        raise InvalidInputError(
            f"the client is {type(client).__name__}: give openai.OpenAI, AzureOpenAI, AsyncOpenAI"
            " or AsyncAzureOpenAI"
        )


def prepared(client: Client, *, own: bool) -> tuple[Client, httpx2.AsyncClient | None]:
    """A copy that never retries and reads little of an error; and what is to be closed then.

    Connections belong to the event loop that opened them. So a given asynchronous client lends
    its settings alone, and has its connections for itself, unless they were made by hand.
    """
    check_client(client)
    # The SDK gives its own HTTP client no other name.
    http: object = client._client  # noqa: SLF001
    if isinstance(client, OpenAI):
        if not isinstance(http, httpx2.Client):
            return client.with_options(max_retries=0), None
        return client.with_options(max_retries=0, http_client=_Short(http)), None
    headers = {}
    mine = http if own and isinstance(http, httpx2.AsyncClient) else None
    if not own and type(http).__module__.startswith("openai."):
        mine = http = _connections(str(client.base_url))
    elif not own:
        # None of theirs is left in a loop that ends.
        headers = {"Connection": "close"}
    if not isinstance(http, httpx2.AsyncClient):
        return client.with_options(max_retries=0, default_headers=headers), None
    short = _AsyncShort(http)
    return client.with_options(max_retries=0, http_client=short, default_headers=headers), mine


async def in_thread(call: Callable[[], T]) -> T:
    """The result of a blocking call, in a thread that nobody waits for if it hangs."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)

    threading.Thread(target=work, name="unchunk-call", daemon=True).start()
    return await asyncio.wrap_future(future)


class _Short(httpx2.Client):
    """`inner`, with no more than the beginning of a reply that is an error."""

    def __init__(self, inner: httpx2.Client) -> None:
        super().__init__(transport=httpx2.BaseTransport())
        self._inner = inner

    def build_request(self, *arguments: Any, **options: Any) -> httpx2.Request:  # noqa: ANN401
        return self._inner.build_request(*arguments, **options)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - as they are
        response = self._inner.send(request, **options)
        if response.is_success:
            return response
        beginning = bytearray()
        try:
            for piece in response.iter_raw():
                beginning += piece
                if len(beginning) > _MOST_OF_AN_ERROR:
                    break
        finally:
            response.close()
        return _shortened(response, beginning)


class _AsyncShort(httpx2.AsyncClient):
    def __init__(self, inner: httpx2.AsyncClient) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport())
        self._inner = inner

    def build_request(self, *arguments: Any, **options: Any) -> httpx2.Request:  # noqa: ANN401
        return self._inner.build_request(*arguments, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - as they are
        response = await self._inner.send(request, **options)
        if response.is_success:
            return response
        beginning = bytearray()
        try:
            async for piece in response.aiter_raw():
                beginning += piece
                if len(beginning) > _MOST_OF_AN_ERROR:
                    break
        finally:
            await response.aclose()
        return _shortened(response, beginning)


def _shortened(response: httpx2.Response, beginning: bytearray) -> httpx2.Response:
    """The same reply; what it says is left out where it cannot be unpacked, or is too long then."""
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name not in ("content-encoding", "content-length", "transfer-encoding")
    ]
    said = b""
    with suppress(IntegrityError):
        body = Body(_MOST_OF_AN_ERROR, response.headers)
        body.take(bytes(beginning[:_MOST_OF_AN_ERROR]))
        said = bytes(body.whole())
    return httpx2.Response(
        response.status_code, headers=headers, content=said, request=response.request
    )
