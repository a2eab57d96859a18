"""A chat model whose calls are counted and timed, and which is known by how the last one ended."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import ChatModel, Delta, Message, Sampling
from unchunk.telemetry import Telemetry, within

CHAT = "chat"


class WatchedChatModel:
    """`ChatModel` around another."""

    def __init__(self, model: ChatModel, telemetry: Telemetry) -> None:
        self._model, self._telemetry = model, telemetry

    @property
    def name(self) -> str:
        return self._model.name

    async def window(self, model: str = "") -> int | None:
        return await self._model.window(model)

    def count_tokens(self, text: str, model: str = "") -> int:
        return self._model.count_tokens(text, model)

    @asynccontextmanager
    async def stream(
        self, messages: Sequence[Message], sampling: Sampling, *, request_id: str = ""
    ) -> AsyncIterator[AsyncIterator[Delta]]:
        """One that was left before its end says nothing of the model."""
        telemetry, began = self._telemetry, time.perf_counter()
        span = telemetry.start("chat", {"model": sampling.model or self.name})
        error = ""
        try:
            async with AsyncExitStack() as stack:
                answer = self._model.stream(messages, sampling, request_id=request_id)
                # Only here: another task than the one that began an answer may end it.
                with within(span):
                    deltas = await stack.enter_async_context(answer)
                yield deltas
            telemetry.worked(CHAT)
        except (ProviderUnavailableError, ProviderRefusedError) as fault:
            error = type(fault).__name__
            # A text that it does not take says nothing of it.
            if not getattr(fault, "about_text", False):
                telemetry.failed(CHAT, str(fault))
            raise
        finally:
            telemetry.took("chat", time.perf_counter() - began)
            if span is not None:
                span.end(error)

    async def close(self) -> None:
        await self._model.close()
