"""Two processes that write one document: it ends whole or gone, and both agree on it."""

import asyncio
import random
from contextlib import suppress

import pytest

from gates import hold, part
from sharers import Town, assert_agreed, fall_asleep
from unchunk.engine import Engine
from unchunk.errors import NotFoundError

# Some 400 small chunks, which is more than one batch.
LONG = " ".join(f"Word {number} swims in a sea of words." for number in range(1200))
# Long enough for a busy machine, and short enough to wait for.
SLEEPY = 2.0


async def is_gone(engine: Engine, document: str) -> bool:
    return all(one.id != document for one in await engine.documents())


async def begun(engine: Engine) -> str:
    [document] = await engine.documents()
    return document.id


@pytest.mark.parametrize("seed", range(3))
def test_two_who_replace_and_delete_the_same_documents_end_in_one_state(
    town: Town, seed: int
) -> None:
    names = ("a.md", "b.md")

    async def work(one: Engine, other: Engine) -> None:
        async def change(engine: Engine, number: int) -> None:
            rng = random.Random(seed * 2 + number)
            for turn in range(8):
                name = rng.choice(names)
                if rng.random() < 0.35:
                    with suppress(NotFoundError):
                        assert (await engine.delete(name)).problem == ""
                    continue
                text = f"Word {number} {turn}. " * rng.choice([1, 40, 200])
                path = town.file(f"{number}/{name}", text)
                [outcome] = await engine.add(path)
                assert outcome.result != "waiting", outcome
                assert outcome.result != "failed" or outcome.error_code == "overtaken"

        await asyncio.gather(change(one, 0), change(other, 1))
        texts = {name.name: await one.text(name.id) for name in await one.documents()}
        await assert_agreed([one, other], texts)

    town.run(work)


@pytest.mark.parametrize("call", [1, 2])
def test_a_delete_wins_over_a_writer_elsewhere(
    town: Town, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        writing = hold(monkeypatch, part(one, "index"), "upsert", call)
        adding = asyncio.create_task(one.add(path))
        await writing.reached.wait()
        document = await begun(other)
        deleting = asyncio.create_task(other.delete(document))
        while not await is_gone(one, document):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
        writing.opened.set()
        [outcome] = await adding
        assert outcome.result == "failed"
        assert (await deleting).clean
        await assert_agreed([one, other], {})

    town.run(work)


def test_a_writer_learns_of_a_delete_elsewhere_before_its_next_batch(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        writing = hold(monkeypatch, part(one, "index"), "upsert", after=True)
        adding = asyncio.create_task(one.add(path))
        await writing.reached.wait()
        document = await begun(other)
        deleting = asyncio.create_task(other.delete(document))
        # Long before the lease ends, or the next beat is due.
        while document not in one._parts.desk._dismissed:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
        writing.opened.set()
        assert [one.result for one in await adding] == ["failed"]
        assert (await deleting).clean
        await assert_agreed([one, other], {})

    town.run(work, 600.0)


@pytest.mark.parametrize("last", ["sleeper", "other"])
def test_a_writer_that_slept_is_refused_when_another_took_over(
    town: Town, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        writing = hold(monkeypatch, part(one, "index"), "upsert", after=last == "other")
        taking = hold(monkeypatch, part(other, "index"), "upsert", after=True)
        adding = asyncio.create_task(one.add(path))
        await writing.reached.wait()
        fall_asleep(one)
        retrying = asyncio.create_task(other.retry())
        await taking.reached.wait()
        first, second = (writing, taking) if last == "other" else (taking, writing)
        first.opened.set()
        await (adding if last == "other" else retrying)
        second.opened.set()
        [late], [done] = await adding, await retrying
        assert done.result == "added"
        assert late.result in {"waiting", "failed"}
        await assert_agreed([other], {"a.md": LONG})

    town.run(work, SLEEPY)


def test_points_of_a_writer_that_slept_through_a_delete_go_too(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        # It believes that its lease is good, and is about to make all of it live.
        going_live = hold(monkeypatch, one._parts.catalog, "go_live")
        adding = asyncio.create_task(one.add(path))
        await going_live.reached.wait()
        fall_asleep(one)
        receipt = await other.delete(await begun(other))
        assert receipt.clean
        going_live.opened.set()
        assert [one.result for one in await adding] == ["failed"]
        await assert_agreed([other], {})

    town.run(work, SLEEPY)


def test_what_is_written_anew_elsewhere_is_not_taken_for_a_leftover(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        await one.add(path)
        writing = hold(monkeypatch, part(one, "index"), "upsert", after=True)
        rewriting = asyncio.create_task(one.reindex("a.md"))
        await writing.reached.wait()
        assert len(await other._parts.catalog.remains()) == 1
        assert await other.purge_remains() == 0
        assert (await other.doctor(fix=True)).findings == ()
        writing.opened.set()
        assert (await rewriting).documents == 1
        await assert_agreed([one, other], {"a.md": LONG})

    town.run(work)


def test_what_a_writer_left_that_is_gone_is_purged_by_another(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        await one.add(path)
        writing = hold(monkeypatch, part(one, "index"), "upsert", after=True)
        rewriting = asyncio.create_task(one.reindex("a.md"))
        await writing.reached.wait()
        fall_asleep(one)
        while not await other.purge_remains():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.1)
        await assert_agreed([other], {"a.md": LONG})
        rewriting.cancel()
        with suppress(asyncio.CancelledError):
            await rewriting

    town.run(work, SLEEPY)


@pytest.mark.parametrize("step", ["delete", "forget", "nothing"])
def test_what_is_being_purged_does_not_go_live(
    town: Town, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        await one.add(path)
        going_live = hold(monkeypatch, one._parts.catalog, "go_live")
        rewriting = asyncio.create_task(one.reindex("a.md"))
        await going_live.reached.wait()
        fall_asleep(one)
        while await other._parts.desk.is_held(await begun(other)):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.1)
        where = part(other, "index" if step == "delete" else "catalog")
        purge = hold(monkeypatch, where, "forget" if step == "nothing" else step)
        if step == "nothing":
            purge.opened.set()
        purging = asyncio.create_task(other.purge_remains())
        await purge.reached.wait()
        going_live.opened.set()
        assert (await rewriting).documents == 0
        purge.opened.set()
        assert await purging == 1
        await assert_agreed([other], {"a.md": LONG})

    town.run(work, SLEEPY)


def test_a_file_whose_bytes_another_is_about_to_keep_waits_for_them(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        keeping = hold(monkeypatch, one._parts.blobs, "put")
        kept = asyncio.create_task(one.keep_file(path, "a.md"))
        await keeping.reached.wait()
        assert [one.result for one in await other.retry()] == ["waiting"]
        keeping.opened.set()
        assert (await kept).result == "waiting"
        assert [one.result for one in await other.retry()] == ["added"]
        await assert_agreed([one, other], {"a.md": LONG})

    town.run(work)
