"""What every model that answers must do."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from unchunk.errors import InvalidTextError
from unchunk.ports import ChatModel, Delta, Message, Sampling

S = TypeVar("S", bound="ChatModelContract")

MESSAGES: tuple[Message, ...] = (
    {"role": "system", "content": "You are a harbour master. Answer in one sentence."},
    {"role": "user", "content": "Where does the pilot board?"},
)
SHORT = Sampling(temperature=0.0, max_tokens=3)


def on_a_model(
    scene: Callable[[S, ChatModel], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with a model that was just opened."""

    async def play(suite: S) -> None:
        async with suite.opened() as model:
            await scene(suite, model)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def answered(
    model: ChatModel, messages: Sequence[Message] = MESSAGES, sampling: Sampling = SHORT
) -> list[Delta]:
    async with model.stream(messages, sampling) as deltas:
        return [delta async for delta in deltas]


class ChatModelContract:
    """Subclass it as `Test...`, and say how a model is opened.

    It must be able to say more than three tokens to `MESSAGES`.
    """

    def opened(self) -> AbstractAsyncContextManager[ChatModel]:
        raise NotImplementedError

    @on_a_model
    async def test_an_answer_comes_in_pieces_and_says_why_it_ended(self, model: ChatModel) -> None:
        deltas = await answered(model)
        assert "".join(delta.text for delta in deltas)
        finishes = [delta.finish for delta in deltas if delta.finish]
        assert len(finishes) == 1
        ended = next(at for at, delta in enumerate(deltas) if delta.finish)
        assert not any(delta.text for delta in deltas[ended + 1 :])

    @on_a_model
    async def test_an_answer_that_may_not_be_longer_says_so(self, model: ChatModel) -> None:
        deltas = await answered(model)
        assert [delta.finish for delta in deltas if delta.finish] == ["length"]

    @on_a_model
    async def test_counts_come_once_at_the_end_if_they_come(self, model: ChatModel) -> None:
        *others, last = await answered(model)
        assert all(delta.usage is None for delta in others)
        if last.usage is not None:
            assert last.usage.prompt_tokens > 0
            assert 0 < last.usage.completion_tokens <= 3

    @on_a_model
    async def test_no_piece_is_empty(self, model: ChatModel) -> None:
        assert all(any(delta) for delta in await answered(model))

    @on_a_model
    async def test_an_answer_can_be_left_at_any_time(self, model: ChatModel) -> None:
        async with model.stream(MESSAGES, SHORT):
            pass
        async with model.stream(MESSAGES, SHORT) as deltas:
            await anext(aiter(deltas))
        assert await answered(model)

    @on_a_model
    async def test_a_question_can_be_taken_back_at_any_time(self, model: ChatModel) -> None:
        for pause in (0.0, 0.001, 0.02, 0.05):
            task = asyncio.ensure_future(answered(model))
            await asyncio.sleep(pause)
            was_over = task.done()
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
            assert was_over or isinstance(results[0], asyncio.CancelledError)
        assert await answered(model)

    @on_a_model
    async def test_answers_come_side_by_side(self, model: ChatModel) -> None:
        for deltas in await asyncio.gather(*(answered(model) for _ in range(4))):
            assert [delta.finish for delta in deltas if delta.finish] == ["length"]

    @on_a_model
    async def test_an_error_of_the_reader_s_own_gets_through(self, model: ChatModel) -> None:
        try:
            async with model.stream(MESSAGES, SHORT) as deltas:
                async for _ in deltas:
                    raise ZeroDivisionError  # noqa: TRY301 -- that is the point
        except ZeroDivisionError:
            return
        raise AssertionError("it was lost")

    @on_a_model
    async def test_content_may_be_a_list_of_parts(self, model: ChatModel) -> None:
        parts = [{"type": "text", "text": "Where does "}, {"type": "text", "text": "it board?"}]
        assert await answered(model, [{"role": "user", "content": parts}])

    @on_a_model
    async def test_messages_stay_as_they_were(self, model: ChatModel) -> None:
        messages = [dict(message) for message in MESSAGES]
        await answered(model, messages)
        assert messages == [dict(message) for message in MESSAGES]

    @on_a_model
    async def test_half_of_a_character_is_refused(self, model: ChatModel) -> None:
        try:
            await answered(model, [{"role": "user", "content": "\ud83d"}])
        except InvalidTextError:
            return
        raise AssertionError("a lone surrogate went through")

    @on_a_model
    async def test_any_request_id_goes_with_the_call(self, model: ChatModel) -> None:
        for request_id in ("", "one", "zwölf", "two\r\nX-More: lines", "x" * 300):
            async with model.stream(MESSAGES, SHORT, request_id=request_id) as deltas:
                assert [delta async for delta in deltas]

    @on_a_model
    async def test_its_window_is_a_number_or_not_known(self, model: ChatModel) -> None:
        for name in ("", model.name, "no-such-model"):
            sizes = [await model.window(name) for _ in range(2)]
            assert sizes[0] == sizes[1]
            assert sizes[0] is None or sizes[0] > 0

    @on_a_model
    async def test_tokens_are_counted_without_asking(self, model: ChatModel) -> None:
        assert model.count_tokens("") == 0
        few, many = model.count_tokens("harbour"), model.count_tokens("harbour " * 50)
        assert 0 < few < many
        assert model.count_tokens("<|endoftext|> [CLS] 東京 👩‍👩‍👧‍👦") > 5

    @on_a_model
    async def test_it_says_what_it_is(self, model: ChatModel) -> None:
        assert model.name
        assert model.name == model.name.strip()

    @on_a_model
    async def test_it_can_be_closed_twice(self, model: ChatModel) -> None:
        await answered(model)
        await model.close()
        await model.close()
