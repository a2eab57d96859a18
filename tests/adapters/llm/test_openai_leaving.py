"""An answer that nobody waits for any more ends at the provider, too."""

import asyncio
import gc
from typing import Any

import pytest

from adapters.llm.asking import ASKED, model_at, read, run, text
from adapters.llm.scripted import (
    WORDS,
    Behaviour,
    ScriptedModel,
    answer,
    error,
    hang,
    hang_amid,
    own_process,
    refuse,
)
from unchunk.adapters.llm.endpoints import openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.errors import ProviderRefusedError
from unchunk.ports import Sampling


def test_leaving_amid_an_answer_ends_it_at_the_provider(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        async with model.stream(ASKED, Sampling()) as deltas:
            async for delta in deltas:
                assert delta.text == WORDS[0]
                break
        # While the client lives on.
        assert await asyncio.to_thread(server.settled, lambda: server.aborted == 1)
        assert server.open == 0

    server.script.append(answer(pause=0.2))
    run(scene, model_at(server))


@pytest.mark.parametrize("behaviour", [hang, hang_amid, answer(first=30)])
def test_cancelling_ends_the_call_at_the_provider(
    server: ScriptedModel, behaviour: Behaviour
) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        task = asyncio.ensure_future(read(model))
        assert await asyncio.to_thread(server.settled, lambda: server.started == 1)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.settled, lambda: server.aborted == 1)
        assert server.open == 0

    server.script.append(behaviour)
    run(scene, model_at(server))


def test_an_answer_that_cannot_be_read_ends_at_the_provider(server: ScriptedModel) -> None:
    async def nonsense(exchange: Any) -> None:  # noqa: ANN401
        await exchange.begin()
        await exchange.event("nonsense")
        await hang(exchange)

    async def scene(model: OpenAIChatModel) -> None:
        with pytest.raises(ProviderRefusedError) as raised:
            await read(model)
        assert raised.value.__traceback__ is not None  # it still holds on to everything
        assert await asyncio.to_thread(server.settled, lambda: server.aborted == 1)
        assert server.open == 0

    server.script.append(nonsense)
    run(scene, model_at(server))


def test_cancelling_between_two_attempts_asks_no_more(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(model), 2)
        await asyncio.sleep(0.1)

    server.script.append(refuse(429, error("later"), retry_after="15"))
    run(scene, model_at(server))
    assert len(server.asked) == 1


def test_200_answers_that_were_left_leave_nothing_behind(server: ScriptedModel) -> None:
    async def leave(model: OpenAIChatModel, number: int) -> None:
        if number % 2:
            async with model.stream(ASKED, Sampling()) as deltas:
                await anext(aiter(deltas))
        else:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(read(model), 0.05 + number / 1000)

    async def scene(model: OpenAIChatModel) -> None:
        await asyncio.gather(*(leave(model, number) for number in range(200)))
        gc.collect()
        assert await asyncio.to_thread(server.settled, lambda: server.open == 0)
        await asyncio.sleep(0.05)
        assert len(asyncio.all_tasks()) == 1
        assert server.finished == 0

    run(scene, model_at(server, "stream:1000:0.05"))


def test_500_answers_side_by_side_lose_nothing() -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        return [text(each) for each in await asyncio.gather(*(read(model) for _ in range(500)))]

    with own_process() as other:
        endpoint = openai(f"{other.url}/v1", "stream:20:0.01")
        answers = run(scene, OpenAIChatModel(endpoint))
        assert answers == [" word" * 20] * 500
        assert other.stats()["finished"] == 500
