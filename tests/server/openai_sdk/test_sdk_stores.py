"""`client.vector_stores` and `client.vector_stores.files` of the official client."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError, omit
from openai.types import (
    FileObject,
    StaticFileChunkingStrategyObject,
    StaticFileChunkingStrategyObjectParam,
    StaticFileChunkingStrategyParam,
    VectorStore,
)
from openai.types.vector_stores import VectorStoreFile

import foreign
from server.houses import add
from server.openai_sdk.clients import Place, placed, prose, sent
from unchunk.ports import StoreFile
from unchunk.ports import VectorStore as VectorStoreRecord

BROKEN = b"%PDF-1.7\nthis is no PDF"
AUTO = (800, 400)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("stores")) as place:
        yield place


@pytest.fixture(scope="module")
def files(place: Place) -> list[FileObject]:
    topics = ("harbour", "orchard", "railway", "glacier", "theatre")
    return [sent(place.sync, f"{it}.md", prose(400, it)) for it in topics]


def static(size: int, overlap: int) -> StaticFileChunkingStrategyObjectParam:
    static = {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap}
    return {"type": "static", "static": cast("StaticFileChunkingStrategyParam", static)}


def sizes(file: VectorStoreFile) -> tuple[int, int]:
    strategy = file.chunking_strategy
    assert isinstance(strategy, StaticFileChunkingStrategyObject)
    return strategy.static.max_chunk_size_tokens, strategy.static.chunk_overlap_tokens


def windows(text: str, size: int, overlap: int) -> list[str]:
    """As OpenAI's own tokenizer cuts it."""
    return foreign.tokens(size, overlap, to_the_last=True).cut(text)


def unused_for_days(place: Place, days: int, file: str) -> str:
    """A store with a file that nobody has used for so long, and that lives for a day."""
    parts = place.house.served.app.state.house.engine.stores._parts
    then = datetime.now(UTC) - timedelta(days=days)
    store = VectorStoreRecord("vs_old", "local", "Old", then, then, expires_after=timedelta(1))

    async def make() -> None:
        await parts.stores.add(store)
        document = file.removeprefix("file-")
        await parts.members.put("local", [StoreFile(store.id, document, then)])

    place.house.served.inside(make)
    return store.id


def test_a_store_is_made_read_changed_and_deleted(place: Place) -> None:
    store = place.sync.vector_stores.create(
        name="Papers",
        description="What was written.",
        metadata={"team": "port"},
        expires_after={"anchor": "last_active_at", "days": 7},
    )
    assert store.id.startswith("vs_")
    assert (store.name, store.metadata, store.status) == ("Papers", {"team": "port"}, "completed")
    assert (store.usage_bytes, store.file_counts.total) == (0, 0)
    assert store.expires_after is not None
    assert store.expires_after.days == 7
    assert store.last_active_at is not None
    assert store.expires_at == store.last_active_at + 7 * 24 * 3600
    assert abs(store.created_at - datetime.now(UTC).timestamp()) < 60
    assert place.sync.vector_stores.retrieve(store.id) == store
    renamed = place.sync.vector_stores.update(store.id, name="Articles")
    assert (renamed.name, renamed.metadata, renamed.expires_at) == (
        "Articles",
        {"team": "port"},
        store.expires_at,
    )
    bare = place.sync.vector_stores.update(store.id, expires_after=None, metadata=None)
    assert (bare.name, bare.metadata, bare.expires_at) == ("Articles", {}, None)
    assert place.sync.vector_stores.retrieve(store.id).name == "Articles"
    gone = place.sync.vector_stores.delete(store.id)
    assert (gone.id, gone.object, gone.deleted) == (store.id, "vector_store.deleted", True)
    with pytest.raises(NotFoundError):
        place.sync.vector_stores.retrieve(store.id)


def test_a_store_needs_no_more_than_to_be_asked_for(place: Place) -> None:
    store = place.sync.vector_stores.create()
    assert (store.name, store.metadata, store.expires_at) == ("", {}, None)


def test_a_long_list_of_stores_comes_page_by_page(place: Place) -> None:
    made = [place.sync.vector_stores.create(name=f"Store {at}").id for at in range(5)]
    newest = [it.id for it in place.sync.vector_stores.list(limit=2)]
    assert newest[:5] == made[::-1]
    assert [it.id for it in place.sync.vector_stores.list(limit=2, order="asc")] == newest[::-1]
    back = place.sync.vector_stores.list(limit=2, before=made[1])
    assert [it.id for it in back.data] == [made[3], made[2]]
    between = place.sync.vector_stores.list(after=made[4], before=made[1])
    assert [it.id for it in between.data] == [made[3], made[2]]


