"""What every index must do."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

import numpy as np
import pytest

from unchunk.domain import ChunkKey, Scored, Space, Terms, Within
from unchunk.errors import InvalidInputError, MigrationNeededError
from unchunk.ports import Index, Indexes, Point, Vectors

S = TypeVar("S", bound="IndexContract")

SPACE = Space("contract-1.x_y", 8)
ME = Within("me")
SEVEN = Terms((7,), (1.0,))

CORPUS = (
    "the whale is a large animal of the sea",
    "a whale whale whale",
    "ships hunt the whale and the seal",
    "a seal sleeps on the ice",
    "the harpoon and the harpooner of the ship",
    "ice on the sea and ice on the ship",
    "nothing of note happened on that day at all whatever anybody else may tell you",
)
QUERIES = ("whale", "seal ice", "whale sea", "ship", "harpoon whale ice", "day", "walrus")


def vector(*values: float) -> Vectors:
    """Of length one, the rest of its dimensions being 0."""
    row = np.zeros(SPACE.dimensions, np.float32)
    row[: len(values)] = values
    return row / np.float32(np.linalg.norm(row) or 1)


def point(
    document: str,
    chunk_index: int = 0,
    *,
    owner: str = "me",
    generation: int = 1,
    folder: str = "",
    at: Vectors | None = None,
    terms: Terms = SEVEN,
) -> Point:
    key = ChunkKey(owner, document, generation, chunk_index)
    return Point(key, folder, vector(1, chunk_index) if at is None else at, terms)


def words(text: str) -> list[int]:
    """A number for each word, however simple."""
    return [int.from_bytes(word.encode()[:4].rjust(4), "big") for word in text.split()]


def weighed(text: str) -> Terms:
    counts = sorted(Counter(words(text)).items())
    saturated = tuple(
        2.2 * n / (n + 1.2 * (0.25 + 0.75 * len(text.split()) / 8)) for _, n in counts
    )
    return Terms(tuple(word for word, _ in counts), saturated)


def asked(text: str) -> Terms:
    ids = tuple(sorted(set(words(text))))
    return Terms(ids, (1.0,) * len(ids))


def bm25(query: str, texts: Sequence[str]) -> list[int]:
    """The texts that share a word with the query, best first, by the book."""
    rows = [dict(zip(*weighed(text), strict=True)) for text in texts]
    scores = dict.fromkeys(range(len(texts)), 0.0)
    for word in asked(query).ids:
        holders = [at for at, row in enumerate(rows) if word in row]
        rarity = math.log(1 + (len(rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        for at in holders:
            scores[at] += rarity * rows[at][word]
    return sorted((at for at in scores if scores[at]), key=lambda at: -scores[at])


def chunks(found: Sequence[Scored]) -> list[int]:
    return [hit.key.chunk_index for hit in found]


def on_an_index(scene: Callable[[S, Index], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, on an empty index."""

    async def play(suite: S) -> None:
        index = await suite.indexes().open(SPACE)
        try:
            await scene(suite, index)
        finally:
            await index.close()

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class IndexContract:
    """Subclass it as `Test...`, and say where indexes are kept."""

    def indexes(self) -> Indexes:
        """A place that is empty at first, and the same one each time within one test."""
        raise NotImplementedError

    # Writing and finding.

    @on_an_index
    async def test_a_point_is_found_at_once_by_its_vector_and_by_its_terms(
        self, index: Index
    ) -> None:
        await index.upsert([point("d", at=vector(1), terms=Terms((3, 9), (1.0, 2.0)))])
        (by_vector,) = await index.search(vector(1), ME, 10)
        (by_term,) = await index.search(Terms((9,), (1.0,)), ME, 10)
        assert by_vector.key == by_term.key == ChunkKey("me", "d", 1, 0)
        assert by_vector.score == pytest.approx(1.0, abs=1e-5)
        assert by_term.score > 0

    @on_an_index
    async def test_a_point_takes_the_place_of_the_one_with_its_key(self, index: Index) -> None:
        old = point("d", at=vector(1), terms=Terms((1,), (1.0,)))
        new = point("d", at=vector(0, 1), terms=Terms((2,), (1.0,)))
        await index.upsert([old])
        await index.upsert([old, new])
        assert await index.census() == {("d", 1): 1}
        assert (await index.fetch([new.key]))[new.key].tolist() == vector(0, 1).tolist()
        assert await index.search(Terms((1,), (1.0,)), ME, 10) == []
        assert len(await index.search(Terms((2,), (1.0,)), ME, 10)) == 1

    @on_an_index
    async def test_vectors_rank_by_their_angle(self, index: Index) -> None:
        angles = [0.1, 1.4, 0.7, 3.0, 0.4, 2.0]
        await index.upsert(
            [
                point("d", at_index, at=vector(math.cos(angle), math.sin(angle)))
                for at_index, angle in enumerate(angles)
            ]
        )
        found = await index.search(vector(1), ME, 10)
        assert chunks(found) == sorted(range(len(angles)), key=lambda at: angles[at])
        cosines = [math.cos(angle) for angle in sorted(angles)]
        assert [hit.score for hit in found] == pytest.approx(cosines, abs=1e-5)

    @on_an_index
    async def test_terms_rank_by_bm25(self, index: Index) -> None:
        await index.upsert([point("d", at, terms=weighed(text)) for at, text in enumerate(CORPUS)])
        for query in QUERIES:
            found = await index.search(asked(query), ME, 10)
            assert chunks(found) == bm25(query, CORPUS), query

    @on_an_index
    async def test_terms_find_only_chunks_that_share_one(self, index: Index) -> None:
        await index.upsert([point("d", 0), point("d", 1, terms=Terms((), ()))])
        for within in (ME, Within("me", documents=("d",))):
            assert await index.search(Terms((8, 2**32 - 1), (1.0, 1.0)), within, 10) == []
            assert await index.search(Terms((), ()), within, 10) == []
            assert chunks(await index.search(SEVEN, within, 10)) == [0]

    @on_an_index
    async def test_the_largest_term_number_is_kept(self, index: Index) -> None:
        largest = 2**32 - 1
        await index.upsert([point("d", terms=Terms((0, largest), (1.0, 1.0)))])
        assert len(await index.search(Terms((largest,), (1.0,)), ME, 10)) == 1
        assert len(await index.search(Terms((0,), (1.0,)), ME, 10)) == 1

    @on_an_index
    async def test_a_limit_is_kept_and_may_be_larger_than_what_there_is(self, index: Index) -> None:
        await index.upsert([point("d", at) for at in range(5)])
        for query in (vector(1), SEVEN):
            assert len(await index.search(query, ME, 3)) == 3
            assert len(await index.search(query, ME, 5000)) == 5
            assert await index.search(query, ME, 0) == []

    @on_an_index
    async def test_nothing_is_written_and_nothing_asked_of_nothing(self, index: Index) -> None:
        await index.upsert([])
        await index.flush()
        await index.delete("no such document")
        assert await index.search(vector(1), ME, 10) == []
        assert await index.search(SEVEN, ME, 10) == []
        assert await index.fetch([]) == {}
        assert await index.census() == {}
        assert await index.census("no such document") == {}

    # Where to search.

    @on_an_index
    async def test_one_owner_never_finds_what_is_anothers(self, index: Index) -> None:
        mine = [point("d", at, folder="f") for at in range(3)]
        theirs = [point("d", at, owner="them", folder="f") for at in range(50)]
        await index.upsert([*mine, *theirs])
        for query in (vector(1), SEVEN):
            for within in (ME, Within("me", ("d",)), Within("me", None, ("f",))):
                found = await index.search(query, within, 100)
                assert {hit.key for hit in found} == {each.key for each in mine}
            for nobody in ("", "m", "ME", "me ", "the"):
                assert await index.search(query, Within(nobody), 100) == []

    @on_an_index
    async def test_a_search_stays_in_the_named_documents_and_folders(self, index: Index) -> None:
        places = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "")]
        await index.upsert([point(name, folder=folder) for name, folder in places])
        for query in (vector(1), SEVEN):
            for documents, folders, wanted in (
                (None, None, "abcd"),
                (("a", "c", "z"), None, "ac"),
                (None, ("x",), "ab"),
                (None, ("x", ""), "abd"),
                (("b", "c"), ("x",), "b"),
                (("c",), ("x",), ""),
                ((), None, ""),
                (None, (), ""),
            ):
                found = await index.search(query, Within("me", documents, folders), 10)
                assert sorted(hit.key.document for hit in found) == list(wanted)

    @on_an_index
    async def test_a_search_in_very_many_documents_works(self, index: Index) -> None:
        await index.upsert([point(f"document-{n}") for n in range(20)])
        many = tuple(f"document-{n}" for n in range(5, 2000))
        assert len(await index.search(vector(1), Within("me", many), 100)) == 15
        assert len(await index.search(SEVEN, Within("me", many), 100)) == 15

    @on_an_index
    async def test_strange_names_are_kept_apart(self, index: Index) -> None:
        strange = [
            "'",
            '"; DROP',
            "a\0b",
            "a",
            "ü",
            "u\u0308",
            "日本 😀",
            "x" * 300,
            "x" * 299,
            " ",
            "*",
        ]
        await index.upsert(
            [point(name, at, owner=name, folder=name) for at, name in enumerate(strange)]
        )
        for at, name in enumerate(strange):
            key = ChunkKey(name, name, 1, at)
            for within in (Within(name), Within(name, (name,), (name,))):
                assert [hit.key for hit in await index.search(vector(1), within, 99)] == [key]
                assert [hit.key for hit in await index.search(SEVEN, within, 99)] == [key]
            assert await index.census(name) == {(name, 1): 1}
        await index.delete("a\0b")
        assert await index.census() == {(name, 1): 1 for name in strange if name != "a\0b"}

    # Reading, counting, taking out.

    @on_an_index
    async def test_vectors_are_fetched_by_key(self, index: Index) -> None:
        points = [point("d", at, at=vector(1, at, -at)) for at in range(40)]
        await index.upsert(points)
        absent = [
            ChunkKey("me", "d", 1, 99),
            ChunkKey("me", "d", 2, 0),
            ChunkKey("you", "d", 1, 0),
        ]
        keys = [points[3].key, *absent, points[7].key, points[3].key]
        found = await index.fetch(keys)
        assert found.keys() == {points[3].key, points[7].key}
        for each in (points[3], points[7]):
            assert found[each.key].dtype == np.float32
            assert found[each.key].flags.writeable
            assert found[each.key] == pytest.approx(each.vector, abs=1e-6)
        assert len(await index.fetch([each.key for each in points])) == 40

    @on_an_index
    async def test_a_document_is_taken_out_whole(self, index: Index) -> None:
        await index.upsert(
            [point(name, at, generation=g) for name in "ab" for at in range(4) for g in (1, 2)]
        )
        await index.delete("a")
        assert await index.census() == {("b", 1): 4, ("b", 2): 4}
        assert await index.fetch([ChunkKey("me", "a", 1, 0)]) == {}
        for query in (vector(1), SEVEN):
            assert {hit.key.document for hit in await index.search(query, ME, 99)} == {"b"}
        await index.delete("a")

    @on_an_index
    async def test_single_generations_are_taken_out(self, index: Index) -> None:
        await index.upsert(
            [point(name, at, generation=g) for name in "ab" for at in range(2) for g in (1, 2, 3)]
        )
        await index.delete("a", [])
        await index.delete("a", [1, 3, 9])
        assert await index.census("a") == {("a", 2): 2}
        assert await index.census("b") == {("b", 1): 2, ("b", 2): 2, ("b", 3): 2}
        for query in (vector(1), SEVEN):
            found = await index.search(query, Within("me", ("a",)), 99)
            assert {hit.key.generation for hit in found} == {2}

    @on_an_index
    async def test_what_was_taken_out_can_be_put_in_again(self, index: Index) -> None:
        for _ in range(3):
            await index.upsert([point("d", at) for at in range(3)])
            assert len(await index.search(vector(1), ME, 9)) == 3
            await index.delete("d")
            assert await index.search(vector(1), ME, 9) == []

    @on_an_index
    async def test_many_points_are_kept_counted_and_taken_out(self, index: Index) -> None:
        rng = np.random.default_rng(5)
        rows = rng.standard_normal((5000, SPACE.dimensions)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        points = [
            point("long" if at < 4000 else f"d{at % 10}", at, at=row, terms=Terms((at,), (1.0,)))
            for at, row in enumerate(rows)
        ]
        for start in range(0, 5000, 1000):
            await index.upsert(points[start : start + 1000])
        expected = {("long", 1): 4000} | {(f"d{n}", 1): 100 for n in range(10)}
        assert await index.census() == expected
        for at in (0, 2500, 4999):
            assert chunks(await index.search(rows[at], ME, 1)) == [at]
            assert chunks(await index.search(Terms((at,), (1.0,)), ME, 1)) == [at]
        await index.delete("long")
        del expected["long", 1]
        assert await index.census() == expected
        assert await index.search(Terms((2500,), (1.0,)), ME, 1) == []
        assert chunks(await index.search(rows[4999], ME, 1)) == [4999]

    # Mistakes.

    @on_an_index
    async def test_a_vector_that_does_not_fit_is_refused(self, index: Index) -> None:
        await index.upsert([point("d")])
        short, broken = np.ones(3, np.float32), np.full(SPACE.dimensions, np.nan, np.float32)
        for wrong in (short, broken):
            with pytest.raises(InvalidInputError):
                await index.upsert([point("d", 1), point("d", 2, at=wrong)])
            with pytest.raises(InvalidInputError):
                await index.search(wrong, ME, 10)
        assert await index.census() == {("d", 1): 1}

    @on_an_index
    async def test_a_name_that_is_no_text_is_refused(self, index: Index) -> None:
        half = "half \ud800"
        wrong = [point(half), point("d", owner=half), point("d", folder=half)]
        for each in wrong:
            with pytest.raises(InvalidInputError):
                await index.upsert([point("d"), each])
        for within in (Within(half), Within("me", (half,)), Within("me", None, ("", half))):
            with pytest.raises(InvalidInputError):
                await index.search(vector(1), within, 10)
        with pytest.raises(InvalidInputError):
            await index.fetch([ChunkKey("me", half, 1, 0)])
        with pytest.raises(InvalidInputError):
            await index.delete(half)
        with pytest.raises(InvalidInputError):
            await index.census(half)
        assert await index.census() == {}

    # Several at once, and again.

    @on_an_index
    async def test_several_can_write_and_search_at_once(self, index: Index) -> None:
        async def write_and_find(name: str) -> None:
            for generation in range(1, 4):
                await index.upsert([point(name, at, generation=generation) for at in range(5)])
                found = await index.search(vector(1), Within("me", (name,)), 99)
                assert sum(hit.key.generation == generation for hit in found) == 5
                await index.flush()
                await index.delete(name, [generation - 1])

        await asyncio.gather(*(write_and_find(f"d{n}") for n in range(8)))
        assert await index.census() == {(f"d{n}", 3): 5 for n in range(8)}

    @on_an_index
    async def test_a_caller_who_gives_up_harms_nobody(self, index: Index) -> None:
        await index.upsert([point("d", at) for at in range(50)])
        tasks = [asyncio.create_task(index.search(vector(1), ME, 50)) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, list) and len(each) == 50 for each in outcomes[1::2])
        assert await index.census() == {("d", 1): 50}

    def test_what_was_flushed_is_there_when_opened_again(self) -> None:
        async def first() -> None:
            index = await self.indexes().open(SPACE)
            await index.upsert([point("d", at, folder="f", generation=2) for at in range(9)])
            await index.upsert([point("gone")])
            await index.delete("gone")
            await index.flush()
            await index.close()

        async def second() -> None:
            index = await self.indexes().open(SPACE)
            try:
                assert await index.census() == {("d", 2): 9}
                assert len(await index.search(vector(1), Within("me", ("d",), ("f",)), 99)) == 9
                assert len(await index.search(SEVEN, ME, 99)) == 9
            finally:
                await index.close()

        asyncio.run(first())
        asyncio.run(second())

    def test_closing_twice_is_closing_once(self) -> None:
        async def scene() -> None:
            index = await self.indexes().open(SPACE)
            await index.upsert([point("d")])
            await index.close()
            await index.close()

        asyncio.run(scene())

    # Spaces.

    def test_spaces_are_listed_kept_apart_and_dropped(self) -> None:
        async def scene() -> None:
            indexes = self.indexes()
            assert await indexes.names() == []
            one, two = await indexes.open(SPACE), await indexes.open(Space("two", 3))
            await one.upsert([point("d")])
            await two.upsert([point("d", at=np.ones(3, np.float32))])
            await two.upsert([point("e", at=np.ones(3, np.float32))])
            assert await one.census() == {("d", 1): 1}
            assert await indexes.names() == sorted([SPACE.name, "two"])
            for index in (one, two):
                await index.close()
            await indexes.drop("two")
            await indexes.drop("never-there")
            assert await indexes.names() == [SPACE.name]
            two = await indexes.open(Space("two", 5))
            assert await two.census() == {}
            await two.close()

        asyncio.run(scene())

    def test_a_space_of_other_dimensions_is_refused(self) -> None:
        async def scene() -> None:
            indexes = self.indexes()
            index = await indexes.open(SPACE)
            await index.upsert([point("d")])
            await index.flush()
            await index.close()
            with pytest.raises(MigrationNeededError, match="8 dimensions, not of 9"):
                await indexes.open(Space(SPACE.name, 9))
            index = await indexes.open(SPACE)
            assert await index.census() == {("d", 1): 1}
            await index.close()

        asyncio.run(scene())

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a b", "x" * 101, "ü", "a."])
    def test_a_name_that_is_no_file_name_is_refused(self, name: str) -> None:
        async def scene() -> None:
            indexes = self.indexes()
            with pytest.raises(InvalidInputError):
                await indexes.open(Space(name, 8))
            with pytest.raises(InvalidInputError):
                await indexes.drop(name)

        asyncio.run(scene())
