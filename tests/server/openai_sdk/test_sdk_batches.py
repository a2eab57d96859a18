"""`client.vector_stores.file_batches` of the official client."""

from collections.abc import Iterator

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from openai.types import StaticFileChunkingStrategyParam
from openai.types.vector_stores import VectorStoreFileBatch

from gates import hold, part
from server.openai_sdk.clients import SOON, Place, placed, prose, sent

BROKEN = b"%PDF-1.7\nthis is no PDF"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("batches")) as place:
        yield place


@pytest.fixture(scope="module")
def files(place: Place) -> list[str]:
    return [sent(place.sync, f"part {at}.md", prose(60, f"part {at}")).id for at in range(5)]


def test_files_come_into_a_store_together(place: Place, files: list[str]) -> None:
    static: StaticFileChunkingStrategyParam = {
        "max_chunk_size_tokens": 120,
        "chunk_overlap_tokens": 60,
    }
    store = place.sync.vector_stores.create()
    batch = place.sync.vector_stores.file_batches.create_and_poll(
        store.id,
        file_ids=files,
        attributes={"kind": "part"},
        chunking_strategy={"type": "static", "static": static},
    )
    assert batch.id.startswith("vsfb_")
    assert (batch.status, batch.vector_store_id) == ("completed", store.id)
    assert (batch.file_counts.completed, batch.file_counts.total) == (5, 5)
    again = place.sync.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store.id)
    assert again == batch
    listed = list(
        place.sync.vector_stores.file_batches.list_files(
            batch.id, vector_store_id=store.id, limit=2
        )
    )
    assert {it.id for it in listed} == set(files)
    assert all(it.attributes == {"kind": "part"} for it in listed)
    strategies = [it.chunking_strategy.model_dump() for it in listed if it.chunking_strategy]
    assert strategies == [{"type": "static", "static": static}] * 5
    backwards = place.sync.vector_stores.file_batches.list_files(
        batch.id, vector_store_id=store.id, limit=2, order="asc", filter="completed"
    )
    assert [it.id for it in backwards] == [it.id for it in reversed(listed)]


def test_a_batch_lists_its_own_files_alone(place: Place, files: list[str]) -> None:
    store = place.sync.vector_stores.create(file_ids=[files[0]])
    batch = place.sync.vector_stores.file_batches.create(store.id, file_ids=files[1:3])
    listed = place.sync.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id)
    assert {it.id for it in listed} == set(files[1:3])
    assert len(place.sync.vector_stores.files.list(store.id).data) == 3


def test_files_of_a_batch_may_each_have_their_own_attributes(
    place: Place, files: list[str]
) -> None:
    store = place.sync.vector_stores.create()
    batch = place.sync.vector_stores.file_batches.create(
        store.id,
        attributes={"ignored": True},
        files=[{"file_id": it, "attributes": {"at": at}} for at, it in enumerate(files)],
    )
    ready = place.sync.vector_stores.file_batches.poll(batch.id, vector_store_id=store.id)
    assert ready.status == "completed"
    said = {it.id: it.attributes for it in place.sync.vector_stores.files.list(store.id)}
    assert said == {it: {"at": at} for at, it in enumerate(files)}


def test_many_files_are_uploaded_at_once(place: Place, files: list[str]) -> None:
    store = place.sync.vector_stores.create()
    batch = place.sync.vector_stores.file_batches.upload_and_poll(
        store.id,
        files=[(f"new {at}.md", prose(80, f"new {at}").encode()) for at in range(7)],
        file_ids=files[:2],
        max_concurrency=4,
    )
    assert (batch.status, batch.file_counts.completed) == ("completed", 9)


def test_a_batch_with_a_file_that_cannot_be_read_counts_it(place: Place) -> None:
    store = place.sync.vector_stores.create()
    batch = place.sync.vector_stores.file_batches.upload_and_poll(
        store.id, files=[("good.md", b"Good."), ("broken.pdf", BROKEN)]
    )
    assert (batch.status, batch.file_counts.completed, batch.file_counts.failed) == (
        "completed",
        1,
        1,
    )
    bad = place.sync.vector_stores.file_batches.upload_and_poll(
        store.id, files=[("broken.pdf", BROKEN)]
    )
    assert bad.status == "failed"
    failed = place.sync.vector_stores.file_batches.list_files(
        bad.id, vector_store_id=store.id, filter="failed"
    )
    assert len(failed.data) == 1


