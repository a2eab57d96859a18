"""The adapter with a real model behind llama.cpp's server."""

import asyncio
import json
import zipfile
from pathlib import Path

import pytest

from adapters.llm.asking import read, run, text
from adapters.llm.real_model import WINDOW, RealModel
from corpus import DATA
from unchunk.adapters.llm.endpoints import openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.errors import ProviderRefusedError
from unchunk.ports import Delta, Message, Sampling

STORY: list[Message] = [{"role": "user", "content": "Tell me a long story about a harbour."}]


def model_of(real: RealModel) -> OpenAIChatModel:
    return OpenAIChatModel(openai(real.url, real.name))


def test_it_streams_an_answer_with_its_counts(real_model: RealModel) -> None:
    deltas = run(lambda model: read(model, Sampling(max_tokens=8)), model_of(real_model))
    assert len([delta for delta in deltas if delta.text]) > 2
    assert text(deltas).strip()
    assert [delta.finish for delta in deltas if delta.finish] == ["length"]
    assert deltas[-1].usage is not None
    assert deltas[-1].usage.completion_tokens == 8
    assert 10 < deltas[-1].usage.prompt_tokens < 100


def test_the_same_question_at_no_temperature_has_the_same_answer(real_model: RealModel) -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        sampling = Sampling(temperature=0.0, max_tokens=6)
        return [text(await read(model, sampling)) for _ in range(2)]

    first, second = run(scene, model_of(real_model))
    assert first == second


def test_it_stops_where_it_is_told_to(real_model: RealModel) -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        whole = text(await read(model, Sampling(temperature=0.0, max_tokens=12)))
        word = whole.split()[2]
        stopping = Sampling(temperature=0.0, max_tokens=12, stop=(word,))
        return [whole.split(word)[0], text(await read(model, stopping))]

    expected, found = run(scene, model_of(real_model))
    assert found.strip() == expected.strip()


def test_leaving_amid_an_answer_frees_its_slot(real_model: RealModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        async with model.stream(STORY, Sampling(max_tokens=700)) as deltas:
            await anext(aiter(deltas))
            assert await asyncio.to_thread(real_model.busy) == 1
        assert await asyncio.to_thread(real_model.becomes_idle)

    run(scene, model_of(real_model))


def test_cancelling_amid_an_answer_frees_its_slot(real_model: RealModel) -> None:
    began = asyncio.Event()

    async def reading(model: OpenAIChatModel) -> list[Delta]:
        async with model.stream(STORY, Sampling(max_tokens=700)) as deltas:
            began.set()
            return [delta async for delta in deltas]

    async def scene(model: OpenAIChatModel) -> None:
        task = asyncio.ensure_future(reading(model))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(real_model.becomes_idle)

    run(scene, model_of(real_model))


def test_its_window_is_what_a_slot_has(real_model: RealModel) -> None:
    async def scene(model: OpenAIChatModel) -> int | None:
        return await model.window()

    assert run(scene, model_of(real_model)) == WINDOW


def test_a_prompt_that_is_too_long_is_told_as_such(real_model: RealModel) -> None:
    async def scene(model: OpenAIChatModel) -> None:
        long: list[Message] = [{"role": "user", "content": "harbour " * 2 * WINDOW}]
        with pytest.raises(ProviderRefusedError, match="too long for this model") as raised:
            async with model.stream(long, Sampling()):
                pass
        assert raised.value.about_text

    run(scene, model_of(real_model))


def _texts() -> dict[str, str]:
    if not (DATA / "texts").exists():
        pytest.skip(f"the texts under {DATA} are not here")
    found = {
        "code": Path(__file__).read_text("utf-8"),
        "English": json.dumps(
            json.loads((DATA / "anthropic_docs" / "anthropic_docs.json").read_text("utf-8"))[:20]
        ),
        "numbers": "\n".join(f"{at * 7919 % 10007},{at / 7:.3f}" for at in range(500)),
    }
    names = ("deu", "pol", "rus", "arb", "hin", "tha", "jpn", "kor", "cmn_hans", "guj", "vie")
    with zipfile.ZipFile(DATA / "texts" / "nltk" / "udhr2.zip") as packed:
        for name in names:
            found[name] = packed.read(f"udhr2/{name}.txt").decode()
    return found


def test_tokens_are_never_counted_too_few_and_not_far_too_many(real_model: RealModel) -> None:
    model = model_of(real_model)
    for name, sample in _texts().items():
        real, counted = real_model.tokens(sample), model.count_tokens(sample)
        assert real <= counted <= 1.8 * real, (name, real, counted)
