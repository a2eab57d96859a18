"""A search in a store shows windows of its files, byte for byte as their content has them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import cast

import pytest

from homes import Home
from shops import ME, ROME, TIDES, bring, fill
from unchunk.domain import Chunk, ChunkingStrategy
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError
from unchunk.ports import Attribute
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.snippets import Found, Hit
from unchunk.stores import Addition, VectorStores
from unchunk.stores.filters import parse
from unchunk.stores.finding import _scores
from unchunk.stores.parts import Library

TOPICS = [f"Chapter {at} tells of the harbour number {at * 7919}. " for at in range(300)]
BOOK = "".join(f"{topic}{'It was a quiet place, and 漢字🏴‍☠️. ' * 6}\n" for topic in TOPICS)


def hit(score: float) -> Hit:
    return Hit("d", "n", "", Chunk(0, 0, 1), "x", score)


class Told:
    """An engine whose search tells what a test wants it to."""

    def __init__(self, engine: Engine, scale: float) -> None:
        self._engine, self._scale = engine, scale
        self.limits: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    async def search_library(self, question: str, *, limit: int, where: Where, owner: str) -> Found:
        self.limits.append(limit)
        found = await self._engine.search(question, limit=limit, where=where, owner=owner)
        scaled = (replace(it, score=it.score * self._scale) for it in found.hits)
        return Found(tuple(scaled), ("searched by words only",))


class Overtaken(Told):
    """An engine in which something happens between a search and the use of what it found."""

    def __init__(self, engine: Engine, *meddle: Callable[[], Awaitable[object]]) -> None:
        super().__init__(engine, 1.0)
        self._meddle = list(meddle)

    async def search_library(self, question: str, *, limit: int, where: Where, owner: str) -> Found:
        found = await super().search_library(question, limit=limit, where=where, owner=owner)
        if self._meddle:
            await self._meddle.pop()()
        return found


def test_each_hit_is_a_window_of_the_files_own_strategy(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "book.txt", BOOK)
        for size, overlap in ((800, 400), (100, 50), (4096, 2048), (150, 0)):
            store = await fill(engine)
            given = Addition(document, ChunkingStrategy("tokens", size, overlap), {"n": 1})
            await engine.stores.attach(store, given, owner=ME)
            content = await engine.stores.content(store, document, owner=ME)
            for topic in (TOPICS[3], TOPICS[150], TOPICS[299]):
                hits = await engine.stores.search(store, [topic], limit=50, owner=ME)
                assert topic in hits[0].text
                assert (hits[0].filename, hits[0].attributes) == ("book.txt", {"n": 1})
                assert all(hit.text == content[hit.window_index] for hit in hits)
                assert len({hit.window_index for hit in hits}) == len(hits)
                assert len(hits) == min(50, len(content))
                scores = [hit.score for hit in hits]
                assert scores == sorted(scores, reverse=True)
                assert all(0 <= score <= 1 for score in scores)

    home.run(work)


def test_the_limit_counts_windows_and_is_from_1_to_50(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "book.txt", BOOK)
        store = await fill(engine, document)
        every = await engine.stores.search(store, ["harbour"], limit=50, owner=ME)
        for limit in (1, 2, 7):
            hits = await engine.stores.search(store, ["harbour"], limit=limit, owner=ME)
            assert len(hits) == limit
        assert len(every) == 50
        for limit in (0, 51):
            with pytest.raises(InvalidInputError, match="max_num_results must be from 1 to 50"):
                await engine.stores.search(store, ["harbour"], limit=limit, owner=ME)
        wrong: list[list[str]] = [[], [""], ["tide", " "], ["tide"] * 11]
        for queries in wrong:
            with pytest.raises(InvalidInputError, match="query"):
                await engine.stores.search(store, queries, owner=ME)
        for threshold in (-0.1, 1.1, float("nan")):
            with pytest.raises(InvalidInputError, match="score_threshold"):
                await engine.stores.search(store, ["tide"], threshold=threshold, owner=ME)

    home.run(work)


def test_chunks_that_share_a_window_do_not_take_the_places_of_others(home: Home) -> None:
    async def work(engine: Engine) -> None:
        # Twenty chunks of the library stand in each window.
        document = await bring(engine, home, "book.txt", BOOK)
        store, told = await fill(engine), Told(engine, 1.0)
        library = cast("Library", told)
        given = Addition(document, ChunkingStrategy("tokens", 4096, 0))
        await engine.stores.attach(store, given, owner=ME)
        count = len(await engine.stores.content(store, document, owner=ME))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        hits = await stores.search(store, [TOPICS[0]], limit=count, owner=ME)
        assert sorted(hit.window_index for hit in hits) == list(range(count))
        assert told.limits == [count * 3, count * 12]

    home.run(work)


def test_several_queries_find_what_each_of_them_finds(home: Home) -> None:
    async def work(engine: Engine) -> None:
        tides = await bring(engine, home, "tides.txt", TIDES * 5)
        rome = await bring(engine, home, "rome.txt", ROME * 5)
        store = await fill(engine, tides, rome)
        alone = {
            query: {
                it.document: it.score for it in await engine.stores.search(store, [query], owner=ME)
            }
            for query in (TIDES, ROME)
        }
        hits = await engine.stores.search(store, [TIDES, ROME], owner=ME)
        assert {hit.document: hit.score for hit in hits} == {
            document: max(found[document] for found in alone.values()) for document in (tides, rome)
        }
        assert len(hits) == 2

    home.run(work)


def test_what_scores_below_the_threshold_is_left_out(home: Home) -> None:
    async def work(engine: Engine) -> None:
        tides = await bring(engine, home, "tides.txt", TIDES * 5)
        rome = await bring(engine, home, "rome.txt", ROME * 5)
        store = await fill(engine, tides, rome)
        best, worst = await engine.stores.search(store, [TIDES], owner=ME)
        assert (best.document, worst.document) == (tides, rome)
        between = (best.score + worst.score) / 2
        found = await engine.stores.search(store, [TIDES], threshold=between, owner=ME)
        assert found == [best]
        assert await engine.stores.search(store, [TIDES], threshold=1.0, owner=ME) == []

    home.run(work)


def test_only_files_as_the_filter_says_are_found(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, store = engine.stores, await fill(engine)
        elsewhere = await bring(engine, home, "elsewhere.txt", TIDES)
        years = {}
        for year in (1990, 2000, 2010):
            document = await bring(engine, home, f"{year}.txt", f"{TIDES} {year}")
            await stores.attach(store, Addition(document, None, {"year": year}), owner=ME)
            years[year] = document
        wanted = parse({"type": "gte", "key": "year", "value": 2000})
        found = {hit.document for hit in await stores.search(store, ["tide"], owner=ME)}
        assert found == set(years.values())
        hits = await stores.search(store, ["tide"], filters=wanted, owner=ME)
        assert {hit.document for hit in hits} == {years[2000], years[2010]}
        assert set(await stores.documents([store], wanted, owner=ME)) == {years[2000], years[2010]}
        other = await fill(engine, elsewhere, years[1990])
        both = await stores.documents([store, other], owner=ME)
        assert both == tuple(sorted([elsewhere, *years.values()]))
        nothing = parse({"type": "eq", "key": "year", "value": "2000"})
        assert await stores.search(store, ["tide"], filters=nothing, owner=ME) == []
        assert await stores.documents([], owner=ME) == ()

    home.run(work)


def test_a_file_is_told_as_the_store_has_it_where_it_is_as_the_filter_says(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, document = engine.stores, await bring(engine, home, "a.txt", TIDES)
        first, second, third = [await fill(engine) for _ in range(3)]
        for store, year in ((first, 1990), (second, 2000), (third, 2010)):
            await stores.attach(store, Addition(document, None, {"year": year}), owner=ME)

        async def told(*asked: str, least: int = 0) -> dict[str, Mapping[str, Attribute]]:
            wanted = parse({"type": "gte", "key": "year", "value": least})
            assert await stores.documents(asked, wanted, owner=ME) == (
                (document,) if least <= 2010 else ()
            )
            return await stores.attributes(asked, [document, "none"], wanted, owner=ME)

        assert await told(first, second, third) == {document: {"year": 1990}}
        assert await told(first, second, third, least=1995) == {document: {"year": 2000}}
        assert await told(first, third, second, third, least=1995) == {document: {"year": 2010}}
        assert await told(first, second, third, least=2011) == {}
        assert await stores.attributes([second, first], [document], owner=ME) == {
            document: {"year": 2000}
        }

    home.run(work)


def test_a_file_that_leaves_the_store_while_it_is_searched_is_not_shown(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stays, goes, changes = [
            await bring(engine, home, it, TIDES) for it in ("a.txt", "b.txt", "c.txt")
        ]
        store = await fill(engine)
        for one in (stays, goes, changes):
            await engine.stores.attach(store, Addition(one, None, {"n": 1}), owner=ME)

        async def meddle() -> None:
            await engine.stores.detach(store, goes, owner=ME)
            await engine.stores.describe(store, changes, {"n": 2}, owner=ME)

        library = cast("Library", Overtaken(engine, meddle))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        wanted = parse({"type": "eq", "key": "n", "value": 1})
        hits = await stores.search(store, ["tide"], filters=wanted, owner=ME)
        assert [hit.document for hit in hits] == [stays]

    home.run(work)


def test_documents_with_the_same_bytes_are_all_found(home: Home) -> None:
    async def work(engine: Engine) -> None:
        documents = [await bring(engine, home, "same.txt", TIDES) for _ in range(3)]
        store = await fill(engine, *documents)
        hits = await engine.stores.search(store, ["tide"], owner=ME)
        assert sorted(hit.document for hit in hits) == sorted(documents)

    home.run(work)


def test_what_changes_between_being_found_and_being_shown_is_shown_as_it_then_is(
    home: Home,
) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "a.txt", TIDES * 200)
        gone = await bring(engine, home, "gone.txt", TIDES)
        store = await fill(engine, document, gone)

        def writing(text: str) -> Callable[[], Awaitable[object]]:
            return lambda: engine.add(home.file("a.txt", text))

        async def delete() -> None:
            await engine.delete(gone)

        # Last to first: one goes, one gets as long a text, and then one that is far shorter.
        library = Overtaken(engine, writing(ROME), writing("y" + TIDES[1:] * 200), delete)
        stores = VectorStores(
            cast("Library", library), engine.stores._catalog, engine.stores._parts
        )
        for _ in range(3):
            hits = await stores.search(store, [TIDES], owner=ME)
            content = await engine.stores.content(store, document, owner=ME)
            assert {hit.document for hit in hits} == {document}
            assert [hit.text for hit in hits] == [content[hit.window_index] for hit in hits]
        assert content == [ROME]

    home.run(work)


def test_scores_that_are_no_cosines_are_brought_between_0_and_1(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "book.txt", BOOK)
        store = await fill(engine, document)
        library = cast("Library", Told(engine, 40.0))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        scores = [hit.score for hit in await stores.search(store, [TOPICS[9]], owner=ME)]
        assert scores[0] == 1
        assert scores == sorted(scores, reverse=True)
        assert min(scores) >= 0

    home.run(work)


def test_a_hit_scores_no_less_than_those_behind_it() -> None:
    assert _scores([hit(it) for it in (0.3, 0.5, -0.2, 0.1, -0.4)]) == [0.5, 0.5, 0.1, 0.1, 0.0]
    assert _scores([]) == []
