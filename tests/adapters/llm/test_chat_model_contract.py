"""The contract of models that answer, on each that we have."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from adapters.llm.real_model import RealModel
from adapters.llm.scripted import ScriptedModel
from unchunk.adapters.llm.endpoints import Endpoint, azure, ollama, openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.ports import ChatModel
from unchunk.testing.chatmodels import ChatModelContract


@asynccontextmanager
async def opened(endpoint: Endpoint) -> AsyncIterator[ChatModel]:
    model = OpenAIChatModel(endpoint)
    try:
        yield model
    finally:
        await model.close()


class _Scripted(ChatModelContract):
    @pytest.fixture(autouse=True)
    def _started(self, server: ScriptedModel) -> None:
        self.url = server.url


class TestAnUrl(_Scripted):
    def opened(self) -> AbstractAsyncContextManager[ChatModel]:
        return opened(openai(f"{self.url}/v1", "some-model", "sk-some"))


class TestAzure(_Scripted):
    def opened(self) -> AbstractAsyncContextManager[ChatModel]:
        return opened(azure(self.url, "gpt-4o", "some"))


class TestOllama(_Scripted):
    def opened(self) -> AbstractAsyncContextManager[ChatModel]:
        return opened(ollama(self.url, "some-model"))


class TestARealModel(ChatModelContract):
    @pytest.fixture(autouse=True)
    def _started(self, real_model: RealModel) -> None:
        self.real = real_model

    def opened(self) -> AbstractAsyncContextManager[ChatModel]:
        return opened(openai(self.real.url, self.real.name))
