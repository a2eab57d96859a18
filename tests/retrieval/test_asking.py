"""What is remembered of a question, and what is not; and questions that cannot be asked."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from gates import break_off, hold, in_time, part, until
from homes import Home
from servers import qdrant
from unchunk.adapters.index.edge import EdgeIndex
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError, InvalidInputError, ProviderUnavailableError
from unchunk.library.lazy import LazyIndex
from unchunk.mcp.tools import TOOLS, Desk
from unchunk.retrieval import sighting
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.cache import TimedCache
from unchunk.retrieval.query import Turn
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Where

QUESTION = "Where does the white whale swim?"
WHALE = "The white whale swims before him, {}."
EVERYTHING = Amount()


def counting(patch: pytest.MonkeyPatch, engine: Engine) -> Counter[str]:
    """How many questions are embedded and how many searches are made from now on."""
    calls: Counter[str] = Counter()

    def counted(where: object, method: str) -> None:
        real: Callable[..., Any] = getattr(where, method)

        async def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the method's own
            calls[method] += 1
            return await real(*arguments, **options)

        patch.setattr(where, method, call)

    counted(part(engine, "embedder"), "embed")
    counted(part(engine, "index"), "search_many")
    return calls


def said(evidence: Evidence) -> list[str]:
    return sorted(one.full_content for one in evidence.documents)


def test_the_same_question_twice_is_embedded_once_and_searched_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        calls = counting(monkeypatch, engine)
        first = await engine.retrieve(QUESTION, amount=Amount(also_see=False))
        assert calls == {"embed": 1, "search_many": 1}
        assert await engine.retrieve(QUESTION, amount=Amount(also_see=False)) == first
        assert calls == {"embed": 1, "search_many": 1}
        # By another way, the question's vector is still known.
        assert (await engine.search(QUESTION)).hits
        documents = await engine.search_with_context(QUESTION)
        searches = calls["search_many"]
        assert await engine.search_with_context(QUESTION) == documents
        assert calls == {"embed": 1, "search_many": searches}
        counters = (await engine.counts()).counters
        assert (counters["evidence_cache_hits"], counters["question_cache_hits"]) == (2, 2)

    home.run(in_time(work))


def test_whatever_changes_the_answer_is_asked_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files, owner="a")
        await engine.add(home.files, owner="b")
        calls = counting(monkeypatch, engine)
        history = (Turn("user", "Who is Ahab?"), Turn("assistant", "A captain."))
        ways: list[dict[str, Any]] = [
            {"owner": "a"},
            {"owner": "b"},
            {"owner": "a", "where": Where(folders=("",))},
            {"owner": "a", "where": Where(names=("a.txt",))},
            {"owner": "a", "history": history},
            {"owner": "a", "history": history[:1]},
            {"owner": "a", "amount": Amount(1)},
            {"owner": "a", "amount": Amount(min_score=0.1)},
            {"owner": "a", "amount": Amount(budget=20)},
            {"owner": "a", "amount": Amount(budget=20, measure=lambda text: len(text.split()))},
        ]
        before, seen = 0, []
        for way in ways:
            seen.append(await engine.retrieve(QUESTION, **way))
            assert calls["search_many"] > before, way
            before = calls["search_many"]
        for way, one in zip(ways, seen, strict=True):
            assert await engine.retrieve(QUESTION, **way) == one
        assert calls["search_many"] == before
        assert {one.documents[0].document for one in seen[:2]} == {
            one.id for owner in "ab" for one in await engine.documents(owner=owner)
        }

    home.run(in_time(work))


def test_every_write_is_seen_by_the_next_question(home: Home) -> None:
    path = home.file("a.txt", WHALE.format("once"))
    home.file("more/b.txt", WHALE.format("and then"))

    async def work(engine: Engine) -> None:
        await engine.add(path)
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == [WHALE.format("once")]
        await engine.add(home.files / "more")
        both = [WHALE.format("and then"), WHALE.format("once")]
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == both
        path.write_text(WHALE.format("twice"))
        await engine.add(path)
        both = [WHALE.format("and then"), WHALE.format("twice")]
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == both
        revision = await engine._parts.catalog.revision()
        await engine.reindex("a.txt")
        assert await engine._parts.catalog.revision() > revision
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == both
        await engine.delete("b.txt")
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == [WHALE.format("twice")]
        await engine.delete("a.txt")
        assert (await engine.retrieve(QUESTION, amount=EVERYTHING)).documents == ()

    home.run(in_time(work))


def test_another_way_of_cutting_is_seen_by_the_next_question(home: Home) -> None:
    home.file("a.txt", "\n\n".join(WHALE.format(f"time {at}") for at in range(20)))
    home.run(lambda engine: engine.add(home.files))

    async def work(engine: Engine) -> None:
        [before] = (await engine.retrieve(QUESTION, amount=EVERYTHING)).documents
        assert before.chunk_count == 2
        await engine.migrate()
        [after] = (await engine.retrieve(QUESTION, amount=EVERYTHING)).documents
        assert after.chunk_count is not None
        assert after.chunk_count > 5

    home.run(in_time(work), chunk_size=100, chunk_overlap=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as one:
        yield one.url


def test_a_write_of_another_process_is_seen_by_the_next_question(home: Home, server: str) -> None:
    path = home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(path)
        assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == [WHALE.format("once")]
        async with home.open(index=f"qdrant:{server}") as other:
            path.write_text(WHALE.format("twice"))
            await other.add(path)
            assert said(await engine.retrieve(QUESTION, amount=EVERYTHING)) == [
                WHALE.format("twice")
            ]
            assert said(await other.retrieve(QUESTION, amount=EVERYTHING)) == [
                WHALE.format("twice")
            ]
            await engine.reindex("a.txt")
            assert said(await other.retrieve(QUESTION, amount=EVERYTHING)) == [
                WHALE.format("twice")
            ]
            await engine.delete("a.txt")
            assert said(await other.retrieve(QUESTION, amount=EVERYTHING)) == []

    home.run(in_time(work), index=f"qdrant:{server}")


def test_an_answer_by_words_alone_says_so_in_every_way_and_is_not_remembered(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sighting, "_OUTAGE_SECONDS", 0.0)
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        with monkeypatch.context() as patch:
            down = ProviderUnavailableError("the provider is down")
            break_off(patch, part(engine, "embedder"), "embed", down)
            evidence = await engine.retrieve(QUESTION)
            assert said(evidence) == [WHALE.format("once")]
            assert evidence.notes == ("searched by words only: the provider is down",)
            assert (await engine.search(QUESTION)).notes == evidence.notes
            for chunk_aware in (True, False):
                told = await engine.rag_search(QUESTION, use_chunk_aware=chunk_aware)
                assert told.startswith("(searched by words only: the provider is down)\n")
                assert "white whale" in told
        again = await engine.retrieve(QUESTION)
        assert again.notes == ()
        assert [way.name for way in again.found[0].ways] == ["dense", "lexical"]

    home.run(in_time(work))


def test_an_embedder_that_is_down_is_not_asked_again_for_some_seconds(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.txt", WHALE.format("once"))
    now = 0.0

    async def work(engine: Engine) -> None:
        nonlocal now
        await engine.add(home.files)
        sight = engine._asking._shelf._sight  # type: ignore[attr-defined]
        seconds = sighting._OUTAGE_SECONDS
        sight._outages = TimedCache[str, str](1, seconds, lambda: now)
        down = ProviderUnavailableError("the provider is down")
        break_off(monkeypatch, part(engine, "embedder"), "embed", down, {1})
        calls = counting(monkeypatch, engine)
        for _ in range(3):
            notes = (await engine.search(QUESTION)).notes
            assert notes == ("searched by words only: the provider is down",)
        assert calls["embed"] == 1
        now = seconds
        assert (await engine.search(QUESTION)).notes == ()
        assert calls["embed"] == 2

    home.run(in_time(work))


def test_evidence_is_carried_when_the_embedder_is_down(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sighting, "_OUTAGE_SECONDS", 0.0)
    home.file("keepers.txt", "Maren keeps the lighthouse. She was born in the year of the flood.")
    crowd = (f"How old is she now? She is {at} years old now, as all know." for at in range(200))
    home.file("other.txt", "\n\n".join(crowd))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        cited = (((await engine.document("keepers.txt")).id, 0),)
        history = (Turn("user", "Who is Maren?"), Turn("assistant", "A keeper.", cited))
        for works in (False, True):
            with monkeypatch.context() as patch:
                if not works:
                    down = ProviderUnavailableError("the provider is down")
                    break_off(patch, part(engine, "embedder"), "embed", down)
                evidence = await engine.retrieve("How old is she now?", history=history)
            assert "keepers.txt" in [one.name for one in evidence.documents]
            assert bool(evidence.notes) is not works

    home.run(in_time(work), chunk_size=100, chunk_overlap=0)


@pytest.mark.parametrize("works", [True, False])
def test_cited_chunks_that_no_document_has_are_passed_over(
    home: Home, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        known = (await engine.document("a.txt")).id
        cited = tuple((document, at) for document in (known, "none") for at in (-1, 1, 2**70))
        history = (Turn("user", "Who is Ahab?"), Turn("assistant", "A captain.", cited))
        if not works:
            down = ProviderUnavailableError("the provider is down")
            break_off(monkeypatch, part(engine, "embedder"), "embed", down)
        for where in (Where(), Where(pages=(1, 2)), Where(folders=("",))):
            evidence = await engine.retrieve("Is he old?", history=history, where=where)
            assert evidence.plan.carried == ()
            assert evidence.documents == ()

    home.run(in_time(work))


@pytest.mark.parametrize("question", ["", "  \n", "\t"])
def test_nothing_cannot_be_asked_for(home: Home, question: str) -> None:
    async def work(engine: Engine) -> None:
        for asked in (
            engine.search,
            engine.retrieve,
            engine.search_with_context,
            engine.rag_search,
        ):
            with pytest.raises(InvalidInputError, match="the question is empty"):
                await asked(question)

    home.run(work)


def test_amounts_that_make_no_sense_are_refused(home: Home) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        for limit in (0, -1, 1001):
            with pytest.raises(InvalidInputError, match="is not between 1 and 1000"):
                await engine.search(QUESTION, limit=limit)
            with pytest.raises(InvalidInputError, match="is not between 1 and 1000"):
                await engine.retrieve(QUESTION, amount=Amount(limit))
            with pytest.raises(InvalidInputError, match="is not between 1 and 1000"):
                await engine.search_with_context(QUESTION, limit)
        for most in (0, -1):
            with pytest.raises(InvalidInputError, match="chunks_per_doc"):
                await engine.retrieve(QUESTION, amount=Amount(chunks_per_doc=most))
            with pytest.raises(InvalidInputError, match="chunks_per_doc"):
                await engine.search_with_context(QUESTION, chunks_per_doc=most)

    home.run(work)


@pytest.mark.parametrize(
    "question", ["whale " * 20_000, "\x00whale", "🐋" * 300, "source:" * 50 + "x", "?" * 5000]
)
def test_odd_questions_are_answered(home: Home, question: str) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        assert len((await engine.search(question)).hits) <= 1
        assert (await engine.retrieve(question)).plan.question in question

    home.run(in_time(work))


def test_the_plain_and_the_chunk_aware_tool(home: Home) -> None:
    home.file(
        "a.txt", "\n\n".join(WHALE.format(f"time {at} of many, many more") for at in range(60))
    )

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        whole = await engine.rag_search("the white whale, time 30")
        assert whole.startswith("🔍 CHUNK-AWARE RETRIEVAL: 1 document(s) reconstructed\n")
        assert "    Coverage: chunks" in whole
        assert "    Content" in whole
        bare = await engine.rag_search("the white whale, time 30", show_content=False)
        assert "Content" not in bare
        assert "swims before him" not in bare
        plain = await engine.rag_search("the white whale, time 30", use_chunk_aware=False, limit=2)
        assert plain.startswith("🔍 2 chunk(s) found\n")
        previews = [line for line in plain.splitlines() if "Preview:" in line]
        assert len(previews) == 2
        assert all(len(line) < 230 for line in previews)
        assert len(whole) > 5 * len(previews[0])

    home.run(in_time(work), chunk_size=300, chunk_overlap=30)


# What happens meanwhile.


def letters(letter: str, count: int = 40) -> str:
    """Every chunk of it tells which version it is of."""
    return "\n\n".join(
        f"The white whale swims {letter * 12} {at} times before him {letter * 30}."
        for at in range(count)
    )


SMALL: dict[str, str | float] = {"chunk_size": 160, "chunk_overlap": 20}


# Where a question is when something happens: it has searched, it looks into what it found, it
# opens all of that, it opens what is to be shown whole.
MOMENTS = [
    ("index", "search", 1),
    ("catalog", "live", 1),
    ("catalog", "open", 1),
    ("catalog", "open", 2),
]


QUESTIONS = [f"Explain: {QUESTION}", f"{QUESTION} source:a.txt"]
TEXTS = {"x": letters("x"), "y": letters("y", 25)}


def versions(evidence: Evidence) -> set[str]:
    """Of which versions the answer is; each of its documents is of one, and exactly so."""
    every: set[str] = set()
    for one in evidence.documents:
        [its] = {letter for letter in TEXTS if letter * 12 in one.full_content}
        assert all(p.text == TEXTS[its][p.start : p.end] for p in one.passages)
        every.add(its)
    return every


@pytest.mark.parametrize("change", ["replace", "delete", "reindex"])
def test_an_answer_is_of_one_version_whatever_happens_meanwhile(
    home: Home, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = home.file("a.txt", "")

    async def happens(engine: Engine) -> None:
        if change == "replace":
            path.write_text(TEXTS["y"])
            await engine.add(path)
        elif change == "delete":
            await engine.delete("a.txt")
        else:
            await engine.reindex("a.txt")

    async def work(engine: Engine) -> None:
        for (where, method, call), question in product(MOMENTS, QUESTIONS):
            at = f"{where}.{method} {call}: {question}"
            path.write_text(TEXTS["x"])
            await engine.add(path)
            with monkeypatch.context() as patch:
                held = hold(patch, part(engine, where), method, call, after=where == "index")
                asking = asyncio.create_task(engine.retrieve(question, amount=EVERYTHING))
                reached = asyncio.create_task(held.reached.wait())
                await asyncio.wait({asking, reached}, return_when=asyncio.FIRST_COMPLETED)
                await happens(engine)
                held.opened.set()
                seen = versions(await asking)
                reached.cancel()
            now = {"replace": {"y"}, "delete": set[str](), "reindex": {"x"}}[change]
            # What was opened before may be shown, all of it as it was; nothing is missed.
            assert seen in (now, {"x"}), at
            assert versions(await engine.retrieve(question, amount=EVERYTHING)) == now, at

    home.run(in_time(work), **SMALL)


def test_an_answer_is_whole_when_the_library_is_migrated_meanwhile(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.txt", letters("x"))
    home.file("b.txt", letters("z"))
    home.run(lambda engine: engine.add(home.files), **SMALL)

    async def work(engine: Engine) -> None:
        held = hold(monkeypatch, engine._parts.catalog, "open")
        asking = asyncio.create_task(engine.retrieve(QUESTION, amount=EVERYTHING))
        await held.reached.wait()
        monkeypatch.undo()
        await engine.migrate()
        held.opened.set()
        evidence = await asking
        texts = {"a.txt": letters("x"), "b.txt": letters("z")}
        assert {one.name for one in evidence.documents} == set(texts)
        for one in evidence.documents:
            live = (await engine.document(one.name)).live
            assert live is not None
            assert one.chunk_count == live.chunk_count
            assert all(p.text == texts[one.name][p.start : p.end] for p in one.passages)

    home.run(in_time(work), embedder="hashing:128", chunk_size=300, chunk_overlap=20)


def test_a_killed_index_is_an_error_that_says_so_and_the_next_question_is_answered(
    home: Home,
) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        lazy = engine._parts.spaces.active.index
        assert isinstance(lazy, LazyIndex)
        assert isinstance(lazy._index, EdgeIndex)
        pid, running = lazy._index.pid, lazy._index._child._running
        assert pid is not None
        assert running is not None
        os.kill(pid, signal.SIGSTOP)
        asking = asyncio.create_task(engine.retrieve(QUESTION))
        await until(lambda: len(running._waiting) == 1)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(IndexUnavailableError, match="killed by signal 9; the next call starts"):
            await asking
        assert said(await engine.retrieve(QUESTION)) == [WHALE.format("once")]

    home.run(in_time(work))


def test_documents_that_are_written_anew_all_the_time_end_in_a_clear_error(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.txt", WHALE.format("once"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        catalog = engine._parts.catalog
        real = catalog.open

        async def restless(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - its own
            await engine.reindex("a.txt")
            return await real(*arguments, **options)

        monkeypatch.setattr(catalog, "open", restless)
        with pytest.raises(IndexUnavailableError, match="written anew faster than they are found"):
            await engine.retrieve(QUESTION)
        monkeypatch.undo()
        assert said(await engine.retrieve(QUESTION)) == [WHALE.format("once")]

    home.run(in_time(work))


def test_lists_are_taken_where_tuples_are_meant(home: Home) -> None:
    home.file("a.md", "# Harbour\n\nBoats over nine metres pay dues.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        where = Where(names=["a.md"], media_types=["text/"])  # type: ignore[arg-type] # as JSON has it
        [document] = await engine.documents()
        cited = [[document.id, 0]]
        turn = Turn("assistant", "Dues.", cited=cited)  # type: ignore[arg-type] # as JSON has it
        history = [Turn("user", "What do boats pay?"), turn]
        evidence = await engine.retrieve("and why do they?", history=history, where=where)
        assert [one.name for one in evidence.documents] == ["a.md"]

    home.run(in_time(work))


RULES = "".join(
    f"# Rule {at}\n\nRule {at} of the harbour. {'Mooring. ' * 80}\n\n" for at in range(9)
)
POEM = "# Haiku\n\nA crane stands alone.\n\n" + "".join(
    f"# Verse {at}\n\n{'Reeds bend in the wind. ' * 30}\n\n" for at in range(9)
)


@pytest.mark.parametrize("question", ["source:haiku.md crane", "source:haiku.md"])
def test_a_tag_restricts_every_kind_of_search_to_its_document(home: Home, question: str) -> None:
    """With nothing else asked, the document comes from its beginning."""
    home.file("rules.md", RULES + "The crane lifts boats.\n")
    home.file("haiku.md", POEM)

    async def report(_: int, __: str) -> None:
        """Nobody waits for news."""

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        texts = [
            await engine.rag_search(question),
            await engine.rag_search(question, use_chunk_aware=False),
            *[
                await TOOLS["rag_search"].call(
                    Desk(engine), {"query": question, "use_chunk_aware": aware}, report
                )
                for aware in (True, False)
            ],
        ]
        for text in texts:
            assert "haiku" in text.casefold()
            assert "crane stands alone" in text
            assert "Rule" not in text
            assert "lifts boats" not in text
        evidence = await engine.retrieve(question, mode="passages")
        assert {one.name for one in evidence.documents} == {"haiku.md"}
        found = await engine.search(question, limit=2)
        assert [hit.name for hit in found.hits] == ["haiku.md"] * 2
        assert found.hits[0].chunk.chunk_index == 0
        # Stores are searched for what is written, whatever that is.
        plain = await engine.search_library(question, limit=30)
        assert {hit.name for hit in plain.hits} == {"haiku.md", "rules.md"}

    home.run(work)


def test_a_tag_that_names_nothing_is_told_and_all_is_searched(home: Home) -> None:
    home.file("rules.md", "The crane lifts boats.\n")
    home.file("a/plan.md", "One crane.")
    home.file("b/plan.md", "Two cranes.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        found = await engine.search("source:nowhere.md crane")
        assert len(found.hits) == 3
        assert found.notes[0] == "there is no document 'nowhere.md'"
        assert "everything is searched" in found.notes[1]
        assert "no document 'nowhere.md'" in await engine.rag_search("source:nowhere.md crane")
        several = await engine.search("source:plan.md")
        assert several.hits == ()
        assert "matches several documents" in several.notes[0]
        rules = Where(names=("rules.md",))
        assert (await engine.search("source:a/plan.md crane", where=rules)).hits == ()

    home.run(work)


def test_a_mode_that_there_is_not_is_refused(home: Home) -> None:
    async def work(engine: Engine) -> None:
        mode: Any = "bogus"
        with pytest.raises(InvalidInputError, match="there is no mode 'bogus'"):
            await engine.retrieve(QUESTION, mode=mode)

    home.run(work)
