"""The chunks of a vector store, for scripts that look at them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from recovery.vector_stores import Held, VectorStores, refusing
from unchunk import (
    VectorStoreChunk,
    VectorStoreFile,
    get_all_vector_store_file_contents,
    get_vector_store_file_content,
    rescue,
)
from unchunk.errors import (
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    ProviderUnavailableError,
)
from unchunk.ports import LostChunks, LostFile

STORE = "vs_1"


@pytest.fixture
def client(server: VectorStores) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, max_retries=0)


def test_a_file_is_told_as_its_store_tells_of_it(server: VectorStores, client: AsyncOpenAI) -> None:
    attributes: dict[str, Any] = {"year": 2024}
    server.put(STORE, Held("file-1", "a.md", "Hello.", attributes=attributes))
    server.put(STORE, Held("file-2", "b.md", status="in_progress"), Held("file-3", "c.md"))
    server.put(STORE, Held("file-4", "d.md", status="cancelled"))
    assert get_all_vector_store_file_contents(client, STORE) == [
        {
            "file": VectorStoreFile("file-1", "a.md", "completed", attributes),
            "chunks": [VectorStoreChunk("Hello.", 0)],
        },
        {"file": VectorStoreFile("file-2", "b.md", "in_progress"), "chunks": []},
        {"file": VectorStoreFile("file-3", "c.md", "completed"), "chunks": []},
        {"file": VectorStoreFile("file-4", "d.md", "cancelled"), "chunks": []},
    ]
    assert server.count("/content") == 2


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_they_work_inside_a_running_loop_too(server: VectorStores, kind: type[Any]) -> None:
    server.put(STORE, Held("file-1", "a.md", "Hello."))
    made = kind(base_url=server.url)

    async def script() -> list[VectorStoreChunk]:
        assert len(get_all_vector_store_file_contents(made, STORE)) == 1
        return get_vector_store_file_content(made, STORE, "file-1")

    assert [one.text for one in asyncio.run(script())] == ["Hello."]
    if kind is OpenAI:
        made.close()


def test_one_content_that_cannot_be_had_is_an_error(
    server: VectorStores, client: AsyncOpenAI
) -> None:
    server.put(STORE, *(Held(f"file-{at}", f"{at}.md", "Hello.") for at in range(20)))
    server.faults.append(("file-3/content", refusing(503, "away")))
    with pytest.raises(ProviderUnavailableError, match="answered 503: away"):
        get_all_vector_store_file_contents(client, STORE)


class Failing:
    """A store whose first file cannot be had, while the others are under way."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.under_way: list[str] = []
        self.left_at_the_end: list[str] | None = None

    async def files(self) -> AsyncIterator[LostFile]:
        for name in ("first", "second", "third"):
            yield LostFile(name, name, status="ready")

    async def chunks(self, file: LostFile) -> LostChunks:
        if file.id == "first":
            await self.begun.wait()
            raise ProviderUnavailableError("the first is away")
        self.under_way.append(file.id)
        if len(self.under_way) == 2:
            self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # a connection takes a moment to be given back
            self.under_way.remove(file.id)
        raise AssertionError

    async def close(self) -> None:
        self.left_at_the_end = [*self.under_way]


def test_after_a_failure_no_call_goes_on_when_the_store_is_closed(
    client: AsyncOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Failing()
    monkeypatch.setattr(rescue, "store_of", lambda *_: store)
    with pytest.raises(ProviderUnavailableError, match="the first is away"):
        get_all_vector_store_file_contents(client, STORE)
    assert store.begun.is_set()
    assert store.left_at_the_end == []


def test_chunks_that_are_not_complete_are_an_error(
    server: VectorStores, client: AsyncOpenAI
) -> None:
    page = {"data": [{"type": "text", "text": "a"}], "has_more": True, "next_page": None}
    server.faults.append(("/content", lambda exchange: exchange.reply(200, page)))
    with pytest.raises(IntegrityError, match="the chunks of file-1 are not complete: the store"):
        get_vector_store_file_content(client, STORE, "file-1")


def test_what_is_not_there_and_what_is_no_id_are_said(
    server: VectorStores, client: AsyncOpenAI
) -> None:
    server.put(STORE)
    with pytest.raises(NotFoundError, match="the content of file-9"):
        get_vector_store_file_content(client, STORE, "file-9")
    with pytest.raises(NotFoundError, match="there is no vector store vs_9"):
        get_all_vector_store_file_contents(client, "vs_9")
    for wrong in ("", " ", "."):
        with pytest.raises(InvalidInputError, match="is not a file id"):
            get_vector_store_file_content(client, STORE, wrong)
