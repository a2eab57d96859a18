"""Conversations: kept per owner, understood across restarts, with the evidence of every answer."""

import asyncio
from contextlib import aclosing

import pytest

from adapters.llm.scripted import answer
from chat.rooms import NIGHT, Room, events_of
from gates import break_off
from unchunk.chat.events import Done, Planned, Token, gather
from unchunk.chat.request import NEW, ChatRequest, question
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError, OutputError
from unchunk.ports import Sampling
from unchunk.retrieval.shelf import Where


async def said(engine: Engine, text: str, conversation: str = NEW, **more: object) -> Done:
    request = ChatRequest(question(text), conversation, **more)  # type: ignore[arg-type]  # as given
    done = (await events_of(engine, request))[-1]
    assert isinstance(done, Done)
    return done


def test_a_question_without_a_conversation_is_not_kept(room: Room) -> None:
    async def ask(engine: Engine) -> int:
        await events_of(engine, NIGHT)
        return len(await engine.conversations())

    assert room.run(ask) == 0


def test_a_turn_records_its_answer_and_which_evidence_it_used(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        document = (await engine.document("harbour.md")).id
        room.server.script.append(answer(f"22 euros [{document}:0]."))
        done = await said(engine, NIGHT)
        assert done.turn == 0
        conversation, [turn] = await engine.conversation(done.conversation)
        assert conversation.title == NIGHT
        assert turn.question == NIGHT
        assert turn.answered.answer == done.answer
        assert turn.answered.status == "complete"
        assert turn.answered.cited == ((document, 0),)
        record = turn.answered.record
        assert isinstance(record["sources"], list)
        [source] = record["sources"]
        assert source["document"] == document
        assert "text" not in source["passages"][0]
        assert record["citations"]
        assert record["plan"]

    room.run(ask)


def test_the_model_hears_what_was_said_before(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        first = await said(engine, NIGHT)
        await said(engine, "And who works the crane?", first.conversation)

    room.run(ask)
    before, reply, now = room.sent
    assert (before["role"], before["content"]) == ("user", NIGHT)
    assert (reply["role"], reply["content"]) == ("assistant", "The pilot boards at the outer buoy.")
    assert "crane" in now["content"]


def test_a_follow_up_carries_the_evidence_of_the_last_answer_over_a_restart(room: Room) -> None:
    async def first(engine: Engine) -> tuple[str, str]:
        document = (await engine.document("lighthouse.md")).id
        room.server.script.append(answer(f"In 1871 [{document}:0]."))
        return (await said(engine, "When was the lamp lit?")).conversation, document

    conversation, document = room.run(first)

    async def second(engine: Engine) -> Planned:
        request = ChatRequest(question("Tell me more about it"), conversation)
        events = await events_of(engine, request)
        assert document in {one.document for one in gather(events).sources.documents}
        [plan] = [one for one in events if isinstance(one, Planned)]
        return plan

    plan = room.run(second).plan
    assert plan is not None
    assert plan.follow_up
    assert plan.carried == ((document, 0),)
    assert plan.mode == "full documents"


def test_an_answer_that_was_stopped_is_kept_as_far_as_it_went(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        request = ChatRequest(question(NIGHT), NEW, sampling=Sampling("stream:2000:0.01"))
        async with aclosing(engine.chat(request)) as stream:
            async for event in stream:
                if isinstance(event, Token):
                    break
        [conversation] = await engine.conversations()
        _, [turn] = await engine.conversation(conversation.id)
        assert turn.answered.status == "stopped"
        assert turn.answered.answer == " word"

    room.run(ask)


def test_an_answer_that_failed_is_kept_as_that(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        await said(engine, NIGHT, sampling=Sampling("cut"))
        [conversation] = await engine.conversations()
        _, [turn] = await engine.conversation(conversation.id)
        assert turn.answered.status == "failed"
        assert turn.answered.answer == "The pilot boards"

    room.run(ask)


def test_a_conversation_begun_in_a_folder_stays_there(room: Room) -> None:
    async def ask(engine: Engine) -> list[str]:
        text = "A night in jail costs a hundred euros."
        await engine.add(room.home.file("law.txt", text), folder="law")
        first = await said(engine, NIGHT, where=Where(folders=("law",)))
        request = ChatRequest(question("What does a night cost?"), first.conversation)
        found = gather(await events_of(engine, request))
        return [one.name for one in found.sources.documents]

    assert room.run(ask) == ["law.txt"]


def test_another_owners_conversation_is_not_there(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        mine = (await said(engine, NIGHT)).conversation
        request = ChatRequest(question("More?"), mine)
        for attempt in (
            events_of(engine, request, owner="other"),
            engine.conversation(mine, owner="other"),
            engine.rename_conversation(mine, "x", owner="other"),
            engine.delete_conversation(mine, owner="other"),
        ):
            with pytest.raises(NotFoundError):
                await attempt
        assert await engine.conversations(owner="other") == []
        _, turns = await engine.conversation(mine)
        assert len(turns) == 1

    room.run(ask)


def test_a_conversation_can_be_listed_renamed_and_deleted(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        mine = (await said(engine, NIGHT)).conversation
        assert (await engine.rename_conversation(mine, "Fees")).title == "Fees"
        [listed] = await engine.conversations()
        assert (listed.title, listed.turn_count) == ("Fees", 1)
        await engine.delete_conversation(mine)
        assert await engine.conversations() == []

    room.run(ask)


def test_a_conversation_that_is_deleted_amid_an_answer_harms_nobody(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        mine = (await said(engine, NIGHT)).conversation
        request = ChatRequest(question("More?"), mine, sampling=Sampling("slow"))
        async with aclosing(engine.chat(request)) as stream:
            async for event in stream:
                if isinstance(event, Token):
                    await engine.delete_conversation(mine)
                    break
            rest = [event async for event in stream]
        assert isinstance(rest[-1], Done)

    room.run(ask)


def test_two_questions_at_once_in_one_conversation_are_both_kept(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        mine = (await said(engine, NIGHT)).conversation
        done = await asyncio.gather(*(said(engine, f"More {n}?", mine) for n in range(5)))
        assert sorted(one.turn or 0 for one in done) == [1, 2, 3, 4, 5]
        _, turns = await engine.conversation(mine)
        assert [one.number for one in turns] == list(range(6))

    room.run(ask)


def test_a_model_may_complete_a_follow_up(room: Room) -> None:
    async def ask(engine: Engine) -> Planned:
        first = await said(engine, "When was the lamp of the lighthouse lit?")
        room.server.script.append(answer("Who kept the lighthouse?"))
        events = await events_of(
            engine, ChatRequest(question("And who kept it?"), first.conversation)
        )
        [plan] = [one for one in events if isinstance(one, Planned)]
        return plan

    plan = room.run(ask, rewrite="true").plan
    assert plan is not None
    assert plan.search_text == "Who kept the lighthouse?"
    assert "searched for as a model rewrote it" in plan.reasons


def test_a_model_that_cannot_complete_a_follow_up_does_not_keep_it_from_an_answer(
    room: Room,
) -> None:
    async def ask(engine: Engine) -> list[str]:
        first = await said(engine, "When was the lamp of the lighthouse lit?")
        request = ChatRequest(question("And who kept it?"), first.conversation)
        room.server.script.append(_refused)
        found = gather(await events_of(engine, request))
        assert found.finish == "stop"
        return [one.code for one in found.warnings]

    assert "rewrite" in room.run(ask, rewrite="true")


async def _refused(exchange: object) -> None:
    await exchange.reply(401, {"error": {"message": "no"}})  # type: ignore[attr-defined]  # it has


def test_the_conversation_is_told_with_the_first_event_so_that_a_stop_does_not_lose_it(
    room: Room,
) -> None:
    async def ask(engine: Engine) -> None:
        request = ChatRequest(question(NIGHT), NEW, sampling=Sampling("stream:2000:0.01"))
        async with aclosing(engine.chat(request)) as stream:
            first = await anext(stream)
        assert isinstance(first, Planned)
        [kept] = await engine.conversations()
        assert first.conversation == kept.id

    room.run(ask)


def test_a_failure_tells_the_conversation_that_it_is_kept_in(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        request = ChatRequest(question("Quetzalcoatl?"), NEW, sampling=Sampling("busy"))
        found = gather(await events_of(engine, request))
        [kept] = await engine.conversations()
        assert found.error is not None
        assert found.conversation == kept.id

    room.run(ask)


def test_a_long_conversation_says_what_the_model_does_not_hear(room: Room) -> None:
    async def ask(engine: Engine) -> list[str]:
        conversation = NEW
        for number in range(26):
            conversation = (await said(engine, f"Number {number}?", conversation)).conversation
        found = gather(await events_of(engine, ChatRequest(question("And?"), conversation)))
        return [one.message for one in found.warnings if one.code == "history"]

    [message] = room.run(ask)
    assert "first 4 messages" in message
    assert room.sent[0]["content"] == "Number 2?"


def test_what_a_kept_conversation_knows_is_not_said_twice(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        first = await said(engine, NIGHT)
        again = (
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": NIGHT},
            {"role": "assistant", "content": "The pilot boards at the outer buoy."},
            {"role": "user", "content": "And the crane?"},
        )
        await events_of(engine, ChatRequest(again, first.conversation))

    room.run(ask)
    assert [one["role"] for one in room.sent] == ["system", "user", "assistant", "user"]


def test_an_answer_that_cannot_be_kept_is_still_an_answer_and_says_so(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(engine: Engine) -> None:
        for method in ("answer", "ask"):
            with monkeypatch.context() as patch:
                kept = engine._answering.conversations
                break_off(patch, kept, method, OutputError("the disk is full"))
                events = await events_of(engine, ChatRequest(question(NIGHT), NEW))
            found = gather(events)
            assert isinstance(events[-1], Done)
            assert found.answer == "The pilot boards at the outer buoy."
            assert found.turn is None
            assert "not-kept" in [one.code for one in found.warnings]

    room.run(ask)


def test_a_question_that_is_refused_begins_no_conversation(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        with pytest.raises(InvalidInputError):
            await events_of(engine, ChatRequest(question("blah " * 3000), NEW))
        assert await engine.conversations() == []

    room.run(ask, chat_window=1000)


def test_a_question_that_a_crash_interrupted_is_called_that_after_a_restart(room: Room) -> None:
    async def crash(engine: Engine) -> str:
        kept = engine._answering.conversations
        conversation = (await kept.start("local")).id
        await kept.ask("local", conversation, NIGHT)
        return conversation

    conversation = room.run(crash)

    async def look(engine: Engine) -> str:
        _, [turn] = await engine.conversation(conversation)
        return turn.answered.status

    assert room.run(look) == "interrupted"
