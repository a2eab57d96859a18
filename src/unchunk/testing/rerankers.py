"""What every reranker must do."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from unchunk.errors import InvalidTextError
from unchunk.ports import Reranker

S = TypeVar("S", bound="RerankerContract")

QUESTION = "When may ships longer than forty metres enter the harbour?"
ANSWER = "Ships longer than forty metres may enter the harbour from April to October."
BESIDE = "The pilot boards at the outer buoy."
TEXTS = (
    ANSWER,
    BESIDE,
    "Bread rises because yeast turns sugar into gas. " * 12,
    "x",
    "Größe, naïve, 東京タワー, مرحبا, 👩‍👩‍👧‍👦",
    "line one\nline two\r\n\ttabbed",
    "<s> [CLS] </s> [SEP] <|endoftext|>",
)


def on_a_reranker(
    scene: Callable[[S, Reranker], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with a reranker that was just opened."""

    async def play(suite: S) -> None:
        async with suite.opened() as reranker:
            await scene(suite, reranker)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class RerankerContract:
    """Subclass it as `Test...`, and say how a reranker is opened.

    `tolerance` is how far two scores of one pair may lie apart.
    """

    tolerance = 1e-5

    def opened(self) -> AbstractAsyncContextManager[Reranker]:
        raise NotImplementedError

    @on_a_reranker
    async def test_there_is_one_score_between_0_and_1_for_each_text(
        self, reranker: Reranker
    ) -> None:
        scores = await reranker.rerank(QUESTION, TEXTS)
        assert len(scores) == len(TEXTS)
        assert all(type(score) is float and 0 <= score <= 1 for score in scores)

    @on_a_reranker
    async def test_no_texts_give_no_scores(self, reranker: Reranker) -> None:
        assert await reranker.rerank(QUESTION, []) == []

    @on_a_reranker
    async def test_the_text_that_answers_is_the_best(self, reranker: Reranker) -> None:
        scores = await reranker.rerank(QUESTION, TEXTS)
        assert max(scores[1:]) < scores[0]
        scores = await reranker.rerank("Where does the pilot come on board?", TEXTS)
        assert scores.index(max(scores)) == 1

    @on_a_reranker
    async def test_a_pair_has_the_same_score_whatever_stands_beside_it(
        self, reranker: Reranker
    ) -> None:
        together = await reranker.rerank(QUESTION, TEXTS)
        turned = await reranker.rerank(QUESTION, TEXTS[::-1])
        alone = [(await reranker.rerank(QUESTION, [text]))[0] for text in TEXTS]
        assert self._apart(together, turned[::-1]) <= self.tolerance
        assert self._apart(together, alone) <= self.tolerance

    @on_a_reranker
    async def test_scores_come_in_the_order_of_the_texts(self, reranker: Reranker) -> None:
        texts = [TEXTS[at % 2] + " And so on." * (at * 7 % 10) for at in range(12)]
        scores = await reranker.rerank(QUESTION, texts)
        for at in (0, 5, 11):
            alone = await reranker.rerank(QUESTION, [texts[at]])
            assert self._apart([scores[at]], alone) <= self.tolerance

    @on_a_reranker
    async def test_calls_side_by_side_do_not_mix(self, reranker: Reranker) -> None:
        jobs = [reranker.rerank(text, [ANSWER, BESIDE]) for text in (ANSWER, BESIDE)]
        for same, scores in enumerate(await asyncio.gather(*jobs)):
            assert scores[same] > scores[1 - same]

    @on_a_reranker
    async def test_equal_texts_score_alike(self, reranker: Reranker) -> None:
        first, _, second = await reranker.rerank(QUESTION, [ANSWER, BESIDE, ANSWER])
        assert abs(first - second) <= self.tolerance

    @on_a_reranker
    async def test_a_long_text_is_read_to_its_end(self, reranker: Reranker) -> None:
        """Its best part counts, wherever it stands."""
        filling = "Bread rises because yeast turns sugar into gas. " * 150
        texts = [filling, f"{filling} {ANSWER}", f"{filling} {ANSWER} {filling[:2000]}"]
        nothing, at_the_end, amid = await reranker.rerank(QUESTION, texts)
        assert nothing < at_the_end
        assert nothing < amid

    @on_a_reranker
    async def test_an_empty_text_is_worse_than_an_answer(self, reranker: Reranker) -> None:
        *empty, answer = await reranker.rerank(QUESTION, ["", " ", "\n", ANSWER])
        assert all(0 <= score < answer for score in empty)

    @on_a_reranker
    async def test_half_of_a_character_is_refused(self, reranker: Reranker) -> None:
        for question, text in (("fine", "\ud83d"), ("\ud83d", "fine")):
            try:
                await reranker.rerank(question, [text])
            except InvalidTextError:
                continue
            raise AssertionError("a lone surrogate went through")

    @on_a_reranker
    async def test_it_says_what_it_is(self, reranker: Reranker) -> None:
        assert reranker.name
        assert reranker.name == reranker.name.strip()

    @on_a_reranker
    async def test_texts_stay_as_they_were(self, reranker: Reranker) -> None:
        texts = list(TEXTS)
        await reranker.rerank(QUESTION, texts)
        assert texts == list(TEXTS)

    @on_a_reranker
    async def test_it_can_be_closed_twice(self, reranker: Reranker) -> None:
        await reranker.rerank(QUESTION, [ANSWER])
        await reranker.close()
        await reranker.close()

    @staticmethod
    def _apart(one: Sequence[float], other: Sequence[float]) -> float:
        return max(abs(a - b) for a, b in zip(one, other, strict=True))
