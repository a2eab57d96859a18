"""A document is replaced while somebody reads it: what is read is all of one version."""

from pathlib import Path
from typing import Any

import pytest

from homes import Home
from unchunk.engine import Engine
from unchunk.errors import NotFoundError

SHORT = "The tide comes in. " * 20
LONG = "The ferry leaves at noon, and the harbour is quiet. " * 200


def replacing(engine: Engine, method: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just before the catalog is asked for the first time, another version goes live."""
    catalog: Any = engine._parts.catalog
    real = getattr(catalog, method)
    asked: list[None] = []

    async def meanwhile(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - its own
        if not asked:
            asked.append(None)
            await engine.add(home.file("tides.txt", LONG))
        return await real(*arguments, **options)

    monkeypatch.setattr(type(catalog), method, staticmethod(meanwhile))


def test_the_text_is_all_of_the_version_that_took_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)

    async def scene(engine: Engine) -> None:
        await engine.add(home.file("tides.txt", SHORT))
        replacing(engine, "text", home, monkeypatch)
        document, start, text = await engine.cut("tides.txt", lambda length: (0, length))
        assert (start, text) == (0, LONG)
        assert document.live is not None
        assert document.live.text_length == len(LONG)

    home.run(scene)


def test_chunks_are_all_of_the_version_that_took_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)

    async def scene(engine: Engine) -> None:
        await engine.add(home.file("tides.txt", SHORT))
        replacing(engine, "open", home, monkeypatch)
        opened = await engine.opened("tides.txt")
        assert len(opened.chunks) == opened.version.chunk_count > 5
        assert "".join(text for _, text in opened.chunks.values()).startswith("The ferry")

    home.run(scene)


def test_what_is_not_kept_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    asked: list[None] = []

    async def gone(*_: object) -> str:
        asked.append(None)
        raise NotFoundError("it is not kept")

    async def scene(engine: Engine) -> None:
        await engine.add(home.file("tides.txt", SHORT))
        monkeypatch.setattr(type(engine._parts.catalog), "text", gone)
        with pytest.raises(NotFoundError, match="not kept"):
            await engine.text("tides.txt")

    home.run(scene)
    assert len(asked) == 1