def test_a_store_is_made_with_files_all_cut_in_one_way(
    place: Place, files: list[FileObject]
) -> None:
    store = place.sync.vector_stores.create(
        file_ids=[it.id for it in files], chunking_strategy=static(200, 50)
    )
    assert store.file_counts.model_dump() == {
        "cancelled": 0,
        "completed": 5,
        "failed": 0,
        "in_progress": 0,
        "total": 5,
    }
    assert store.usage_bytes == sum(it.bytes for it in files)
    members = list(place.sync.vector_stores.files.list(store.id, limit=2))
    assert {it.id for it in members} == {it.id for it in files}
    assert {sizes(it) for it in members} == {(200, 50)}
    backwards = place.sync.vector_stores.files.list(store.id, limit=2, order="asc")
    assert [it.id for it in backwards] == [it.id for it in reversed(members)]


def test_a_store_with_a_file_that_is_not_there_is_not_made(
    place: Place, files: list[FileObject]
) -> None:
    before = {it.id for it in place.sync.vector_stores.list(limit=100)}
    with pytest.raises(NotFoundError) as caught:
        place.sync.vector_stores.create(file_ids=[files[0].id, "file-never"])
    assert "never" in caught.value.message
    assert {it.id for it in place.sync.vector_stores.list(limit=100)} == before


@pytest.mark.parametrize("strategy", [AUTO, (100, 0), (100, 50), (333, 21), (4096, 2048)])
def test_the_content_of_a_file_is_what_openais_tokenizer_cuts(
    place: Place, strategy: tuple[int, int]
) -> None:
    text = f"{prose(900)}\r\n漢字かな交じり文 👩‍👩‍👧‍👦 naïve <|endoftext|>\t\n" * 2
    store = place.sync.vector_stores.create()
    file = sent(place.sync, "cut.txt", text)
    member = place.sync.vector_stores.files.create_and_poll(
        file.id,
        vector_store_id=store.id,
        chunking_strategy=omit if strategy == AUTO else static(*strategy),
    )
    assert (member.status, sizes(member)) == ("completed", strategy)
    page = place.sync.vector_stores.files.content(file.id, vector_store_id=store.id)
    assert page.object == "vector_store.file_content.page"
    assert {it.type for it in page} == {"text"}
    assert [it.text for it in page] == windows(text, *strategy)


def test_one_file_is_cut_differently_in_two_stores(place: Place, files: list[FileObject]) -> None:
    stores = [place.sync.vector_stores.create().id for _ in range(2)]
    for store, size in zip(stores, (100, 300), strict=True):
        place.sync.vector_stores.files.create(
            store, file_id=files[0].id, chunking_strategy=static(size, 10)
        )
    for store, size in zip(stores, (100, 300), strict=True):
        page = place.sync.vector_stores.files.content(files[0].id, vector_store_id=store)
        assert [it.text for it in page] == windows(prose(400, "harbour"), size, 10)


def test_a_file_is_uploaded_into_a_store_in_one_step(place: Place) -> None:
    store = place.sync.vector_stores.create()
    file = place.sync.vector_stores.files.upload(
        vector_store_id=store.id, file=("one.md", prose(50).encode())
    )
    assert file.vector_store_id == store.id
    ready = place.sync.vector_stores.files.poll(file.id, vector_store_id=store.id)
    assert (ready.status, ready.last_error) == ("completed", None)
    assert ready.usage_bytes == len(prose(50))
    other = place.sync.vector_stores.files.upload_and_poll(
        vector_store_id=store.id,
        file=("two.md", prose(60).encode()),
        attributes={"year": 2024, "draft": False, "by": "Ada", "weight": 0.5},
        chunking_strategy={"type": "auto"},
        max_wait_seconds=60,
    )
    assert other.status == "completed"
    assert other.attributes == {"year": 2024, "draft": False, "by": "Ada", "weight": 0.5}
    assert sizes(other) == AUTO
    assert place.sync.vector_stores.retrieve(store.id).file_counts.completed == 2


def test_attributes_are_replaced_and_taken_away(place: Place, files: list[FileObject]) -> None:
    store = place.sync.vector_stores.create(file_ids=[files[0].id])

    def update(attributes: dict[str, str | float | bool] | None) -> object:
        return place.sync.vector_stores.files.update(
            files[0].id, vector_store_id=store.id, attributes=attributes
        ).attributes

    assert update({"a": "x", "b": True}) == {"a": "x", "b": True}
    assert update({"c": 1.5}) == {"c": 1.5}
    found = place.sync.vector_stores.files.retrieve(files[0].id, vector_store_id=store.id)
    assert found.attributes == {"c": 1.5}
    assert update(None) == {}


