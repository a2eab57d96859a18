"""What every embedder must do."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import numpy as np

from unchunk.errors import InvalidTextError
from unchunk.ports import Embedder

S = TypeVar("S", bound="EmbedderContract")

TEXTS = (
    "Ships longer than forty metres may not enter the harbour in winter.",
    "The pilot boards at the outer buoy.",
    "Bread rises because yeast turns sugar into gas. " * 12,
    "x",
    "Größe, naïve, 東京タワー, مرحبا, 👩‍👩‍👧‍👦",
    "line one\nline two\r\n\ttabbed",
    "<s> [CLS] </s> [SEP] <|endoftext|>",
)


def on_an_embedder(
    scene: Callable[[S, Embedder], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with an embedder that was just opened."""

    async def play(suite: S) -> None:
        async with suite.opened() as embedder:
            await scene(suite, embedder)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class EmbedderContract:
    """Subclass it as `Test...`, and say how an embedder is opened.

    `tolerance` is how far two vectors of one text may lie apart.
    """

    tolerance = 1e-5

    def opened(self) -> AbstractAsyncContextManager[Embedder]:
        raise NotImplementedError

    @on_an_embedder
    async def test_there_is_one_row_of_length_one_for_each_text(self, embedder: Embedder) -> None:
        rows = await embedder.embed(TEXTS, "document")
        assert rows.dtype == np.float32
        assert rows.shape == (len(TEXTS), embedder.identity.dimensions)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)

    @on_an_embedder
    async def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        for role in ("document", "query"):
            rows = await embedder.embed([], role)
            assert rows.dtype == np.float32
            assert rows.shape == (0, embedder.identity.dimensions)
        assert embedder.count_tokens([]) == []

    @on_an_embedder
    async def test_a_text_has_the_same_row_whatever_stands_beside_it(
        self, embedder: Embedder
    ) -> None:
        together = await embedder.embed(TEXTS, "document")
        turned = await embedder.embed(TEXTS[::-1], "document")
        alone = [(await embedder.embed([text], "document"))[0] for text in TEXTS]
        assert _apart(together, turned[::-1]) <= self.tolerance
        assert _apart(together, np.array(alone)) <= self.tolerance

    @on_an_embedder
    async def test_rows_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = [f"{number} " + "and so on " * (number * 7 % 30) for number in range(60)]
        rows = await embedder.embed(texts, "document")
        for at in (0, 13, 31, 59):
            row = (await embedder.embed([texts[at]], "document"))[0]
            assert _apart(rows[at], row) <= self.tolerance

    @on_an_embedder
    async def test_calls_side_by_side_do_not_mix(self, embedder: Embedder) -> None:
        jobs = [embedder.embed([text] * 3, "document") for text in TEXTS]
        for text, rows in zip(TEXTS, await asyncio.gather(*jobs), strict=True):
            alone = await embedder.embed([text], "document")
            assert _apart(rows, np.repeat(alone, 3, axis=0)) <= self.tolerance

    @on_an_embedder
    async def test_a_question_is_nearest_to_the_text_that_it_asks_about(
        self, embedder: Embedder
    ) -> None:
        texts = (*TEXTS[:3], "Interest is paid on the first day of each quarter.")
        questions = (
            "When may long ships enter the harbour?",
            "Where does the pilot come on board?",
            "Why does bread rise with yeast?",
            "When is interest paid?",
        )
        rows = await embedder.embed(texts, "document")
        asked = await embedder.embed(questions, "query")
        assert (asked @ rows.T).argmax(axis=1).tolist() == [0, 1, 2, 3]

    @on_an_embedder
    async def test_an_empty_text_has_a_row_too(self, embedder: Embedder) -> None:
        rows = await embedder.embed(["", " ", "\n"], "document")
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)

    @on_an_embedder
    async def test_half_of_a_character_is_refused(self, embedder: Embedder) -> None:
        try:
            await embedder.embed(["fine", "\ud83d"], "document")
        except InvalidTextError:
            return
        raise AssertionError("a lone surrogate went through")

    @on_an_embedder
    async def test_tokens_are_counted_for_each_text_alone(self, embedder: Embedder) -> None:
        counts = embedder.count_tokens(TEXTS)
        assert [embedder.count_tokens([text])[0] for text in TEXTS] == counts
        assert all(type(count) is int and count > 0 for count in counts)
        longer = embedder.count_tokens([text + " and more of the same" for text in TEXTS])
        assert all(long > short for long, short in zip(longer, counts, strict=True))

    @on_an_embedder
    async def test_the_identity_says_what_the_vectors_are(self, embedder: Embedder) -> None:
        identity = embedder.identity
        assert identity.name
        assert identity.dimensions > 0
        assert identity.max_tokens > 0
        assert 0 <= identity.min_score < 1
        assert identity == embedder.identity

    @on_an_embedder
    async def test_texts_stay_as_they_were(self, embedder: Embedder) -> None:
        texts = list(TEXTS)
        await embedder.embed(texts, "query")
        embedder.count_tokens(texts)
        assert texts == list(TEXTS)

    @on_an_embedder
    async def test_it_can_be_closed_twice(self, embedder: Embedder) -> None:
        await embedder.embed(["once"], "query")
        await embedder.close()
        await embedder.close()


def _apart(one: Sequence[float] | np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.asarray(one) - other).max())
