"""Models behind OpenAI's chat interface: OpenAI's own, Azure's, Ollama's, and whoever speaks it.

The official SDK sends and is told nothing by the environment: what leaves is listed here.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from urllib.parse import quote

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, OpenAIError

from unchunk.adapters.llm import windows
from unchunk.adapters.llm.answers import Answer
from unchunk.adapters.llm.counting import count, encodings_of
from unchunk.adapters.llm.endpoints import Endpoint
from unchunk.adapters.llm.faults import Faults, said_by
from unchunk.adapters.llm.patience import Patience
from unchunk.adapters.llm.requests import ChatRequest, Limit, limit_of
from unchunk.errors import ProviderUnavailableError, UnchunkError
from unchunk.ports import Delta, Message, Sampling
from unchunk.telemetry import span_headers

# The SDK takes keys, organizations and whole headers out of the environment, and none of that is
# for the server that the settings name. Nor is it told what machine this is.
_SENT = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"transfer-encoding", "user-agent", "x-request-id", "traceparent", "tracestate"}
)
_NO_KEY = "none"  # The SDK wants one; it does not leave.
_ASKING = 3.0
_ASK_AGAIN = 30.0


class OpenAIChatModel:
    """Belongs to the event loop that it is first used in. Connects at first use.

    `window` is that of the endpoint's own model, where it is known better than by the server.
    """

    def __init__(
        self, endpoint: Endpoint, *, window: int | None = None, patience: Patience | None = None
    ) -> None:
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._faults = Faults(endpoint)
        self._client: AsyncOpenAI | None = None
        self._given = {endpoint.model: window} if window is not None else {}
        self._asked: dict[str, tuple[int | None, float]] = {}
        self._asking = asyncio.Lock()
        # What each model turned out to understand.
        self._limits: dict[str, Limit] = {}
        self._usage: dict[str, bool] = {}

    @property
    def name(self) -> str:
        return self._endpoint.model

    def count_tokens(self, text: str, model: str = "") -> int:
        return count(text, encodings_of(model or self.name, self._endpoint.by_openai))

    async def window(self, model: str = "") -> int | None:
        """Given, told by the server, or known of the model, in this order.

        A server is asked once, and again after a while if it did not tell.
        """
        model = model or self.name
        if model in self._given:
            return self._given[model]
        if self._endpoint.by_openai:
            return windows.known(model)  # It does not tell.
        async with self._asking:
            now = asyncio.get_running_loop().time()
            size, when = self._asked.get(model, (None, 0.0))
            if size is None and not (when and now < when + _ASK_AGAIN):
                size = await self._told(model)
                self._asked[model] = size, now
        return size or (windows.known(model) if self._endpoint.kind != "ollama" else None)

    @asynccontextmanager
    async def stream(
        self, messages: Sequence[Message], sampling: Sampling, *, request_id: str = ""
    ) -> AsyncIterator[AsyncIterator[Delta]]:
        answer = await self._begun(messages, sampling, request_id)
        try:
            async with aclosing(answer.deltas()) as deltas:
                yield deltas
        finally:
            await answer.close()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _begun(
        self, messages: Sequence[Message], sampling: Sampling, request_id: str
    ) -> Answer:
        patience, loop = self._patience, asyncio.get_running_loop()
        request = self._request(messages, sampling)
        end = loop.time() + patience.deadline
        failures = 0
        while True:
            try:
                answer = await self._attempt(request, request_id, end - loop.time())
            except APIStatusError as error:
                said = said_by(error)
                if other := request.otherwise(said.status, said.message, clear=said.clear):
                    request = other
                    continue
                fault: UnchunkError = self._faults.status(said, error.response.headers)
            except ProviderUnavailableError as error:
                fault = error
            else:
                self._limits[request.model] = request.limit
                self._usage[request.model] = request.usage is not False
                return answer
            failures += 1
            if not isinstance(fault, ProviderUnavailableError) or failures > patience.retries:
                raise fault from None
            wait = patience.wait(failures, fault.retry_after)
            if wait > patience.longest_wait or loop.time() + wait >= end:
                raise fault from None
            await asyncio.sleep(wait)

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> ChatRequest:
        model = sampling.model or self.name
        limit = self._limits.get(model) or limit_of(model, self._endpoint.by_openai)
        return ChatRequest(model, messages, sampling, limit, self._usage.get(model))

    async def _attempt(self, request: ChatRequest, request_id: str, left: float) -> Answer:
        """Status errors stay as they are: they may be answered by asking otherwise."""
        seconds = min(self._patience.begin, left)
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        headers |= span_headers()
        if request_id:
            headers["X-Request-ID"] = quote(request_id, safe=" !#$&'()*+,/:;=?@[]~")
        answer, begun = None, False
        try:
            async with asyncio.timeout(seconds):
                response = await self._connected().post(
                    self._endpoint.path(request.model),
                    cast_to=httpx2.Response,
                    content=request.encoded(),
                    options={"headers": headers},
                    stream=True,
                )
                answer = Answer(response, self._faults, self._patience.idle)
                await answer.begin()
                begun = True
        except TimeoutError:
            raise self._faults.slow("did not begin to answer", seconds) from None
        except (APIConnectionError, httpx2.RequestError) as error:
            raise self._faults.connection(error) from None
        finally:
            if answer is not None and not begun:
                await answer.close()
        return answer

    async def _told(self, model: str) -> int | None:
        client, root = self._connected(), self._endpoint.root
        try:
            async with asyncio.timeout(_ASKING):
                if self._endpoint.kind != "ollama":
                    return windows.of_models(await client.get("/models", cast_to=object), model)
                asked = {"model": model}
                shown = await client.post(f"{root}/api/show", cast_to=object, body=asked)
                running = await client.get(f"{root}/api/ps", cast_to=object)
                return windows.of_ollama(shown, running, model)
        except (OpenAIError, httpx2.RequestError, TimeoutError, ValueError, RecursionError):
            return None

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            endpoint = self._endpoint

            async def only_ours(request: httpx2.Request) -> None:
                for name in set(request.headers) - _SENT:
                    del request.headers[name]
                request.headers.update(endpoint.headers)

            # Time is measured around the whole attempt. An answer is one connection.
            http = httpx2.AsyncClient(
                timeout=None,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=50),
                trust_env=not endpoint.local,
                event_hooks={"request": [only_ours]},
            )
            self._client = AsyncOpenAI(
                api_key=endpoint.key or _NO_KEY,
                base_url=endpoint.base,
                default_query=dict(endpoint.query),
                timeout=None,
                # It would retry what we must not, and know nothing of our patience.
                max_retries=0,
                http_client=http,
            )
        return self._client
