"""Writes that come after the delete that was to follow them: they are taken out later."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from moves import moved, opened, settings_in
from sharers import Town
from unchunk.adapters.catalog import SqlRecords
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError, ProviderRefusedError
from unchunk.library.lazy import LazyIndex
from unchunk.library.tidying import keep_tidy
from unchunk.ports import Index, Point
from unchunk.ports.moving import Unit
from unchunk.settings import Settings
from unchunk.wiring.moving import target_of
from unchunk.wiring.stores import is_far

MINUTE = 60


def index_of(engine: Engine) -> Index:
    return engine._parts.spaces.active.index


@contextmanager
def overheard(engine: Engine, patch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """All that is written into the index meanwhile."""
    sent, upsert = list[Point](), index_of(engine).upsert

    async def noted(points: Sequence[Point]) -> None:
        sent.extend(points)
        await upsert(points)

    with patch.context() as for_now:
        for_now.setattr(index_of(engine), "upsert", noted)
        yield sent


def turns(catalog: str) -> list[int]:
    """Of what is listed, how often each was taken out again."""
    with psycopg.connect(catalog) as connection:
        return [turn for (turn,) in connection.execute("SELECT turn FROM purged")]


def pass_by(catalog: str, seconds: int) -> None:
    """As if so much time had passed since what is gone was purged."""
    with psycopg.connect(catalog) as connection:
        connection.execute("UPDATE purged SET due_at = due_at - %s", [seconds * 1_000_000])


async def tidied(engine: Engine) -> None:
    """As any process of a library does every half minute."""
    tidying = asyncio.create_task(keep_tidy(engine, engine.sharing.queue, every=0.01))
    async with asyncio.timeout(60):
        while (await engine.doctor()).findings:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)
    tidying.cancel()
    await asyncio.wait([tidying])


def test_what_comes_after_its_document_was_replaced_or_deleted_goes_by_itself(
    town: Town, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(one: Engine, other: Engine) -> None:
        with overheard(one, monkeypatch) as sent:
            await one.add(town.file("a.md", "The first of them. " * 50))
            await one.add(town.file("b.md", "To be deleted. " * 50))
        await one.add(town.file("a.md", "The second of them. " * 50))
        assert (await one.delete("b.md")).clean
        assert not (await one.doctor()).findings
        # As a node of the index does that slept, and wakes.
        await index_of(one).upsert(sent)
        assert len((await one.doctor()).findings) == 2
        assert {hit.name for hit in (await one.search("first deleted", limit=99)).hits} == {"a.md"}
        await other.purge_again()
        assert len((await one.doctor()).findings) == 2, "it is not due yet"
        pass_by(postgres, MINUTE)
        await tidied(other)
        assert await one.text("a.md") == "The second of them. " * 50

    town.run(work)


def test_what_cannot_be_taken_out_now_is_taken_out_another_time(
    town: Town, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise IndexUnavailableError("it sleeps")

    async def work(one: Engine, _: Engine) -> None:
        with overheard(one, monkeypatch) as sent:
            await one.add(town.file("a.md", "To be deleted. " * 50))
        assert (await one.delete("a.md")).clean
        await index_of(one).upsert(sent)
        pass_by(postgres, MINUTE)
        with monkeypatch.context() as patch:
            patch.setattr(index_of(one), "delete", away)
            await one.purge_again()
        await one.purge_again()
        assert (await one.doctor()).findings, "whoever took it may be at work"
        pass_by(postgres, 2 * MINUTE)
        await one.purge_again()
        assert not (await one.doctor()).findings

    town.run(work)


def test_what_is_done_stays_done_where_the_index_is_too_slow_for_the_rest(
    town: Town, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(one: Engine, _: Engine) -> None:
        for name in "abc":
            await one.add(town.file(f"{name}.md", f"{name} is to be deleted. " * 50))
        for name in "abc":
            await one.delete(f"{name}.md")
        pass_by(postgres, MINUTE)
        delete, calls = index_of(one).delete, 0

        async def slow(document: str, generations: Sequence[int] | None) -> None:
            nonlocal calls
            calls += 1
            if calls > 2:
                await asyncio.Event().wait()
            await delete(document, generations)

        with monkeypatch.context() as patch:
            patch.setattr(index_of(one), "delete", slow)
            await one.purge_again(seconds=10)
        assert calls == 3
        assert sorted(turns(postgres)) == [0, 1, 1]

    town.run(work)


def test_an_index_that_refuses_keeps_nobody_from_opening_the_library(
    town: Town, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise ProviderRefusedError("a wrong key")

    async def leave(one: Engine, _: Engine) -> None:
        await one.add(town.file("a.md", "Once. " * 50), town.file("b.md", "Twice. " * 50))
        await one.delete("a.md")
        with monkeypatch.context() as patch:
            patch.setattr(index_of(one), "delete", refused)
            with pytest.raises(ProviderRefusedError):
                await one.delete("b.md")

    async def look(one: Engine, _: Engine) -> None:
        assert await one.documents() == []
        await one.purge_again()

    town.run(leave)
    pass_by(postgres, MINUTE)
    assert len(turns(postgres)) == 1
    monkeypatch.setattr(LazyIndex, "delete", refused)
    town.run(look)
    assert turns(postgres) == [0]


@pytest.mark.parametrize(
    ("index", "far"),
    [
        ("edge", False),
        ("chroma", False),
        ("pgvector", True),
        ("qdrant:http://127.0.0.1:6333", True),
        ("chroma:http://127.0.0.1:8000", True),
    ],
)
def test_an_index_that_is_reached_over_a_network_is_far(index: str, *, far: bool) -> None:
    assert is_far(index) is far


def test_what_a_move_brings_again_is_not_taken_out_for_what_it_was(
    laptop: Settings,
    tmp_path: Path,
    postgres: str,
    qdrant_server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A backup brings a document back after it was deleted, with the numbers that it had."""
    backup = settings_in(tmp_path / "backup")
    shutil.copytree(laptop.home, backup.home)
    places = {"index": f"qdrant:{qdrant_server}", "blobs": f"folder:{tmp_path / 'originals'}"}
    (tmp_path / "originals").mkdir()
    service = replace(target_of(laptop, postgres, places, None), home=tmp_path / "service")

    async def delete() -> None:
        async with opened(laptop) as engine:
            await engine.delete("harbour.md")

    async def look_after() -> None:
        async with opened(service) as engine:
            await engine.purge_again()
            assert "harbour.md" in {one.name for one in await engine.documents()}
            assert not (await engine.doctor()).findings

    moved(laptop, service)
    asyncio.run(delete())
    assert moved(laptop, service).removed == 1
    assert turns(postgres) == [0]
    announced, announce = list[list[int]](), SqlRecords.announce

    async def noted(records: SqlRecords, unit: Unit, before: bytes | None) -> None:
        await announce(records, unit, before)
        announced.append(turns(postgres))

    monkeypatch.setattr(SqlRecords, "announce", noted)
    moved(backup, service)
    assert announced == [[]], "before any of it is written, nobody is to take it out"
    pass_by(postgres, MINUTE)
    asyncio.run(look_after())
