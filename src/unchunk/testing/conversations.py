"""What every keeper of conversations must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import pytest

from unchunk.domain import Answered, ChatTurn, Conversation, OwnerId
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Conversations

S = TypeVar("S", bound="ConversationsContract")

ODD = "a\0b\ud800c\udc00\ud83d\ude00\U0001f600\r\n\ufeff"
PENDING = Answered("", "pending")


def on_conversations(
    scene: Callable[[S, Conversations], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with a fresh keeper."""

    async def play(suite: S) -> None:
        async with suite.opened() as kept:
            await scene(suite, kept)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def several(kept: Conversations, count: int, owner: OwnerId = "me") -> list[Conversation]:
    return [await kept.start(owner, title=str(number)) for number in range(count)]


async def every_page(kept: Conversations, limit: int, owner: OwnerId = "me") -> list[str]:
    found: list[str] = []
    while page := await kept.recent(owner, limit, found[-1] if found else None):
        assert len(page) <= limit
        found += [one.id for one in page]
    return found


class ConversationsContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[Conversations]:
        """Empty at first, and the same one each time within one test."""
        raise NotImplementedError

    # Asking and answering.

    @on_conversations
    async def test_a_conversation_begins_without_a_word(self, kept: Conversations) -> None:
        begun = await kept.start("me", title="Whales", folder="sea")
        assert (begun.owner, begun.title, begun.folder) == ("me", "Whales", "sea")
        assert begun.turn_count == 0
        assert begun.created_at == begun.updated_at
        assert begun.created_at.utcoffset() is not None
        assert await kept.get("me", begun.id) == begun
        assert await kept.turns("me", begun.id) == []
        bare = await kept.start("me")
        assert (bare.title, bare.folder) == ("", "")
        assert bare.id != begun.id

    @on_conversations
    async def test_what_was_said_is_kept_in_order(self, kept: Conversations) -> None:
        talk = (await kept.start("me")).id
        given = Answered(
            "Forty tons [d:3].",
            "complete",
            (("d", 3), ("d", 4)),
            {"model": "m", "plan": {"mode": "passages", "reasons": []}, "scores": [0.5, None]},
        )
        assert await kept.ask("me", talk, "How heavy is a whale?") == 0
        assert [one.answered for one in await kept.turns("me", talk)] == [PENDING]
        await kept.answer("me", talk, 0, given)
        assert await kept.ask("me", talk, "And its calf?") == 1
        first, second = await kept.turns("me", talk)
        assert first == ChatTurn(0, "How heavy is a whale?", first.asked_at, given)
        assert second == ChatTurn(1, "And its calf?", second.asked_at, PENDING)
        assert first.asked_at <= second.asked_at
        assert first.asked_at.utcoffset() is not None
        assert (await kept.get("me", talk)).turn_count == 2

    @on_conversations
    async def test_the_last_turns_can_be_had_alone(self, kept: Conversations) -> None:
        talk = (await kept.start("me")).id
        for number in range(12):
            await kept.ask("me", talk, str(number))

        async def asked(last: int | None) -> list[int]:
            turns = await kept.turns("me", talk, last)
            assert [it.question for it in turns] == [str(it.number) for it in turns]
            return [it.number for it in turns]

        assert await asked(None) == await asked(12) == await asked(99) == [*range(12)]
        assert await asked(3) == [9, 10, 11]
        assert await asked(0) == await asked(-1) == []

    @on_conversations
    async def test_an_answer_can_be_given_again_and_the_last_one_counts(
        self, kept: Conversations
    ) -> None:
        talk = (await kept.start("me")).id
        number = await kept.ask("me", talk, "Why?")
        for given in (
            Answered("It is", "stopped", (("d", 1),), {"a": 1}),
            Answered("", "failed", (), {"error": "down"}),
            Answered("It is so.", "complete"),
        ):
            await kept.answer("me", talk, number, given)
            assert [one.answered for one in await kept.turns("me", talk)] == [given]

    @on_conversations
    async def test_an_answer_to_nothing_changes_nothing(self, kept: Conversations) -> None:
        talk, gone = (await kept.start("me")).id, (await kept.start("me")).id
        await kept.ask("me", talk, "Why?")
        before, said = await kept.get("me", talk), await kept.turns("me", talk)
        await kept.ask("me", gone, "Why?")
        await kept.delete("me", gone)
        given = Answered("Because.", "complete")
        for owner, conversation, number in (
            ("me", gone, 0),
            ("me", "nobody", 0),
            ("me", talk, 1),
            ("me", talk, -1),
            ("me", talk, 2**40),
            ("you", talk, 0),
            ("me\0", talk, 0),
        ):
            await kept.answer(owner, conversation, number, given)
        assert await kept.get("me", talk) == before
        assert await kept.turns("me", talk) == said
        assert await kept.recent("me") == [before]

    @on_conversations
    async def test_what_nobody_answers_any_more_is_interrupted(self, kept: Conversations) -> None:
        talk = (await kept.start("me")).id
        given = Answered("Because.", "complete")
        await kept.answer("me", talk, await kept.ask("me", talk, "Why?"), given)
        await kept.ask("me", talk, "And then?")
        assert await kept.abandon() == 1
        assert await kept.abandon() == 0
        first, second = await kept.turns("me", talk)
        assert first.answered == given
        assert second.answered.status == "interrupted"

    @on_conversations
    async def test_numbers_have_no_holes_and_no_doubles_whoever_asks(
        self, kept: Conversations
    ) -> None:
        talks = await several(kept, 2)
        numbers = await asyncio.gather(
            *(kept.ask("me", talks[at % 2].id, str(at)) for at in range(60))
        )
        for parity, talk in enumerate(talks):
            assert sorted(numbers[parity::2]) == [*range(30)]
            turns = await kept.turns("me", talk.id)
            assert [it.number for it in turns] == [*range(30)]
            assert {it.question: it.number for it in turns} == {
                str(at): numbers[at] for at in range(parity, 60, 2)
            }
            assert (await kept.get("me", talk.id)).turn_count == 30

    @on_conversations
    async def test_a_record_that_is_no_json_is_refused(self, kept: Conversations) -> None:
        talk = (await kept.start("me")).id
        await kept.ask("me", talk, "Why?")
        records: list[Any] = [{"score": float("nan")}, {"it": object()}, {1: 2}, []]
        for record in records:
            with pytest.raises(InvalidInputError, match="record"):
                await kept.answer("me", talk, 0, Answered("So.", "complete", (), record))
        assert [one.answered for one in await kept.turns("me", talk)] == [PENDING]

    # Titles.

    @on_conversations
    async def test_a_conversation_without_a_title_is_called_by_its_first_question(
        self, kept: Conversations
    ) -> None:
        word = "Donaudampfschifffahrt" * 9
        for question, title in (
            ("How heavy is a whale?", "How heavy is a whale?"),
            ("\n \t\nHow  heavy\tis a whale?\r\nI ask for a friend.", "How heavy is a whale?"),
            ("whale " * 10 + "and", "whale " * 9 + "whale…"),
            ("x" * 60, "x" * 60),
            (word, word[:59] + "…"),
            ("a " + word, ("a " + word)[:59] + "…"),
            ("日本" * 40, ("日本" * 40)[:59] + "…"),
            (" \n ", ""),
        ):
            talk = (await kept.start("me")).id
            await kept.ask("me", talk, question)
            found = await kept.get("me", talk)
            assert found.title == title
            assert len(found.title) <= 60
            if title:
                await kept.ask("me", talk, "Something else")
                assert (await kept.get("me", talk)).title == title

    @on_conversations
    async def test_a_title_that_was_given_stays(self, kept: Conversations) -> None:
        talk = (await kept.start("me", title="Whales")).id
        await kept.ask("me", talk, "How heavy?")
        assert (await kept.get("me", talk)).title == "Whales"
        before = await kept.get("me", talk)
        renamed = await kept.rename("me", talk, "Weights " * 50)
        assert renamed.title == "Weights " * 50
        assert renamed == await kept.get("me", talk)
        assert renamed.updated_at == before.updated_at, "nothing was said"
        assert (await kept.rename("me", talk, "")).title == "How heavy?"
        fresh = (await kept.start("me", title="Fresh")).id
        assert (await kept.rename("me", fresh, "")).title == ""

    # Which there are.

    @on_conversations
    async def test_the_newest_come_first_by_when_something_was_last_said(
        self, kept: Conversations
    ) -> None:
        first, second, third = [one.id for one in await several(kept, 3)]

        async def order() -> list[str]:
            return [one.id for one in await kept.recent("me")]

        async def later() -> None:
            """Until the clock has moved on."""
            await asyncio.sleep(0.002)

        await later()
        await kept.ask("me", first, "Why?")
        assert (await order())[0] == first
        await later()
        await kept.ask("me", third, "Why?")
        await later()
        await kept.answer("me", first, 0, Answered("So.", "complete"))
        await kept.rename("me", second, "Another name")
        assert await order() == [first, third, second]
        for one in await kept.recent("me"):
            assert one == await kept.get("me", one.id)
            assert one.updated_at >= one.created_at

    @on_conversations
    async def test_pages_hold_each_conversation_once_though_many_are_as_old(
        self, kept: Conversations
    ) -> None:
        # All at once: some in the same instant.
        begun = await asyncio.gather(*(kept.start("me") for _ in range(40)))
        await several(kept, 3, "you")
        whole = [one.id for one in await kept.recent("me", 100)]
        assert sorted(whole) == sorted(one.id for one in begun)
        for limit in (1, 3, 20, 40, 99):
            assert await every_page(kept, limit) == whole
        assert await kept.recent("me", 0) == await kept.recent("me", -1) == []
        assert await kept.recent("nobody") == []

    @on_conversations
    async def test_what_is_said_between_two_pages_hides_nothing(self, kept: Conversations) -> None:
        ids = [one.id for one in reversed(await several(kept, 20))]
        still = ids[::2]
        # Those that were seen, those to come, and the last one seen, behind which the next page is.
        for spoken_in in (ids[1], ids[15], ids[7]):
            seen = [one.id for one in await kept.recent("me", 8)]
            await asyncio.sleep(0.002)
            await kept.ask("me", spoken_in, "Anything new?")
            moved_away = spoken_in == seen[-1]
            while page := await kept.recent("me", 8, seen[-1]):
                seen += [one.id for one in page]
            assert set(still) <= set(seen)
            if not moved_away:
                assert len(set(seen)) == len(seen)

    @on_conversations
    async def test_a_page_cannot_begin_behind_what_is_not_there(self, kept: Conversations) -> None:
        theirs = (await kept.start("you")).id
        gone = (await kept.start("me")).id
        await kept.delete("me", gone)
        for before in (theirs, gone, "nobody", "\0", "\ud800"):
            with pytest.raises(NotFoundError):
                await kept.recent("me", 5, before)

    # Whose they are, and going.

    @on_conversations
    async def test_another_owners_conversation_is_not_there(self, kept: Conversations) -> None:
        mine = await kept.start("me", title="Secret")
        await kept.ask("me", mine.id, "Why?")
        before, said = await kept.get("me", mine.id), await kept.turns("me", mine.id)
        uses: list[Callable[[str], Coroutine[None, None, object]]] = [
            lambda it: kept.get("you", it),
            lambda it: kept.turns("you", it),
            lambda it: kept.turns("you", it, 0),
            lambda it: kept.ask("you", it, "Why?"),
            lambda it: kept.rename("you", it, "Mine now"),
            lambda it: kept.delete("you", it),
            lambda it: kept.recent("you", 5, it),
        ]
        for use in uses:
            messages = []
            for name in (mine.id, "nobody", "\0", "half\ud800"):
                with pytest.raises(NotFoundError) as refused:
                    await use(name)
                messages.append(str(refused.value).replace(repr(name), "it"))
            assert len(set(messages)) == 1
        assert await kept.recent("you") == []
        for nobody in ("me\0", "\ud800"):
            assert await kept.recent(nobody) == []
            with pytest.raises(NotFoundError):
                await kept.get(nobody, mine.id)
        assert (await kept.get("me", mine.id), await kept.turns("me", mine.id)) == (before, said)

    @on_conversations
    async def test_a_deleted_conversation_is_not_there(self, kept: Conversations) -> None:
        gone, other = await several(kept, 2)
        for one in (gone, other):
            await kept.ask("me", one.id, "Why?")
        await kept.delete("me", gone.id)
        for use in (kept.get, kept.turns, kept.delete):
            with pytest.raises(NotFoundError):
                await use("me", gone.id)
        with pytest.raises(NotFoundError):
            await kept.ask("me", gone.id, "Still there?")
        assert [one.id for one in await kept.recent("me")] == [other.id]
        assert len(await kept.turns("me", other.id)) == 1

    @on_conversations
    async def test_asking_and_deleting_at_once_leaves_all_or_nothing(
        self, kept: Conversations
    ) -> None:
        talk = (await kept.start("me")).id
        asked = [kept.ask("me", talk, str(number)) for number in range(8)]
        done = await asyncio.gather(*asked, kept.delete("me", talk), return_exceptions=True)
        numbers = [it for it in done[:-1] if isinstance(it, int)]
        assert sorted(numbers) == [*range(len(numbers))]
        assert all(isinstance(it, (int, NotFoundError)) for it in done[:-1])
        assert await kept.recent("me") == []

    # Any text.

    @on_conversations
    async def test_people_and_models_may_say_anything(self, kept: Conversations) -> None:
        long = ODD * 100_000
        begun = await kept.start("日本 ß 😀", title=ODD, folder=ODD)
        assert (begun.title, begun.folder) == (ODD, ODD)
        owner, talk = begun.owner, begun.id
        given = Answered(long, "complete", ((ODD, 1),), {ODD: [ODD, {"deep": ODD}]})
        await kept.ask(owner, talk, long)
        await kept.answer(owner, talk, 0, given)
        [turn] = await kept.turns(owner, talk)
        assert turn.question == long
        assert turn.answered == given
        found = await kept.get(owner, talk)
        assert (found.title, found.folder) == (ODD, ODD)
        assert (await kept.rename(owner, talk, f"{ODD} again")).title == f"{ODD} again"

    @on_conversations
    async def test_an_owner_that_cannot_be_kept_is_refused(self, kept: Conversations) -> None:
        for owner in ("a\0", "\ud800"):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await kept.start(owner)

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as kept:
                talk, gone = await several(kept, 2)
                await kept.ask("me", talk.id, "Why?")
                await kept.answer("me", talk.id, 0, Answered("So.", "complete", (("d", 1),)))
                await kept.ask("me", talk.id, "And then?")
                await kept.delete("me", gone.id)
                found, said = await kept.recent("me"), await kept.turns("me", talk.id)
            async with self.opened() as kept:
                assert await kept.recent("me") == found
                assert await kept.turns("me", talk.id) == said
                assert await kept.ask("me", talk.id, "Go on.") == 2

        asyncio.run(scene())
