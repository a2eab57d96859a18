"""Two processes on one home with an index server: neither tidies away what the other works on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gates import hold, part
from servers import QdrantServer, qdrant
from unchunk.cli.main import main
from unchunk.engine import Engine
from unchunk.library import tidying
from unchunk.library.tidying import keep_tidy
from unchunk.settings import Settings
from unchunk.wiring import open_engine

TEXT = " ".join(f"Word {number} swims in a sea of words." for number in range(200))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as it:
        yield it


@pytest.fixture
def settings(tmp_path: Path, server: QdrantServer) -> Settings:
    return Settings(tmp_path / "home", embedder="hashing", index=f"qdrant:{server.url}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_text(TEXT, "utf-8")
    return path


async def tidy_for_a_while(engine: Engine) -> None:
    tidying = asyncio.create_task(keep_tidy(engine, engine.sharing.queue, every=0.01))
    await asyncio.sleep(0.3)
    assert not tidying.done()
    tidying.cancel()
    await asyncio.wait([tidying])


async def queued(engine: Engine) -> list[str]:
    return [it.name for it in await engine.sharing.queue.of("local", 9)]


@pytest.mark.parametrize("first_tidies", [True, False])
def test_what_another_process_writes_anew_is_not_purged(
    settings: Settings, source: Path, monkeypatch: pytest.MonkeyPatch, *, first_tidies: bool
) -> None:
    async def scene() -> None:
        async with await open_engine(settings) as first, await open_engine(settings) as second:
            one, other = (second, first) if first_tidies else (first, second)
            await one.add(source)
            writing = hold(monkeypatch, part(one, "index"), "upsert", after=True)
            rewriting = asyncio.create_task(one.reindex("a.md"))
            await writing.reached.wait()
            assert len(await other._parts.catalog.remains()) == 1
            await tidy_for_a_while(other)
            writing.opened.set()
            assert (await rewriting).documents == 1
            assert not (await one.doctor()).findings

    asyncio.run(scene())


def test_what_another_process_takes_in_is_not_adopted(
    settings: Settings, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "UNCLAIMED", 0.0)

    async def scene() -> None:
        async with await open_engine(settings) as one, await open_engine(settings) as other:
            writing = hold(monkeypatch, part(one, "index"), "upsert", after=True)
            adding = asyncio.create_task(one.add(source))
            await writing.reached.wait()
            await tidy_for_a_while(other)
            assert await queued(other) == []
            writing.opened.set()
            assert [it.result for it in await adding] == ["added"]

    asyncio.run(scene())


def test_what_a_process_left_is_tidied_away_when_it_is_gone(
    settings: Settings, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "UNCLAIMED", 0.0)

    async def scene() -> None:
        async with await open_engine(settings) as one:
            async with await open_engine(settings) as gone:
                await gone.add(source)
                [document] = await gone.documents()
                await gone._parts.catalog.next_generation(document.id)
                await gone.keep_file(source, "b.md")
                await tidy_for_a_while(one)
                assert len(await one._parts.catalog.remains()) == 1
            async with asyncio.timeout(30):
                while await one._parts.catalog.remains() or not await queued(one):
                    await tidy_for_a_while(one)
            assert await queued(one) == ["b.md"]

    asyncio.run(scene())


def test_a_worker_does_not_begin_beside_another_process(
    settings: Settings,
) -> None:
    environment = {"UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_INDEX": settings.index}
    arguments = ["--home", str(settings.home), "worker"]

    async def scene() -> Result:
        async with await open_engine(settings):
            return await asyncio.to_thread(CliRunner().invoke, main, arguments, env=environment)

    done = asyncio.run(scene())
    assert done.exit_code == 1
    assert "another process has the library" in done.output
