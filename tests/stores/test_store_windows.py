"""What was found is shown by the window that shows it best."""

from dataclasses import replace
from typing import cast

import pytest

from homes import Home
from shops import TIDES, bring
from unchunk.domain import ChunkingStrategy, Version
from unchunk.engine import Engine
from unchunk.errors import NotFoundError
from unchunk.ports import Catalog
from unchunk.stores.windows import WindowCache, best_window, words_of
from unchunk.text.token_windows import TokenWindows

TEXT = "".join(f"word{at:03} " for at in range(100))


def windows(*edges: tuple[int, int]) -> TokenWindows:
    begins, ends = zip(*edges, strict=True)
    return TokenWindows(begins, ends, {}, {})


def shown(among: TokenWindows, start: int, end: int, asked: str = "") -> int | None:
    return best_window(among, start, TEXT[start:end], words_of(asked))


def test_it_is_the_window_that_holds_most_of_it() -> None:
    assert shown(windows((0, 400), (400, 800)), 350, 500) == 1
    assert shown(windows((0, 400), (400, 800)), 300, 480) == 0


def test_of_several_that_hold_all_of_it_it_is_the_one_that_it_is_amid() -> None:
    overlapping = windows((0, 400), (100, 500), (200, 600), (300, 700))
    assert shown(overlapping, 380, 395) == 2
    assert shown(overlapping, 310, 330) == 1


def test_of_several_that_hold_as_much_it_is_the_one_with_the_words_that_were_asked_for() -> None:
    small = windows((0, 80), (80, 160), (160, 240), (240, 320))
    assert shown(small, 0, 320) == 1
    assert shown(small, 0, 320, "Where is WORD033 said, and where word034?") == 3
    # But not one that holds next to nothing of what was found.
    assert shown(small, 0, 250, "word030") == 1


def test_what_is_not_in_the_text_is_in_no_window() -> None:
    assert best_window(windows((0, 80), (80, 160)), 200, "elsewhere", words_of("")) is None


class Counting:
    """A catalog that counts how often a text is read."""

    def __init__(self, engine: Engine) -> None:
        self._catalog, self.read = engine.stores._catalog, 0

    async def text(self, version: Version) -> str:
        self.read += 1
        return await self._catalog.text(version)


def test_where_windows_lie_is_found_once_for_each_version_and_strategy(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await engine.exactly(await bring(engine, home, "a.txt", TIDES * 300))
        version, other = document.live, ChunkingStrategy("tokens", 100, 50)
        assert version
        counting = Counting(engine)
        cache = WindowCache(cast("Catalog", counting), kept=100)
        first = await cache.of(version, ChunkingStrategy())
        assert await cache.of(version, ChunkingStrategy()) is first
        assert counting.read == 1
        # So many windows are not kept.
        assert len(await cache.of(version, other)) > 50
        assert counting.read == 2
        await cache.of(version, ChunkingStrategy("tokens", 101, 50))
        await cache.of(version, ChunkingStrategy())
        assert counting.read == 4
        with pytest.raises(NotFoundError):
            await cache.of(replace(version, generation=99), other)

    home.run(work)