def test_what_is_detached_or_deleted_leaves_the_store(
    place: Place, files: list[FileObject]
) -> None:
    files = [sent(place.sync, f"leaving {at}.md", prose(50)) for at in range(3)]
    store = place.sync.vector_stores.create(file_ids=[it.id for it in files])
    gone = place.sync.vector_stores.files.delete(files[0].id, vector_store_id=store.id)
    assert (gone.id, gone.object, gone.deleted) == (files[0].id, "vector_store.file.deleted", True)
    assert place.sync.files.retrieve(files[0].id).status == "processed"
    place.sync.files.delete(files[1].id)
    page = place.house["local"]
    assert page.delete(f"/api/documents/{files[2].id.removeprefix('file-')}").status_code == 200
    assert not place.sync.vector_stores.files.list(store.id).data
    assert place.sync.vector_stores.retrieve(store.id).file_counts.total == 0
    for file in files:
        with pytest.raises(NotFoundError):
            place.sync.vector_stores.files.retrieve(file.id, vector_store_id=store.id)


def test_a_document_of_the_page_goes_into_a_store(place: Place) -> None:
    document = add(place.house["local"], "page's own.md", prose(200, "lantern"), folder="Notes")
    store = place.sync.vector_stores.create(file_ids=[f"file-{document}"])
    [hit] = place.sync.vector_stores.search(store.id, query="the lantern", max_num_results=1)
    assert (hit.file_id, hit.filename) == (f"file-{document}", "page's own.md")


def test_a_document_that_is_replaced_on_the_page_has_its_new_text_in_the_store(
    place: Place,
) -> None:
    page = place.house["local"]
    file = f"file-{add(page, 'replaced.md', 'The old text.')}"
    store = place.sync.vector_stores.create(file_ids=[file])
    assert f"file-{add(page, 'replaced.md', 'The new text.')}" == file
    [window] = place.sync.vector_stores.files.content(file, vector_store_id=store.id)
    assert window.text == "The new text."


def test_a_deleted_store_leaves_its_files(place: Place, files: list[FileObject]) -> None:
    store = place.sync.vector_stores.create(file_ids=[files[0].id])
    place.sync.vector_stores.delete(store.id)
    assert place.sync.files.retrieve(files[0].id).status == "processed"


def test_a_file_that_cannot_be_read_failed_and_says_why(place: Place) -> None:
    store = place.sync.vector_stores.create()
    file = place.sync.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("broken.pdf", BROKEN)
    )
    assert file.status == "failed"
    assert file.last_error is not None
    assert file.last_error.code == "invalid_file"
    assert file.last_error.message
    other = place.sync.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("program.exe", b"MZ\x90\x00\x03\x00\x00\x00\xff\xff" * 40)
    )
    assert other.last_error is not None
    assert other.last_error.code == "unsupported_file"
    counts = place.sync.vector_stores.retrieve(store.id).file_counts
    assert (counts.failed, counts.completed, counts.total) == (2, 0, 2)
    failed = place.sync.vector_stores.files.list(store.id, filter="failed")
    assert {it.id for it in failed} == {file.id, other.id}
    assert not place.sync.vector_stores.files.list(store.id, filter="completed").data
    with pytest.raises((NotFoundError, BadRequestError)):
        place.sync.vector_stores.files.content(file.id, vector_store_id=store.id)


def test_a_search_finds_in_its_store_alone(place: Place, files: list[FileObject]) -> None:
    store = place.sync.vector_stores.create(
        file_ids=[it.id for it in files[:2]], chunking_strategy=static(100, 20)
    )
    page = place.sync.vector_stores.search(store.id, query="Where is the orchard?")
    assert page.object == "vector_store.search_results.page"
    hits = list(page)
    assert hits[0].filename == "orchard.md"
    assert {it.file_id for it in hits} <= {it.id for it in files[:2]}
    assert len(hits) <= 10
    scores = [it.score for it in hits]
    assert all(0 <= it <= 1 for it in scores)
    assert scores == sorted(scores, reverse=True)
    [content] = hits[0].content
    assert content.text in windows(prose(400, "orchard"), 100, 20)
    none = place.sync.vector_stores.search(store.id, query="the railway", max_num_results=3)
    assert "railway.md" not in {it.filename for it in none}


