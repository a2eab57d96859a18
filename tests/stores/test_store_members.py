"""Documents in stores: how each is cut there, what it says, and what becomes of it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from homes import Home
from shops import ME, ROME, TIDES, bring, fill
from unchunk.domain import ChunkingStrategy, Version
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Attribute, Catalog, MemberCounts, Page
from unchunk.stores import Addition, VectorStores
from unchunk.text.tokens import get_encoding

LONG = TIDES * 300 + "🏴‍☠️漢字" * 300 + ROME * 300


class Lost:
    """A catalog that has no text of anything."""

    async def text(self, _: Version) -> str:
        raise NotFoundError("its text is gone")


class Meddled:
    """The engine's catalog, in which something happens just before a text is read."""

    def __init__(self, engine: Engine, meddle: Callable[[], Awaitable[object]]) -> None:
        self._catalog, self._meddle = engine.stores._catalog, [meddle]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a catalog has
        return getattr(self._catalog, name)

    async def text(self, version: Version, start: int = 0, end: int | None = None) -> str:
        if self._meddle:
            await self._meddle.pop()()
        return await self._catalog.text(version, start, end)


def test_content_is_what_the_encoding_cuts_out_of_the_text(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document, store = await bring(engine, home, "long.txt", LONG), await fill(engine)
        for size, overlap in ((800, 400), (100, 50), (4096, 0), (333, 166)):
            strategy = ChunkingStrategy("tokens", size, overlap)
            given = Addition(document, strategy)
            member = await engine.stores.attach(store, given, owner=ME)
            assert member.file.strategy == strategy
            found = await engine.stores.content(store, document, owner=ME)
            assert found == list(get_encoding("cl100k_base").windows(LONG, size, overlap))

    home.run(work)


def test_a_document_is_cut_800_to_400_unless_somebody_says_else(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "long.txt", LONG)
        first, second = await fill(engine, document), await fill(engine)
        own = ChunkingStrategy("tokens", 200, 0)
        await engine.stores.attach(second, Addition(document, own), owner=ME)
        encoding = get_encoding("cl100k_base")
        contents = [await engine.stores.content(it, document, owner=ME) for it in (first, second)]
        assert contents == [
            list(encoding.windows(LONG, 800, 400)),
            list(encoding.windows(LONG, 200, 0)),
        ]

    home.run(work)


def test_what_cannot_be_attached_says_why_and_nothing_is(home: Home) -> None:
    wrong: list[tuple[ChunkingStrategy | None, dict[str, Attribute], str]] = [
        (ChunkingStrategy("tokens", 99, 0), {}, "max_chunk_size_tokens"),
        (ChunkingStrategy("tokens", 800, 401), {}, "chunk_overlap_tokens"),
        (ChunkingStrategy("words", 800, 400), {}, "by tokens"),
        (ChunkingStrategy("tokens", 800, 400, "o200k_base"), {}, "cl100k_base"),
        (None, {"a": "v" * 513}, r"attributes\.a"),
    ]

    async def work(engine: Engine) -> None:
        document, store = await bring(engine, home, "a.txt", TIDES), await fill(engine)
        other = await bring(engine, home, "b.txt", TIDES)
        for strategy, attributes, message in wrong:
            given = [Addition(other), Addition(document, strategy, attributes)]
            with pytest.raises(InvalidInputError, match=message):
                await engine.stores.attach_batch(store, given, owner=ME)
            with pytest.raises(InvalidInputError, match=message):
                await engine.stores.attach(store, given[1], owner=ME)
        for none in ([], [Addition(other)] * 2001):
            with pytest.raises(InvalidInputError, match="1 to 2000"):
                await engine.stores.attach_batch(store, none, owner=ME)
        with pytest.raises(NotFoundError, match="no file 'never'"):
            await engine.stores.attach_batch(store, [Addition(other), Addition("never")], owner=ME)
        assert await engine.stores.members(store, Page(), owner=ME) == ([], False)

    home.run(work)


def test_attaching_again_says_something_else_of_the_same_file(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, document = engine.stores, await bring(engine, home, "a.txt", TIDES)
        store = await fill(engine, document)
        before = await stores.member(store, document, owner=ME)
        strategy = ChunkingStrategy("tokens", 100, 0)
        given = [Addition(document), Addition(document, strategy, {"team": "blue"})]
        await stores.attach_batch(store, given, owner=ME)
        after = await stores.member(store, document, owner=ME)
        assert after.file.created_at == before.file.created_at
        assert (after.file.strategy, after.file.attributes) == (strategy, {"team": "blue"})
        assert await stores.counts([store], owner=ME) == {
            store: MemberCounts(completed=1, size=len(TIDES))
        }

    home.run(work)


def test_what_is_said_of_a_file_belongs_to_its_store(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, document = engine.stores, await bring(engine, home, "a.txt", TIDES)
        first, second = await fill(engine, document), await fill(engine, document)
        said = await stores.describe(first, document, {"n": 1, "t": True}, owner=ME)
        assert repr(said.file.attributes) == repr({"n": 1, "t": True})
        assert (await stores.member(second, document, owner=ME)).file.attributes == {}
        with pytest.raises(InvalidInputError, match="attributes has 17 keys"):
            await stores.describe(first, document, {str(at): at for at in range(17)}, owner=ME)
        with pytest.raises(NotFoundError):
            await stores.describe(first, "never", {}, owner=ME)

    home.run(work)


def test_a_detached_file_stays_in_the_library(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "a.txt", TIDES)
        store = await fill(engine, document)
        await engine.stores.detach(store, document, owner=ME)
        for ask in (engine.stores.member, engine.stores.content, engine.stores.detach):
            with pytest.raises(NotFoundError):
                await ask(store, document, owner=ME)
        assert await engine.stores.search(store, ["tide"], owner=ME) == []
        assert await engine.text(document) == TIDES

    home.run(work)


def test_a_document_that_is_deleted_leaves_all_stores(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document, kept = [await bring(engine, home, it, TIDES) for it in ("a.txt", "b.txt")]
        stores = [await fill(engine, document, kept), await fill(engine, document)]
        assert (await engine.delete(document)).clean
        counts = await engine.stores.counts(stores, owner=ME)
        assert [counts[it].total for it in stores] == [1, 0]
        with pytest.raises(NotFoundError):
            await engine.stores.content(stores[1], document, owner=ME)
        hits = await engine.stores.search(stores[0], ["tide"], owner=ME)
        assert [hit.document for hit in hits] == [kept]
        assert await engine.stores.search(stores[1], ["tide"], owner=ME) == []

    home.run(work)


def test_a_document_that_is_replaced_says_the_new_text_in_all_stores(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "a.txt", TIDES * 300)
        store = await fill(engine, document)
        assert await engine.stores.search(store, ["the moon draws the tide"], owner=ME)
        await engine.add(home.file("a.txt", ROME))
        assert await engine.stores.content(store, document, owner=ME) == [ROME]
        [hit] = await engine.stores.search(store, ["the moon draws the tide"], owner=ME)
        assert (hit.text, hit.window_index) == (ROME, 0)

    home.run(work)


def test_what_changes_while_it_is_read_is_read_again(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "a.txt", TIDES)
        store = await fill(engine, document)

        async def replace() -> None:
            await engine.add(home.file("a.txt", ROME))

        async def delete() -> None:
            await engine.delete(document)

        def stores(meddle: Callable[[], Awaitable[object]]) -> VectorStores:
            catalog = cast("Catalog", Meddled(engine, meddle))
            return VectorStores(engine, catalog, engine.stores._parts)

        assert await stores(replace).content(store, document, owner=ME) == [ROME]
        await engine.add(home.file("a.txt", TIDES))
        [hit] = await stores(replace).search(store, ["tide and moon"], owner=ME)
        assert hit.text == ROME
        with pytest.raises(NotFoundError):
            await stores(delete).content(store, document, owner=ME)

    home.run(work)


def test_a_text_that_is_lost_is_told_as_that(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "a.txt", TIDES)
        store = await fill(engine, document)
        stores = VectorStores(engine, cast("Catalog", Lost()), engine.stores._parts)
        with pytest.raises(NotFoundError, match="its text is gone"):
            await stores.content(store, document, owner=ME)

    home.run(work)


def test_what_is_on_its_way_or_failed_says_so(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores = engine.stores
        files = [
            await stores.add_file(home.file(name, content), name, owner=ME)
            for name, content in (("bad.pdf", b"%PDF-1.4 nonsense"), ("good.txt", TIDES.encode()))
        ]
        bad, good = (file.document.id for file in files)
        store = await fill(engine, bad, good)
        for document in (bad, good):
            assert (await stores.member(store, document, owner=ME)).status == "in_progress"
            with pytest.raises(InvalidInputError, match="on its way in"):
                await stores.content(store, document, owner=ME)
        assert await stores.documents([store], owner=ME) == ()
        await engine.retry()
        assert (await stores.member(store, good, owner=ME)).status == "completed"
        assert (await stores.member(store, bad, owner=ME)).status == "failed"
        with pytest.raises(InvalidInputError, match=r"^bad\.pdf has no text: "):
            await stores.content(store, bad, owner=ME)
        assert await stores.documents([store], owner=ME) == (good,)
        counts = await stores.counts([store], owner=ME)
        assert counts == {store: MemberCounts(completed=1, failed=1, size=len(TIDES))}
        found, _ = await stores.members(store, Page(), status="failed", owner=ME)
        assert [member.file.document for member in found] == [bad]

    home.run(work)


def test_a_batch_is_told_by_its_files_and_given_up_while_they_are_on_their_way(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, store = engine.stores, await fill(engine)
        done = await bring(engine, home, "done.txt", TIDES)
        coming = await stores.add_file(home.file("late.txt", ROME), "late.txt", owner=ME)
        late = coming.document.id
        given = [Addition(late), Addition(done, attributes={"n": 1})]
        batch, counts = await stores.attach_batch(store, given, owner=ME)
        assert batch.id.startswith("vsfb_")
        assert await stores.batch(store, batch.id, owner=ME) == (batch, counts)
        assert (counts.completed, counts.in_progress) == (1, 1)
        cancelled, counts = await stores.cancel(store, batch.id, owner=ME)
        assert cancelled.is_cancelled
        assert (counts.completed, counts.cancelled) == (1, 1)
        found, _ = await stores.members(store, Page(), status="cancelled", batch=batch.id, owner=ME)
        assert [member.file.document for member in found] == [late]
        with pytest.raises(NotFoundError):
            await stores.batch(store, "vsfb_never", owner=ME)

    home.run(work)


def test_what_was_given_up_is_not_in_the_store_until_it_is_attached_again(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, store = engine.stores, await fill(engine)
        coming = await stores.add_file(home.file("late.txt", TIDES), "late.txt", owner=ME)
        late = coming.document.id
        batch, _ = await stores.attach_batch(store, [Addition(late)], owner=ME)
        await stores.cancel(store, batch.id, owner=ME)
        await engine.retry(late)
        assert (await stores.file(late, owner=ME)).document.live
        assert (await stores.member(store, late, owner=ME)).status == "cancelled"
        assert await stores.counts([store], owner=ME) == {store: MemberCounts(cancelled=1)}
        assert await stores.documents([store], owner=ME) == ()
        assert await stores.search(store, ["tide"], owner=ME) == []
        with pytest.raises(InvalidInputError, match=r"late\.txt .*cancelled; attach it again"):
            await stores.content(store, late, owner=ME)
        # Saying something of it does not bring it back.
        await stores.describe(store, late, {"n": 1}, owner=ME)
        assert (await stores.member(store, late, owner=ME)).status == "cancelled"
        assert (await stores.attach(store, Addition(late), owner=ME)).status == "completed"
        assert await stores.content(store, late, owner=ME) == [TIDES]
        assert [hit.document for hit in await stores.search(store, ["tide"], owner=ME)] == [late]

    home.run(work)


def test_a_batch_tells_of_its_files_though_they_are_attached_again(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, store = engine.stores, await fill(engine)
        documents = [await bring(engine, home, f"{at}.txt", TIDES) for at in range(4)]
        every = [Addition(it) for it in documents]
        first, _ = await stores.attach_batch(store, every, owner=ME)
        await stores.attach(store, every[0], owner=ME)
        await stores.attach_batch(store, every[1:], owner=ME)
        assert (await stores.batch(store, first.id, owner=ME))[1].completed == 4
        await stores.detach(store, documents[0], owner=ME)
        assert (await stores.batch(store, first.id, owner=ME))[1].completed == 3

    home.run(work)


def test_many_files_come_into_a_store_with_few_questions_to_the_catalog(home: Home) -> None:
    async def work(engine: Engine) -> None:
        parts = engine.stores._parts
        documents = [await bring(engine, home, f"{at}.txt", TIDES) for at in range(12)]
        asked: list[str] = []

        class Listening:
            def __init__(self, inner: object) -> None:
                self._inner = inner

            def __getattr__(self, name: str) -> object:
                asked.append(name)
                return getattr(self._inner, name)

        heard = {name: Listening(getattr(parts, name)) for name in ("members", "batches", "notes")}
        stores = VectorStores(
            engine, engine.stores._catalog, replace(parts, **cast("dict[str, Any]", heard))
        )
        store = (await stores.create(owner=ME)).id
        await stores.attach_batch(store, [Addition(it) for it in documents], owner=ME)
        assert asked == ["get", "put", "get"]

    home.run(work)


def test_a_batch_that_is_done_is_not_given_up(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document, store = await bring(engine, home, "a.txt", TIDES), await fill(engine)
        batch, _ = await engine.stores.attach_batch(store, [Addition(document)], owner=ME)
        found, counts = await engine.stores.cancel(store, batch.id, owner=ME)
        assert (found.is_cancelled, counts.completed) == (False, 1)

    home.run(work)


def test_an_empty_store_has_nothing_and_finds_nothing(home: Home) -> None:
    async def work(engine: Engine) -> None:
        store = await fill(engine)
        assert await engine.stores.members(store, Page(), owner=ME) == ([], False)
        assert await engine.stores.counts([store], owner=ME) == {store: MemberCounts()}
        assert await engine.stores.documents([store], owner=ME) == ()
        assert await engine.stores.search(store, ["tide"], owner=ME) == []

    home.run(work)
