"""A question into chunks: only what is live is found, and all of that."""

import asyncio

import pytest

from gates import break_off, hold, in_time, part
from homes import Home
from unchunk.domain import Terms
from unchunk.engine import Engine
from unchunk.errors import (
    IndexUnavailableError,
    ProviderRefusedError,
    ProviderUnavailableError,
)

SENTENCE = "the white whale swam before him. "
WHALE = f"# Whale\n\n{SENTENCE}"
# Some 600 chunks that answer the question as well as the live one.
CROWD = "# Whale\n\n" + "\n\n".join(f"{SENTENCE * 3}Number {n}." for n in range(600))
SMALL: dict[str, str | float] = {"chunk_size": 150, "chunk_overlap": 0}


async def names_found(engine: Engine, question: str = SENTENCE, limit: int = 10) -> list[str]:
    return sorted({hit.name for hit in (await engine.search(question, limit=limit)).hits})


def test_many_chunks_of_a_waiting_document_do_not_hide_a_live_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("live.md", WHALE)
    home.file("waiting/crowd.md", CROWD)

    async def work(engine: Engine) -> None:
        await engine.add(home.files / "live.md")
        down = ProviderUnavailableError("the provider is down")
        with monkeypatch.context() as patch:
            break_off(patch, part(engine, "embedder"), "embed", down, range(3, 99))
            assert [one.result for one in await engine.add(home.files / "waiting")] == ["waiting"]
        census = await engine._parts.spaces.active.index.census()
        assert sum(census.values()) > 300
        for limit in (1, 10):
            assert await names_found(engine, limit=limit) == ["live.md"]
        assert [one.result for one in await engine.retry()] == ["added"]
        assert await names_found(engine, limit=1000) == ["crowd.md", "live.md"]

    home.run(in_time(work), **SMALL)


def test_both_meaning_and_words_are_asked_for_what_is_wanted_and_no_more(home: Home) -> None:
    for number in range(30):
        home.file(f"{number}.md", f"{WHALE} Number {number}.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        for limit in (1, 7, 30, 1000):
            found = await engine.search(SENTENCE, limit=limit)
            assert len(found.hits) == min(limit, 30)
            assert len({(hit.document, hit.chunk) for hit in found.hits}) == len(found.hits)
        [best, *_] = (await engine.search("number 17")).hits
        assert best.name == "17.md"
        assert best.text == f"{WHALE} Number 17."

    home.run(in_time(work))


def test_a_document_that_is_written_anew_meanwhile_is_found_and_the_question_embedded_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", WHALE)
    home.file("b.md", f"{WHALE} Once more.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        embedder = engine._parts.spaces.embedder
        questions, embed = 0, embedder.embed

        async def counted(texts: list[str], role: str) -> object:
            nonlocal questions
            questions += role == "query"
            return await embed(texts, role)  # type: ignore[arg-type] # a role as it came

        monkeypatch.setattr(embedder, "embed", counted)
        with monkeypatch.context() as patch:
            found_and_not_yet_read = hold(patch, engine._parts.catalog, "open")
            searching = asyncio.create_task(names_found(engine))
            await found_and_not_yet_read.reached.wait()
        assert (await engine.reindex("a.md", "b.md")).documents == 2
        found_and_not_yet_read.opened.set()
        assert await searching == ["a.md", "b.md"]
        assert questions == 1

    home.run(in_time(work))


def test_a_document_that_is_deleted_meanwhile_is_left_out(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", WHALE)
    home.file("b.md", f"{WHALE} Once more.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        with monkeypatch.context() as patch:
            found_and_not_yet_read = hold(patch, engine._parts.catalog, "open")
            searching = asyncio.create_task(names_found(engine))
            await found_and_not_yet_read.reached.wait()
        assert (await engine.delete("a.md")).clean
        found_and_not_yet_read.opened.set()
        assert await searching == ["b.md"]

    home.run(in_time(work))


def test_a_search_goes_on_when_the_index_it_was_in_is_dropped(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", WHALE)
    home.file("b.md", f"{WHALE} Once more.")
    home.run(lambda engine: engine.add(home.files))

    async def work(engine: Engine) -> None:
        old = engine._parts.spaces.active.index
        in_the_old_one = hold(monkeypatch, old, "search_many")
        searching = asyncio.create_task(names_found(engine))
        await in_the_old_one.reached.wait()
        assert len((await engine.migrate()).dropped) == 1
        in_the_old_one.opened.set()
        assert await searching == ["a.md", "b.md"]

    home.run(in_time(work), embedder="hashing:128")


@pytest.mark.parametrize(
    "error",
    [
        ProviderUnavailableError("the provider is down"),
        ProviderRefusedError("the key is wrong"),
    ],
)
def test_without_the_embedder_words_are_searched_and_a_note_says_so(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    home.file("a.md", WHALE)
    home.file("b.md", "# Harbour\n\nBoats over nine metres pay dues.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        break_off(monkeypatch, part(engine, "embedder"), "embed", error)
        found = await engine.search("whales")
        assert [hit.name for hit in found.hits] == ["a.md"]
        assert found.notes == (f"searched by words only: {error}",)
        assert (await engine.search("nowhere")).hits == ()

    home.run(in_time(work))


def test_an_index_that_cannot_be_opened_is_not_taken_for_the_embedder(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        refusal = ProviderRefusedError("the index refuses the key")
        with monkeypatch.context() as patch:
            break_off(patch, part(engine, "index"), "start", refusal)
            with pytest.raises(ProviderRefusedError, match="refuses the key"):
                await engine.search("whales")
        assert (await engine.search("whales")).notes == ()

    home.run(in_time(work))


def test_a_question_without_words_is_searched_by_meaning(home: Home) -> None:
    home.file("a.md", "# Marks\n\n?! ... ?! ... ?! whatever")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        assert engine._parts.lexicon.query("?! ...") == Terms((), ())
        assert await names_found(engine, "?! ...") == ["a.md"]

    home.run(in_time(work))


def test_an_index_that_cannot_be_reached_is_an_error_and_no_empty_answer(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        gone = IndexUnavailableError("the index cannot be reached")
        break_off(monkeypatch, part(engine, "index"), "search_many", gone, {1})
        with pytest.raises(IndexUnavailableError, match="cannot be reached"):
            await engine.search("whale")
        assert await names_found(engine) == ["a.md"]

    home.run(in_time(work))
