"""What every keeper of prompts must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import pytest

from unchunk.errors import InvalidInputError
from unchunk.ports import Prompts

S = TypeVar("S", bound="PromptsContract")


def on_prompts(scene: Callable[[S, Prompts], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh keeper."""

    async def play(suite: S) -> None:
        async with suite.opened() as kept:
            await scene(suite, kept)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class PromptsContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[Prompts]:
        """Empty at first, and the same one each time within one test."""
        raise NotImplementedError

    @on_prompts
    async def test_there_is_no_prompt_until_one_is_set(self, kept: Prompts) -> None:
        assert await kept.prompt("me", "in") == ""
        assert await kept.prompts("me") == {}
        await kept.set_prompt("me", "in", "Be brief.")
        assert await kept.prompt("me", "in") == "Be brief."
        assert await kept.prompt("me", "") == await kept.prompt("me", "in/side") == ""

    @on_prompts
    async def test_each_owners_folder_has_its_own_and_the_last_one_counts(
        self, kept: Prompts
    ) -> None:
        for owner, folder, text in (
            ("me", "b", "old"),
            ("me", "", "Everywhere."),
            ("you", "b", "Yours."),
            ("me", "B", "Large."),
            ("me", "b", "Small."),
        ):
            await kept.set_prompt(owner, folder, text)
        mine = {"": "Everywhere.", "B": "Large.", "b": "Small."}
        assert await kept.prompts("me") == mine
        assert list(await kept.prompts("me")) == list(mine)
        assert {one: await kept.prompt("me", one) for one in mine} == mine
        assert await kept.prompts("you") == {"b": "Yours."}
        assert await kept.prompts("nobody") == {}
        assert await kept.prompt("nobody", "b") == ""

    @on_prompts
    async def test_an_empty_prompt_takes_it_away(self, kept: Prompts) -> None:
        for owner in ("me", "you"):
            await kept.set_prompt(owner, "in", "Be brief.")
        for _ in range(2):
            await kept.set_prompt("me", "in", "")
            assert await kept.prompts("me") == {}
            assert await kept.prompt("me", "in") == ""
        assert await kept.prompts("you") == {"in": "Be brief."}

    @on_prompts
    async def test_any_text_and_any_folder_can_be_kept(self, kept: Prompts) -> None:
        odd = "a\0b\ud800c\udc00\ud83d\ude00\U0001f600\r\n\ufeff"
        said = {odd: odd * 1000, "日本" * 5000: " ", "日本" * 5000 + "x": "x"}
        for folder, text in said.items():
            await kept.set_prompt("me", folder, text)
            assert await kept.prompt("me", folder) == text
        assert await kept.prompts("me") == said

    @on_prompts
    async def test_an_owner_that_cannot_be_kept_has_none(self, kept: Prompts) -> None:
        for owner in ("a\0", "\ud800"):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await kept.set_prompt(owner, "in", "Be brief.")
            assert await kept.prompt(owner, "in") == ""
            assert await kept.prompts(owner) == {}

    @on_prompts
    async def test_many_may_set_one_at_once(self, kept: Prompts) -> None:
        await asyncio.gather(*(kept.set_prompt("me", "in", str(at)) for at in range(12)))
        assert await kept.prompts("me") == {"in": await kept.prompt("me", "in")}
        assert await kept.prompt("me", "in") in map(str, range(12))

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as kept:
                await kept.set_prompt("me", "in", "Be brief.")
            async with self.opened() as kept:
                assert await kept.prompts("me") == {"in": "Be brief."}

        asyncio.run(scene())
