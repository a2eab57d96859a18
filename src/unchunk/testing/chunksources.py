"""What every source of other people's chunks must do."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from unchunk.ports import Among, ChunkSource, ForeignChunks, SearchesWords

S = TypeVar("S", bound="ChunkSourceContract")


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk as somebody put it into a store."""

    document: str
    chunk_index: int
    text: str
    title: str = ""
    content_type: str = "page"
    chunk_count: int = 3
    more: Mapping[str, str | int | bool] = field(default_factory=dict)


TEXTS = (
    "The whale is the largest animal of the sea, and it sings.",
    "Ships of wood hunted it with harpoons for its oil.",
    "Kerosene took the place of whale oil in the lamps.\n\n  日本の鯨 – “quoted” \t end ",
)
ODD_NAMES = ("a'b\"c", "$or", "metadata.x", "日本", "https://example.org/a?b=c#d", "507")

LIBRARY = (
    *(Row("whales", at, text, "Whales", more={"team": "blue"}) for at, text in enumerate(TEXTS)),
    *(
        Row("notes", at, f"{text} Noted.", "Notes", "note", more={"team": "red"})
        for at, text in enumerate(TEXTS)
    ),
)


def on(
    *rows: Row,
) -> Callable[[Callable[[S, ChunkSource], Coroutine[None, None, None]]], Callable[[S], None]]:
    """The scene as a test, over a store that holds `rows`."""

    def made(
        scene: Callable[[S, ChunkSource], Coroutine[None, None, None]],
    ) -> Callable[[S], None]:
        async def play(suite: S) -> None:
            async with suite.opened(rows) as source:
                await scene(suite, source)

        def test(self: S) -> None:
            asyncio.run(play(self))

        test.__name__ = scene.__name__
        return test

    return made


def places(found: ForeignChunks) -> list[tuple[str, int | None]]:
    return [(one.document, one.chunk_index) for one in found.chunks]


