"""One question answered, as a stream of events: evidence first, then the answer, checked as it comes.

Whoever closes the stream stops the model. What cannot be had is said in the stream, and what is
left is the answer: other documents, no documents, quotes instead of a model's words.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from functools import partial

from unchunk.chat import keeping
from unchunk.chat.draft import Draft
from unchunk.chat.events import Done, Event, Finish, Planned, SourcesFound, Used, Warned
from unchunk.chat.events import gather as answer_of
from unchunk.chat.extractive import extract, write
from unchunk.chat.gathering import Gathered, size_of
from unchunk.chat.part_reading import PartPlan, PartReader
from unchunk.chat.parts import ChatParts
from unchunk.chat.preparing import Task, prepare, understood, used
from unchunk.chat.request import Asked, ChatRequest
from unchunk.chat.sent import Sent
from unchunk.domain import ConversationId, OwnerId
from unchunk.errors import MissingPartError, UnchunkError
from unchunk.ports import ChatModel

NO_MODEL = "No language model is set up. These are the sentences that answer best, word for word:"
IN_ITS_PLACE = "The model did not answer. These are the sentences that answer best, word for word:"
NOTHING = "Nothing was found in the documents that answers this."
NO_ROOM = "What was found in the documents is too long for the room that there is."
EXTRACTIVE = "extractive"


async def turn(
    parts: ChatParts, request: ChatRequest, owner: OwnerId, request_id: str = ""
) -> AsyncGenerator[Event, None]:
    """Raises only before the first event, and only for what cannot be asked at all."""
    request = await understood(parts, request)
    kept = await keeping.begin(parts.conversations, request, owner)
    asked = keeping.continued(request, kept.before if kept else None, owner, request_id)
    events: list[Event] = []
    outcome: Finish = "failed"
    unkept: Warned | None = None
    try:
        async with aclosing(_events(parts, asked, kept)) as stream:
            async for event in stream:
                events.append(event)
                if not isinstance(event, Done):
                    yield event
    except (GeneratorExit, asyncio.CancelledError):
        outcome = "stopped"
        raise
    finally:
        answer = answer_of(events, outcome)
        parts.telemetry.count(f"answers_{answer.finish}")
        if kept is not None:
            unkept = await keeping.end(parts.conversations, kept, asked, answer)
    if not isinstance(done := events[-1], Done):
        return
    if unkept is not None:
        yield unkept
    elif kept is not None:
        done = replace(done, conversation=kept.conversation.id, turn=await kept.number)
    yield done


@dataclass(slots=True)
class _Answering:
    """What is written, and what from; `reader` had parts of documents read for it."""

    task: Task
    draft: Draft
    reader: PartReader | None = None

    @property
    def used(self) -> Used:
        usage = self.reader.with_usage(self.draft.usage) if self.reader else self.draft.usage
        prompt, completion = usage or (None, None)
        return replace(used(self.task), prompt_tokens=prompt, completion_tokens=completion)


async def _events(
    parts: ChatParts, asked: Asked, kept: keeping.Kept | None
) -> AsyncGenerator[Event, None]:
    task = await _begun(parts, asked)
    if kept is not None:
        await keeping.noted(kept)
    for event in _beginning(task, asked, kept.conversation.id if kept else ""):
        yield event
    answering = _Answering(task, Draft(task.documents))
    async with aclosing(_by_model(parts, answering, asked)) as stream:
        async for event in stream:
            yield event
    draft = answering.draft
    if draft.is_empty and draft.error is None and task.found and task.found.failure:
        # Nobody can answer: no model, and no documents.
        for event in draft.fail(task.found.failure):
            yield event
    if draft.is_empty and task.found is not None:
        # Quotes are of the documents, whatever notes on them were read.
        draft = answering.draft = draft.anew(task.documents)
        for event in draft.quote(*await _instead(parts, asked, task.found, draft.error)):
            yield event
    if draft.is_empty and draft.error is not None:
        return
    for warning in draft.doubts():
        yield warning
    yield answering.used
    model = asked.request.sampling.model or (parts.model.name if parts.model else EXTRACTIVE)
    yield Done(draft.text, draft.finish, EXTRACTIVE if draft.is_quoted else model)


async def _begun(parts: ChatParts, asked: Asked) -> Task:
    """Documents that are to be read part by part are whole in what was found."""
    task = await prepare(parts, asked)
    return task if task.parts is None else replace(task, found=task.parts.found)


async def _by_model(
    parts: ChatParts, answering: _Answering, asked: Asked
) -> AsyncGenerator[Event, None]:
    """What the model says, if one is to be asked; its failure is an event, too."""
    if parts.model is None or answering.task.messages is None:
        if answering.task.found is None:
            error = MissingPartError("no documents are asked and no model is set up: set `chat`")
            for event in answering.draft.fail(error):
                yield event
        return
    if (plan := answering.task.parts) is not None:
        reader = PartReader(parts.model, plan, asked)
        async with aclosing(_by_parts(parts, reader, answering, plan)) as reading:
            async for event in reading:
                yield event
        if answering.draft.error is not None:
            return
    async with aclosing(_written(parts.model, answering, asked)) as writing:
        async for event in writing:
            yield event


async def _by_parts(
    parts: ChatParts, reader: PartReader, answering: _Answering, plan: PartPlan
) -> AsyncGenerator[Event, None]:
    """Have the parts read; the answer is then written from the notes, and cites what they cite."""
    async with aclosing(reader.events()) as stream:
        async for event in stream:
            yield event
    if reader.error is not None:
        for event in answering.draft.fail(reader.error):
            yield event
        return
    context = await asyncio.to_thread(reader.context)
    size = size_of(context.text, parts, plan.room)
    found = replace(plan.found, context=context, size=size)
    answering.task = replace(answering.task, messages=plan.assembled(context), found=found)
    answering.draft, answering.reader = Draft(reader.citable), reader


async def _written(
    model: ChatModel, answering: _Answering, asked: Asked
) -> AsyncGenerator[Event, None]:
    """The answer, as the model writes it."""
    draft, messages = answering.draft, answering.task.messages
    assert messages is not None
    sampling = asked.request.sampling
    try:
        async with model.stream(messages, sampling, request_id=asked.request_id) as deltas:
            async for delta in deltas:
                for event in draft.take(delta):
                    yield event
        for event in draft.end():
            yield event
        draft.check_said()
    except UnchunkError as error:
        for event in draft.fail(error):
            yield event


def _beginning(task: Task, asked: Asked, conversation: ConversationId) -> list[Event]:
    """All that is known before the first token."""
    if task.found is None or task.space is None:
        return [Planned(rag=False, conversation=conversation), *_left_out(asked.forgotten)]
    evidence = task.found.evidence
    events: list[Event] = [
        Planned(True, evidence.plan, conversation),
        SourcesFound(
            evidence.documents,
            tuple(asdict(one) for one in evidence.omitted),
            tuple(one._asdict() for one in evidence.also_see),
        ),
        *task.found.warnings,
        *_left_out(asked.forgotten + task.space.left_out),
    ]
    if not evidence.documents and not task.found.failure:
        said = NO_ROOM if evidence.omitted else NOTHING
        events.append(Warned("no-source", f"no source was used. {said}"))
    return events


def _left_out(messages: int) -> list[Warned]:
    if not messages:
        return []
    said = f"the first {messages} messages of the conversation were left out: it is too long"
    return [Warned("history", said)]


async def _instead(
    parts: ChatParts, asked: Asked, found: Gathered, error: UnchunkError | None
) -> tuple[str, Finish]:
    """An answer without a model: what the documents say, word for word."""
    documents = found.evidence.documents
    question = found.evidence.plan.search_text or asked.request.question
    similar = partial(parts.similarity, question) if parts.similarity else None
    quotes = await extract(question, documents, parts.lexicon, similarity=similar)
    if not quotes:
        if error is not None:
            return "", "failed"
        return NO_ROOM if found.evidence.omitted else NOTHING, "refused"
    return (
        f"{NO_MODEL if error is None else IN_ITS_PLACE}\n\n{write(quotes, Sent(documents))}",
        "extractive",
    )