def test_a_search_takes_several_questions_and_a_threshold(
    place: Place, files: list[FileObject]
) -> None:
    store = place.sync.vector_stores.create(file_ids=[it.id for it in files])
    both = place.sync.vector_stores.search(
        store.id, query=["the orchard", "the glacier"], rewrite_query=True, max_num_results=20
    )
    assert {"orchard.md", "glacier.md"} <= {it.filename for it in both}
    assert both.model_extra is not None
    assert both.model_extra["search_query"] == ["the orchard", "the glacier"]
    none = place.sync.vector_stores.search(
        store.id,
        query="the orchard",
        ranking_options={"ranker": "auto", "score_threshold": 1.0},
    )
    assert not none.data


def test_a_search_is_narrowed_by_attributes(place: Place, files: list[FileObject]) -> None:
    store = place.sync.vector_stores.create()
    for at, file in enumerate(files):
        place.sync.vector_stores.files.create(
            store.id, file_id=file.id, attributes={"number": at, "even": at % 2 == 0}
        )

    def found(filters: Any) -> set[str]:  # noqa: ANN401 - also what is no filter
        page = place.sync.vector_stores.search(
            store.id, query="sentence", filters=filters, max_num_results=50
        )
        return {it.filename.removesuffix(".md") for it in page}

    assert found({"type": "eq", "key": "even", "value": True}) == {"harbour", "railway", "theatre"}
    assert found({"type": "in", "key": "number", "value": [1, 3]}) == {"orchard", "glacier"}
    late = {"type": "gte", "key": "number", "value": 2}
    odd = {"type": "ne", "key": "even", "value": True}
    assert found({"type": "and", "filters": [late, odd]}) == {"glacier"}
    unknown = {"type": "like", "key": "a", "value": "b"}
    for wrong in cast("list[object]", [unknown, {"type": "and"}, [], "even", {}]):
        with pytest.raises(BadRequestError) as caught:
            found(wrong)
        assert caught.value.param == "filters"


def test_an_expired_store_says_so_and_takes_nothing(place: Place, files: list[FileObject]) -> None:
    store = place.sync.vector_stores.retrieve(unused_for_days(place, 2, files[0].id))
    assert store.status == "expired"
    for ask in (
        lambda: place.sync.vector_stores.search(store.id, query="anything"),
        lambda: place.sync.vector_stores.files.create(store.id, file_id=files[1].id),
    ):
        with pytest.raises(BadRequestError, match="expired"):
            ask()
    assert [it.id for it in place.sync.vector_stores.files.list(store.id)] == [files[0].id]
    revived = place.sync.vector_stores.update(
        store.id, expires_after={"anchor": "last_active_at", "days": 9}
    )
    assert revived.status == "completed"
    assert place.sync.vector_stores.search(store.id, query="the harbour").data


def test_all_methods_are_there_for_async_clients(place: Place, files: list[FileObject]) -> None:
    async def work(client: AsyncOpenAI) -> VectorStore:
        stores = client.vector_stores
        store = await stores.create(name="Async", file_ids=[it.id for it in files])
        assert (await stores.retrieve(store.id)) == store
        assert (await stores.update(store.id, name="Still async")).name == "Still async"
        listed = [it.id async for it in stores.list(limit=2)]
        assert listed[0] == store.id
        assert len(listed) > 2
        found = [it async for it in stores.search(store.id, query="the orchard")]
        assert found[0].filename == "orchard.md"
        made = await stores.files.upload(vector_store_id=store.id, file=("a.md", b"Async one."))
        made = await stores.files.poll(made.id, vector_store_id=store.id)
        other = await stores.files.upload_and_poll(
            vector_store_id=store.id, file=("b.md", b"Async two.")
        )
        again = await stores.files.create_and_poll(made.id, vector_store_id=store.id)
        assert {made.status, other.status, again.status} == {"completed"}
        await stores.files.create(store.id, file_id=other.id)
        updated = await stores.files.update(
            made.id, vector_store_id=store.id, attributes={"async": True}
        )
        assert await stores.files.retrieve(made.id, vector_store_id=store.id) == updated
        content = [it async for it in stores.files.content(made.id, vector_store_id=store.id)]
        assert [it.text for it in content] == ["Async one."]
        members = [it.id async for it in stores.files.list(store.id, limit=2)]
        assert set(members) == {made.id, other.id, *(it.id for it in files)}
        assert (await stores.files.delete(made.id, vector_store_id=store.id)).deleted
        before = await stores.retrieve(store.id)
        assert (await stores.delete(store.id)).deleted
        return before

    assert place.alone(work).file_counts.total == 6