class ChunkSourceContract:
    """Subclass it as `Test...`, and say how a store is filled and opened."""

    def opened(self, rows: Sequence[Row]) -> AbstractAsyncContextManager[ChunkSource]:
        """A source over a store of its own that holds these and nothing else."""
        raise NotImplementedError

    # Searching.

    @on(*LIBRARY)
    async def test_the_best_chunk_comes_first_and_scores_fall(self, source: ChunkSource) -> None:
        found = await source.search(TEXTS[1], Among(), 6)
        assert found.chunks[0].text == TEXTS[1]
        scores = [one.score for one in found.chunks]
        assert len(scores) == 6
        assert None not in scores
        assert scores == sorted(scores, key=lambda score: -(score or 0.0))
        assert found.notes == ()

    @on(*LIBRARY)
    async def test_a_chunk_comes_as_it_was_put_in(self, source: ChunkSource) -> None:
        (chunk,) = (await source.search(TEXTS[2], Among(), 1)).chunks
        assert chunk.text == TEXTS[2]
        assert (chunk.document, chunk.chunk_index, chunk.title) == ("whales", 2, "Whales")
        assert chunk.metadata["team"] == "blue"
        assert (chunk.start, chunk.end, chunk.page) == (None, None, None)

    @on(*LIBRARY)
    async def test_no_more_are_found_than_asked_for(self, source: ChunkSource) -> None:
        assert len((await source.search("whale oil", Among(), 2)).chunks) == 2
        assert (await source.search("whale oil", Among(), 0)).chunks == ()
        assert len((await source.search("whale oil", Among(), 50)).chunks) == 6

    @on(*LIBRARY)
    async def test_only_chunks_of_the_named_document_are_found(self, source: ChunkSource) -> None:
        found = await source.search(TEXTS[1], Among(documents=("notes",)), 9)
        assert sorted(places(found)) == [("notes", 0), ("notes", 1), ("notes", 2)]
        assert places(await source.search(TEXTS[1], Among(documents=("absent",)), 9)) == []
        assert places(await source.search(TEXTS[1], Among(documents=()), 9)) == []

    @on(*LIBRARY)
    async def test_only_chunks_of_the_named_title_are_found(self, source: ChunkSource) -> None:
        found = await source.search(TEXTS[1], Among(titles=("Notes",)), 9)
        assert {one.title for one in found.chunks} == {"Notes"}
        assert places(await source.search(TEXTS[1], Among(titles=()), 9)) == []

    @on(*LIBRARY)
    async def test_only_chunks_of_the_kind_are_found(self, source: ChunkSource) -> None:
        found = await source.search(TEXTS[1], Among(content_types=("note",)), 9)
        assert {one.document for one in found.chunks} == {"notes"}

    @on(
        Row("a", 0, TEXTS[0], more={"team": "blue", "open": True, "year": 1}),
        Row("b", 0, TEXTS[0], more={"team": "red", "open": False, "year": 2}),
    )
    async def test_fields_are_matched_exactly_and_all_of_them(self, source: ChunkSource) -> None:
        async def found(*fields: tuple[str, str | int | bool]) -> list[str]:
            chunks = (await source.search(TEXTS[0], Among(fields=fields), 9)).chunks
            return sorted(one.document for one in chunks)

        assert await found() == ["a", "b"]
        assert await found(("team", "blue")) == ["a"]
        assert await found(("open", False)) == ["b"]
        assert await found(("year", 2)) == ["b"]
        assert await found(("team", "blu")) == []
        assert await found(("team", "red"), ("year", 2)) == ["b"]
        assert await found(("team", "red"), ("year", 1)) == []
        assert await found(("absent", "blue")) == []

    @on(*LIBRARY)
    async def test_many_may_search_at_once(self, source: ChunkSource) -> None:
        many = await asyncio.gather(*(source.search(text, Among(), 1) for text in TEXTS * 5))
        assert [found.chunks[0].text for found in many] == list(TEXTS * 5)

    @on(*(Row(name, 0, f"{TEXTS[0]} {name}", name) for name in ODD_NAMES))
    async def test_names_may_hold_anything(self, source: ChunkSource) -> None:
        for name in ODD_NAMES:
            among = Among((name,), (name,))
            assert places(await source.search(TEXTS[0], among, 9)) == [(name, 0)]
            if source.nature.fetches:
                assert places(await source.fetch({name: [0, 1]}, Among())) == [(name, 0)]

    # Searching by words, where the source can.

    @on(*LIBRARY)
    async def test_the_chunks_that_have_the_words_are_found_with_both_scores(
        self, source: ChunkSource
    ) -> None:
        if not isinstance(source, SearchesWords):
            return
        found = await source.search_words("kerosene lamps", Among(), 9)
        assert {one.chunk_index for one in found.chunks} == {2}
        words = [one.word_score or 0.0 for one in found.chunks]
        assert words == sorted(words, reverse=True)
        assert all(it > 0 for it in words)
        near = await source.search("kerosene lamps", Among(), 9)
        cosines = {one.id: one.score for one in near.chunks}
        for one in found.chunks:
            assert abs((one.score or 0.0) - (cosines[one.id] or 0.0)) < 1e-5
        assert len((await source.search_words("whale", Among(), 1)).chunks) == 1
        assert (await source.search_words("absent", Among(), 9)).chunks == ()

    @on(*LIBRARY)
    async def test_words_are_searched_among_what_is_meant_only(self, source: ChunkSource) -> None:
        if not isinstance(source, SearchesWords):
            return
        for among in (
            Among(fields=(("team", "red"),)),
            Among(documents=("notes",)),
            Among(titles=("Notes",)),
            Among(content_types=("note",)),
        ):
            found = await source.search_words("whale", among, 9)
            assert {one.document for one in found.chunks} == {"notes"}
        for among in (Among(documents=()), Among(fields=(("team", "green"),))):
            assert (await source.search_words("whale", among, 9)).chunks == ()

    # Fetching.

    @on(*LIBRARY)
    async def test_chunks_are_fetched_by_their_places(self, source: ChunkSource) -> None:
        wanted = {"whales": [0, 2, 7], "notes": [1], "absent": [0]}
        found = await source.fetch(wanted, Among())
        if not source.nature.fetches:
            assert found.chunks == ()
            assert found.notes
            return
        assert sorted(places(found)) == [("notes", 1), ("whales", 0), ("whales", 2)]
        texts = {(one.document, one.chunk_index): one.text for one in found.chunks}
        assert texts["whales", 2] == TEXTS[2]
        assert {one.chunk_count for one in found.chunks} == {3}
        assert {one.score for one in found.chunks} == {None}

    @on(*LIBRARY)
    async def test_nothing_wanted_is_nothing_fetched(self, source: ChunkSource) -> None:
        assert (await source.fetch({}, Among())).chunks == ()
        assert (await source.fetch({"whales": []}, Among())).chunks == ()
        assert (await source.fetch({"whales": [], "notes": []}, Among(documents=()))).chunks == ()

    @on(*LIBRARY)
    async def test_fetching_keeps_to_the_same_filters(self, source: ChunkSource) -> None:
        if not source.nature.fetches:
            return
        wanted = {"whales": [0, 1], "notes": [0, 1]}
        for among in (
            Among(fields=(("team", "red"),)),
            Among(documents=("notes",)),
            Among(titles=("Notes",)),
            Among(content_types=("note",)),
        ):
            found = await source.fetch(wanted, among)
            assert sorted(places(found)) == [("notes", 0), ("notes", 1)]
        among = Among(("whales",), fields=(("team", "red"),))
        assert places(await source.fetch(wanted, among)) == []

    @on(*(Row(f"d{n}", at, f"{n} {at}") for n in range(60) for at in range(4)))
    async def test_many_places_of_many_documents_come_together(self, source: ChunkSource) -> None:
        if not source.nature.fetches:
            return
        found = await source.fetch({f"d{n}": [0, 1, 3] for n in range(60)}, Among())
        assert len(found.chunks) == 180
        assert {one.text for one in found.chunks if one.document == "d7"} == {"7 0", "7 1", "7 3"}

    @on(*LIBRARY)
    async def test_a_search_may_be_among_some_places_only(self, source: ChunkSource) -> None:
        wanted = {"whales": [0, 2], "notes": [9], "absent": [0]}
        found = await source.search(TEXTS[1], Among(), 9, wanted)
        if not source.nature.fetches:
            assert found.chunks == ()
            return
        assert sorted(places(found)) == [("whales", 0), ("whales", 2)]
        assert None not in {one.score for one in found.chunks}
        for among in (Among(("notes",)), Among(fields=(("team", "red"),))):
            assert places(await source.search(TEXTS[1], among, 9, wanted)) == []
        assert places(await source.search(TEXTS[1], Among(), 9, {})) == []
        assert places(await source.search(TEXTS[1], Among(), 9, {"whales": []})) == []

    # Listing.

    @on(*LIBRARY, Row("more", 0, "x", "More", chunk_count=1, more={"team": "blue"}))
    async def test_documents_are_listed_with_their_titles(self, source: ChunkSource) -> None:
        every = await source.documents(Among())
        assert sorted(one[:3] for one in every) == [
            ("more", "More", 1),
            ("notes", "Notes", 3),
            ("whales", "Whales", 3),
        ]
        assert {one.metadata["team"] for one in every} == {"red", "blue"}
        mine = await source.documents(Among(fields=(("team", "blue"),)))
        assert sorted(one.document for one in mine) == ["more", "whales"]
        (named,) = await source.documents(Among(titles=("Notes",)))
        assert named.document == "notes"
        assert await source.documents(Among(documents=())) == []

    @on(*LIBRARY)
    async def test_closing_twice_does_nothing(self, source: ChunkSource) -> None:
        await source.search("whale", Among(), 1)
        await source.close()
        await source.close()
