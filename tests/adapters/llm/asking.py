"""Asks a scripted model through the adapter, for tests."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from adapters.llm.scripted import WORDS, Behaviour, ScriptedModel
from unchunk.adapters.llm.endpoints import openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.adapters.llm.patience import Patience
from unchunk.ports import Delta, Message, Sampling

KEY = "sk-test-0123456789abcdef"
HASTY = Patience(begin=5, idle=5, retries=3, deadline=20, first_wait=0.01)
ASKED: list[Message] = [{"role": "user", "content": "Where does the pilot board?"}]
WHOLE = "".join(WORDS)


def model_at(server: ScriptedModel, name: str = "m", patience: Patience = HASTY) -> OpenAIChatModel:
    return OpenAIChatModel(openai(f"{server.url}/v1", name, KEY), patience=patience)


def run(
    scene: Callable[[OpenAIChatModel], Coroutine[None, None, Any]], model: OpenAIChatModel
) -> Any:  # noqa: ANN401
    async def play() -> Any:  # noqa: ANN401 -- what the scene gives
        try:
            return await scene(model)
        finally:
            await model.close()

    return asyncio.run(play())


async def read(
    model: OpenAIChatModel, sampling: Sampling | None = None, request_id: str = ""
) -> list[Delta]:
    async with model.stream(ASKED, sampling or Sampling(), request_id=request_id) as deltas:
        return [delta async for delta in deltas]


def ask(
    server: ScriptedModel,
    *script: Behaviour,
    name: str = "m",
    patience: Patience = HASTY,
    sampling: Sampling | None = None,
) -> list[Delta]:
    server.script.extend(script)
    return list(run(lambda model: read(model, sampling), model_at(server, name, patience)))


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)
