"""One retriever for many questions: side by side, cancelled, and in several event loops."""

import asyncio
from typing import Any

import pytest

from collections_of_others import NAME, Page, filled
from unchunk import ChunkAwareRetriever
from unchunk.errors import IndexUnavailableError, InvalidInputError

QUESTIONS = [f"question {at}" for at in range(5)]


def retriever_of(failures: int = 0) -> tuple[ChunkAwareRetriever, list[str]]:
    """A retriever, and the openings of its collection; so many of them fail."""
    client, model = filled(Page("a", {2: 0.9}))
    openings: list[str] = []

    class Counted:
        """The client, with its openings counted."""

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - theirs
            return getattr(client, name)

        def get_collection(self, name: str) -> Any:  # noqa: ANN401 - theirs
            openings.append(name)
            if len(openings) <= failures:
                raise RuntimeError("the client is closed")
            return client.get_collection(name)

    return ChunkAwareRetriever(Counted(), model, collection_name=NAME), openings


def test_concurrent_first_questions_open_a_collection_once() -> None:
    retriever, openings = retriever_of()

    async def ask() -> None:
        found = await asyncio.gather(*map(retriever.search_with_context, QUESTIONS))
        assert all(found)

    asyncio.run(ask())
    # In another event loop it is still open.
    asyncio.run(ask())
    assert openings == [NAME]


def test_what_a_caller_does_to_metadata_stays_with_that_caller() -> None:
    retriever, _ = retriever_of()

    async def ask() -> None:
        for _ in range(2):
            [found] = await retriever.search_with_context("again")
            evidence = await retriever.retrieve("again")
            for one in (found, *evidence.documents):
                assert "mine" not in one.metadata
                assert isinstance(one.metadata, dict)
                one.metadata["mine"] = 1

    asyncio.run(ask())


@pytest.mark.parametrize("made", [[], [1, 2], [[0.5]]])
def test_a_sparse_model_that_makes_no_sparse_vectors_is_refused(made: list[object]) -> None:
    client, model = filled(Page("a", {2: 0.9}))
    retriever = ChunkAwareRetriever(client, model, sparse_embedding_model=lambda _: made)
    with pytest.raises(InvalidInputError, match="has to return one vector with indices and values"):
        asyncio.run(retriever.search_with_context("again"))


def test_an_opening_that_failed_is_tried_again_by_the_next_question() -> None:
    retriever, openings = retriever_of(failures=1)

    async def ask() -> None:
        first = await asyncio.gather(
            *map(retriever.search_with_context, QUESTIONS), return_exceptions=True
        )
        assert {type(one) for one in first} == {IndexUnavailableError}
        assert await retriever.search_with_context("again")

    asyncio.run(ask())
    assert len(openings) == 2


@pytest.mark.parametrize("all_give_up", [False, True])
def test_questions_that_are_cancelled_leave_the_opening_to_the_others(
    all_give_up: bool,
) -> None:
    client, model = filled(Page("a", {2: 0.9}))
    asked: list[int] = []

    async def ask() -> None:
        begun, may_go_on = asyncio.Event(), asyncio.Event()

        async def embed(texts: list[str]) -> list[list[float]]:
            asked.append(len(texts))
            begun.set()
            await may_go_on.wait()
            return model.encode(texts)

        retriever = ChunkAwareRetriever(client, embed, collection_name=NAME)
        first, *others = (
            asyncio.ensure_future(retriever.search_with_context(one)) for one in QUESTIONS
        )
        await begun.wait()
        given_up = [first, *others] if all_give_up else [first]
        for one in given_up:
            one.cancel()
        gone = await asyncio.gather(*given_up, return_exceptions=True)
        assert {type(one) for one in gone} == {asyncio.CancelledError}
        may_go_on.set()
        found = await asyncio.gather(
            *([] if all_give_up else others), retriever.search_with_context("another")
        )
        assert all(found)
        # One vector to measure the model and one to check it, then one for each question.
        assert len(asked) == 2 + len(found)

    asyncio.run(ask())


def test_an_opening_that_ended_with_its_event_loop_is_made_again() -> None:
    client, model = filled(Page("a", {2: 0.9}))

    async def give_up() -> None:
        begun = asyncio.Event()

        async def embed(_: list[str]) -> list[list[float]]:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError("it waits until it is cancelled")

        models.append(embed)
        asyncio.ensure_future(retriever.search_with_context("first"))  # noqa: RUF006 - it is left
        await begun.wait()

    models: list[Any] = []

    async def embedding(texts: list[str]) -> list[list[float]]:
        found: list[list[float]] = await models[-1](texts)
        return found

    async def encode(texts: list[str]) -> list[list[float]]:
        return model.encode(texts)

    retriever = ChunkAwareRetriever(client, embedding, collection_name=NAME)
    asyncio.run(give_up())
    # One that is abandoned without being cancelled never ends.
    loop = asyncio.new_event_loop()
    loop.run_until_complete(give_up())
    models.append(encode)
    assert asyncio.run(retriever.search_with_context("second"))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
