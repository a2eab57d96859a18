"""Why a question is answered as it is, and chunks that whoever asks wants in the answer."""

from dataclasses import replace

import pytest

from adapters.llm.scripted import answer
from chat.rooms import NIGHT, Room, events_of
from unchunk.chat.events import Answer, SourcesFound, gather
from unchunk.chat.explaining import Explanation
from unchunk.chat.request import MOST_INCLUDED, NEW, ChatRequest, Stretch, question
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError

KEEPER = "Who kept the lighthouse?"


def explained(room: Room, request: ChatRequest, *, model: str = "scripted") -> Explanation:
    return room.run(lambda engine: engine.explain(request), model=model)


def test_the_prompt_that_is_shown_is_the_one_that_is_sent(room: Room) -> None:
    request = ChatRequest(question(NIGHT))
    shown = explained(room, request)
    assert not room.server.asked
    room.answer(request)
    assert room.sent == list(shown.messages)
    assert shown.template == "context-first"
    assert shown.usage.context_size > 0
    assert shown.evidence is not None
    assert shown.evidence.found[0].ways


def test_without_a_model_the_prompt_is_shown_all_the_same(room: Room) -> None:
    shown = explained(room, ChatRequest(question(NIGHT)), model="")
    assert "22 euros" in str(shown.messages[-1]["content"])


def test_without_documents_the_messages_go_as_they_are(room: Room) -> None:
    shown = explained(room, ChatRequest(question(NIGHT), rag_enabled=False))
    assert shown.messages == question(NIGHT)
    assert shown.evidence is None
    assert (shown.template, shown.usage.context_size) == ("", 0)


def test_a_question_that_is_refused_for_want_of_evidence_has_no_prompt(room: Room) -> None:
    async def asked(engine: Engine) -> Explanation:
        await engine.delete("harbour.md")
        await engine.delete("lighthouse.md")
        return await engine.explain(ChatRequest(question(NIGHT), strict=True))

    assert room.run(asked).messages == ()


def test_what_was_said_before_is_known_and_nothing_is_kept(room: Room) -> None:
    room.server.script.append(answer("22 euros."))

    async def scene(engine: Engine) -> None:
        first = gather(await events_of(engine, ChatRequest(question(NIGHT), NEW)))
        shown = await engine.explain(
            ChatRequest(question("And for longer ones?"), first.conversation)
        )
        assert [one["role"] for one in shown.messages][-3:] == ["user", "assistant", "user"]
        assert shown.evidence is not None
        assert shown.evidence.plan.follow_up
        _, turns = await engine.conversation(first.conversation)
        assert len(turns) == 1
        await engine.explain(ChatRequest(question(NIGHT), NEW))
        assert len(await engine.conversations()) == 1
        with pytest.raises(NotFoundError):
            await engine.explain(ChatRequest(question(NIGHT), first.conversation), owner="other")

    room.run(scene)


def test_every_turn_of_a_conversation_is_shown_the_prompt_that_it_was_sent(room: Room) -> None:
    async def scene(engine: Engine) -> None:
        harbour = (await engine.document("harbour.md")).id
        lighthouse = (await engine.document("lighthouse.md")).id
        stretch = Stretch(lighthouse, 1, 1)
        asked = [
            ChatRequest(question(NIGHT), NEW, mode="passages"),
            # Leans on the evidence that the answer before it cites.
            ChatRequest(question("And for longer ones?"), include=(stretch,)),
            ChatRequest(question("Who works the crane?")),
        ]
        conversation = NEW
        for request in asked:
            room.server.script.append(answer(f"So it is said [{harbour}:0]."))
            done = await engine.ask(replace(request, conversation=conversation))
            conversation = done.conversation
        sent = [one.body["messages"] for one in room.server.asked]
        for number, request in enumerate(asked):
            shown = await engine.explain(
                replace(request, conversation=conversation), before_turn=number
            )
            assert list(shown.messages) == sent[number]
        shown = await engine.explain(replace(asked[1], conversation=conversation), before_turn=1)
        assert shown.evidence is not None
        assert (harbour, 0) in shown.evidence.plan.carried
        for later in (3, 99):
            shown = await engine.explain(
                ChatRequest(question("And so?"), conversation), before_turn=later
            )
            assert str(shown.messages).count("So it is said") == 3

    room.run(scene)


