"""The doctor of one process, and what another is writing: nothing that goes live is taken out."""

import asyncio

import pytest

from gates import hold, part
from sharers import Town, assert_agreed, fall_asleep
from unchunk.engine import Engine
from unchunk.library import doctor

LONG = " ".join(f"Word {number} swims in a sea of words." for number in range(300))
SLEEPY = 2.0


def test_who_slept_before_going_live_is_refused_by_then_or_keeps_its_chunks(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        await one.add(path)
        [document] = await one.documents()
        going = hold(monkeypatch, part(one, "catalog"), "go_live")
        writing = asyncio.create_task(one.reindex(document.id))
        await going.reached.wait()
        # Its lease runs out after the doctor has looked at what is left, and before the index.
        looking = hold(monkeypatch, part(other, "catalog"), "find", 2)
        mending = asyncio.create_task(other.doctor(fix=True))
        await looking.reached.wait()
        fall_asleep(one)
        while await other._parts.desk.is_held(document.id):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)
        looking.opened.set()
        assert [one.kind for one in (await mending).findings] == ["index"]
        going.opened.set()
        await writing
        await assert_agreed([one, other], {"a.md": LONG})

    town.run(work, SLEEPY)


def test_what_went_live_while_the_doctor_looked_stays(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", LONG)

    async def work(one: Engine, other: Engine) -> None:
        await one.add(path)
        [document] = await one.documents()
        going = hold(monkeypatch, part(one, "catalog"), "go_live")
        writing = asyncio.create_task(one.reindex(document.id))
        await going.reached.wait()
        read = hold(monkeypatch, doctor, "_again", after=True)
        mending = asyncio.create_task(other.doctor(fix=True))
        while not read.reached.is_set() and not mending.done():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
        going.opened.set()
        await writing
        read.opened.set()
        await mending
        await assert_agreed([one, other], {"a.md": LONG})

    town.run(work)