def test_what_is_on_its_way_is_in_progress_until_it_is_cancelled(
    place: Place, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, served = place.sync, place.house.served
    gate = hold(monkeypatch, part(served.app.state.house.engine, "extractor"), "extract")
    slow = client.files.create(file=("slow.md", b"Slow to come."), purpose="assistants")
    assert slow.status == "uploaded"
    assert client.files.content(slow.id).text == "Slow to come."
    store = client.vector_stores.create()
    batch = client.vector_stores.file_batches.create(store.id, file_ids=[slow.id, files[0]])
    counts = batch.file_counts
    assert (batch.status, counts.in_progress, counts.completed) == ("in_progress", 1, 1)
    assert client.vector_stores.retrieve(store.id).status == "in_progress"
    [member] = client.vector_stores.files.list(store.id, filter="in_progress")
    assert (member.id, member.usage_bytes, member.last_error) == (slow.id, 0, None)
    with pytest.raises(BadRequestError, match="on its way"):
        client.vector_stores.files.content(slow.id, vector_store_id=store.id)
    batches = client.vector_stores.file_batches
    cancelled = batches.cancel(batch.id, vector_store_id=store.id)
    counts = cancelled.file_counts
    assert (cancelled.status, counts.cancelled, counts.completed) == ("cancelled", 1, 1)
    [given_up] = client.vector_stores.files.list(store.id, filter="cancelled")
    assert given_up.status == "cancelled"
    assert batches.poll(batch.id, vector_store_id=store.id) == cancelled
    assert served.loop is not None
    served.loop.call_soon_threadsafe(gate.opened.set)
    assert client.files.wait_for_processing(slow.id, poll_interval=SOON).status == "processed"
    # What was given up stays so, until it is added again.
    assert client.vector_stores.retrieve(store.id).file_counts.cancelled == 1
    client.vector_stores.files.create(store.id, file_id=slow.id)
    assert client.vector_stores.retrieve(store.id).file_counts.completed == 2


def test_a_batch_that_is_done_cannot_be_cancelled(place: Place, files: list[str]) -> None:
    store = place.sync.vector_stores.create()
    batch = place.sync.vector_stores.file_batches.create(store.id, file_ids=files)
    cancelled = place.sync.vector_stores.file_batches.cancel(batch.id, vector_store_id=store.id)
    assert (cancelled.status, cancelled.file_counts.completed) == ("completed", 5)
    assert place.sync.vector_stores.retrieve(store.id).file_counts.completed == 5


def test_a_batch_is_found_in_its_own_store_alone(place: Place, files: list[str]) -> None:
    one, other = (place.sync.vector_stores.create().id for _ in range(2))
    batch = place.sync.vector_stores.file_batches.create(one, file_ids=files[:1])
    batches = place.sync.vector_stores.file_batches
    for ask in (batches.retrieve, batches.cancel, batches.list_files):
        for store, name in ((other, batch.id), (one, "vsfb_never"), ("vs_never", batch.id)):
            with pytest.raises(NotFoundError):
                ask(name, vector_store_id=store)


def test_a_batch_with_a_file_that_is_not_there_adds_nothing(place: Place, files: list[str]) -> None:
    store = place.sync.vector_stores.create()
    with pytest.raises(NotFoundError, match="never"):
        place.sync.vector_stores.file_batches.create(store.id, file_ids=[*files, "file-never"])
    assert not place.sync.vector_stores.files.list(store.id).data


def test_a_batch_of_nothing_or_of_both_is_refused(place: Place, files: list[str]) -> None:
    store = place.sync.vector_stores.create()
    batches = place.sync.vector_stores.file_batches
    for given, param in (
        ({}, "file_ids"),
        ({"file_ids": []}, "file_ids"),
        ({"file_ids": files, "files": [{"file_id": files[0]}]}, "file_ids"),
        ({"file_ids": files * 500}, "file_ids"),
        ({"files": [{"file_id": files[0]}, {}]}, "files[1].file_id"),
        (
            {"files": [{"file_id": files[0], "attributes": {"a": {"b": 1}}}]},
            "files[0].attributes",
        ),
    ):
        with pytest.raises(BadRequestError) as caught:
            batches.create(store.id, **given)
        assert caught.value.param == param


def test_every_method_of_batches_is_there_for_async_clients(place: Place, files: list[str]) -> None:
    async def work(client: AsyncOpenAI) -> VectorStoreFileBatch:
        store = await client.vector_stores.create()
        batches = client.vector_stores.file_batches
        batch = await batches.create(store.id, file_ids=files)
        polled = await batches.poll(batch.id, vector_store_id=store.id)
        assert await batches.retrieve(batch.id, vector_store_id=store.id) == polled
        listed = batches.list_files(batch.id, vector_store_id=store.id, limit=2)
        assert {it.id async for it in listed} == set(files)
        again = await batches.create_and_poll(store.id, file_ids=files[:1])
        assert again.file_counts.total == 1
        new = await batches.upload_and_poll(
            store.id, files=[("x.md", b"An x."), ("y.md", b"A y.")], max_concurrency=2
        )
        assert new.file_counts.completed == 2
        return await batches.cancel(new.id, vector_store_id=store.id)

    assert place.alone(work).status == "completed"