def test_of_a_long_conversation_an_old_turn_is_shown_what_was_read_then(room: Room) -> None:
    async def scene(engine: Engine) -> None:
        done = await engine.ask(ChatRequest(question("Question 0?"), NEW, rag_enabled=False))
        for number in range(1, 30):
            request = ChatRequest(
                question(f"Question {number}?"), done.conversation, rag_enabled=False
            )
            await engine.ask(request)
        for number in (0, 2, 26, 29):
            shown = await engine.explain(
                ChatRequest(question(f"Question {number}?"), done.conversation, rag_enabled=False),
                before_turn=number,
            )
            assert list(shown.messages) == room.server.asked[number].body["messages"]

    room.run(scene)


@pytest.mark.parametrize("conversation", ["", NEW])
def test_a_turn_of_no_conversation_cannot_be_explained(room: Room, conversation: str) -> None:
    with pytest.raises(InvalidInputError, match="conversation"):
        room.run(
            lambda engine: engine.explain(ChatRequest(question(NIGHT), conversation), before_turn=0)
        )


def test_what_cannot_be_asked_cannot_be_explained(room: Room) -> None:
    with pytest.raises(InvalidInputError, match="empty"):
        explained(room, ChatRequest(question(" ")))


def test_chunks_that_are_to_be_included_are_evidence_whatever_is_found(room: Room) -> None:
    async def asked(engine: Engine) -> tuple[str, Answer, Answer]:
        harbour = (await engine.document("harbour.md")).id
        plain = await engine.ask(ChatRequest(question(KEEPER)))
        wanted = ChatRequest(question(KEEPER), include=(Stretch(harbour, 1, 1),))
        return harbour, plain, await engine.ask(wanted)

    harbour, plain, more = room.run(asked)
    assert harbour not in hits(plain)
    assert 1 in hits(more)[harbour]
    assert more.plan is not None
    assert more.plan.plan is not None
    assert "with chunks that were asked for" in more.plan.plan.reasons


def test_another_owners_chunks_and_those_that_are_not_there_cannot_be_included(room: Room) -> None:
    async def asked(engine: Engine) -> Answer:
        await engine.add(room.home.file("secret.md", "The safe opens with 4711."), owner="other")
        secret = (await engine.document("secret.md", owner="other")).id
        harbour = (await engine.document("harbour.md")).id
        stretches = (Stretch(secret, 0, 5), Stretch(harbour, 90, 99), Stretch("nobody", 0, 0))
        return await engine.ask(ChatRequest(question(KEEPER), include=stretches))

    found = room.run(asked)
    assert "4711" not in str(found.as_dict())
    assert all(max(indices) < 90 for indices in hits(found).values())


def test_a_kept_answer_tells_what_it_was_asked_with(room: Room) -> None:
    async def asked(engine: Engine) -> tuple[object, object]:
        harbour = (await engine.document("harbour.md")).id
        stretch = Stretch(harbour, 1, 1)
        wanted = ChatRequest(question(KEEPER), NEW, mode="passages", include=(stretch,))
        first = await engine.ask(wanted)
        plain = ChatRequest(question("And who else?"), first.conversation, rag_enabled=False)
        await engine.ask(plain)
        _, turns = await engine.conversation(first.conversation)
        said = [one.answered.record["asked"] for one in turns]
        return said, [{"mode": "passages", "include": [stretch._asdict()]}, {"rag_enabled": False}]

    said, meant = room.run(asked)
    assert said == meant


def test_more_chunks_than_are_sensible_cannot_be_included() -> None:
    with pytest.raises(InvalidInputError, match="at most"):
        ChatRequest(question(NIGHT), include=(Stretch("d", 0, MOST_INCLUDED),))


def hits(answered: Answer) -> dict[str, set[int]]:
    sources: SourcesFound = answered.sources
    return {one.document: {hit.chunk_index for hit in one.chunks} for one in sources.documents}
