"""Documents that are longer than a prompt, read part by part by the model that answers.

Where a question is about all of a document of which only an excerpt fits, its text is cut into
parts at the borders of chunks. The model writes notes on each part by itself, and the answer is
written from the notes.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil

from unchunk.chat.budget import Room
from unchunk.chat.context import Context, render
from unchunk.chat.events import Event, ReadingPart, Warned
from unchunk.chat.gathering import OMITTED, Gathered, omission
from unchunk.chat.notes import NOTHING, Notes, Part, checked, cited_alone, noted
from unchunk.chat.parts import ChatParts
from unchunk.chat.prompt import Template, assemble
from unchunk.chat.request import Asked, untagged
from unchunk.domain import DocumentId
from unchunk.errors import ProviderUnavailableError, UnchunkError
from unchunk.ports import ChatModel, Message, Sampling, TokenUsage
from unchunk.retrieval.evidence import Kind, ReconstructedDocument
from unchunk.retrieval.fitting import most
from unchunk.retrieval.query import QueryPlan
from unchunk.retrieval.reconstruct import assemble as put_together
from unchunk.retrieval.reconstruct import merge
from unchunk.retrieval.shelf import Sheet

# So many parts are read at once: more would wait for each other at most providers.
_AT_ONCE = 3
# The most and the fewest words that notes on a part are asked for, however many parts there are.
_MOST_WORDS, _FEWEST_WORDS = 400, 40
# A word takes about as many of each.
_CHARACTERS, _TOKENS = 8, 2
_ALL = "What is this document about?"
_TASK = (
    "You read part {number} of {count}. Write notes on what this part says that helps to answer"
    " the question: the answer will be written from the notes on all parts alone. Keep names,"
    " numbers and dates. Write at most {words} words, in the language of the question. If nothing"
    " in this part helps, write only: " + NOTHING + "."
)
_TEMPLATE = "{instructions}\n\nCONTEXT:\n{context}\n\nQuestion: {question}"


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The parts that are read for an answer. `found` is what was found, with these documents whole.

    `read` are those documents, `others` what is sent as it is. `fits` tells whether a context does,
    and `assembled` makes the messages around one. Notes have at most about so many `words`.
    """

    parts: tuple[Part, ...]
    found: Gathered
    read: tuple[ReconstructedDocument, ...]
    others: tuple[ReconstructedDocument, ...]
    fits: Callable[[str], bool] = field(repr=False)
    assembled: Callable[[Context], Sequence[Message]] = field(repr=False)
    room: Room = field(repr=False)

    @property
    def words(self) -> int:
        """So that the notes on all parts fit beside the other documents."""
        amount = self.found.amount
        free = (amount.budget or 0) - amount.measure(render(self.others).text)
        each = _TOKENS if self.room.unit == "tokens" else _CHARACTERS
        return min(max(free // len(self.parts) // each, _FEWEST_WORDS), _MOST_WORDS)


async def planned(
    parts: ChatParts,
    asked: Asked,
    found: Gathered,
    room: Room,
    assembled: Callable[[Context], Sequence[Message]],
) -> tuple[PartPlan | None, Warned | None]:
    """How to read the documents of which only an excerpt fits; None where none has to be read.

    A warning says why they are not read although they should be.
    """
    limit = asked.request.max_parts
    limit = parts.manner.max_parts if limit is None else limit
    evidence, budget = found.evidence, found.amount.budget
    cut = [one for one in evidence.documents if one.kind == "excerpt"]
    # A length that somebody chose for each document is one that they want.
    is_free = found.amount.full_length is None
    if not (parts.model and parts.open_document and limit and cut and budget and is_free):
        return None, None
    insisted = asked.request.mode == "full documents"
    if not (insisted or parts.analyzer.needs_all(evidence.plan)):
        return None, None
    names = ", ".join(one.name for one in cut)
    try:
        where, owner = asked.request.where, asked.owner
        sheets = [await parts.open_document(it.document, where=where, owner=owner) for it in cut]
    except UnchunkError as error:
        return None, Warned("parts", f"only an excerpt of {names} was used: {error}")
    opened = [(one, sheet) for one, sheet in zip(cut, sheets, strict=True) if sheet]

    def fits(text: str) -> bool:
        return found.amount.measure(text) <= budget

    made, estimate = await asyncio.to_thread(_divided, opened, fits, limit)
    if not made and estimate:
        return None, Warned(
            "parts",
            f"only an excerpt of {names} was used: reading all of it takes about {estimate} parts,"
            f" and max_parts is {limit}; raise max_parts (a setting, a field of the request,"
            " --max-parts) to have all of it read",
        )
    if len(made) < 2:
        return None, None
    numbered = tuple(Part(at, len(made), one) for at, one in enumerate(made, 1))
    whole = {one.document: _whole(one, sheet) for one, sheet in opened}
    others = tuple(one for one in evidence.documents if one.document not in whole)
    found = _with_whole(found, whole)
    return PartPlan(numbered, found, tuple(whole.values()), others, fits, assembled, room), None


def _divided(
    opened: Sequence[tuple[ReconstructedDocument, Sheet]], fits: Callable[[str], bool], limit: int
) -> tuple[list[ReconstructedDocument], int]:
    """The documents in parts that fit; or none, and how many there would be if that is too many.

    A chunk that does not fit by itself cannot be read: then there are no parts at all.
    """
    made: list[ReconstructedDocument] = []
    done, guess = 0, 1
    every = sum(len(sheet.pieces) for _, sheet in opened)
    for document, sheet in opened:
        left = sorted(sheet.pieces)
        while left:
            if len(made) == limit:
                return [], max(ceil(every * len(made) / done), limit + 1)
            guess = _fitting(document, sheet, left, fits, guess)
            if not guess:
                return [], 0
            made.append(_shown(document, sheet, left[:guess]))
            left = left[guess:]
            done += guess
    return made, 0


def _fitting(
    document: ReconstructedDocument,
    sheet: Sheet,
    chunks: Sequence[int],
    fits: Callable[[str], bool],
    guess: int,
) -> int:
    """How many of the chunks, from the first, make a part that fits."""

    def is_short(number: int) -> bool:
        return fits(render([_shown(document, sheet, chunks[:number])]).text)

    return most(is_short, len(chunks), guess)


def _shown(
    document: ReconstructedDocument, sheet: Sheet, chosen: Sequence[int], kind: Kind = "passages"
) -> ReconstructedDocument:
    """Some chunks of a document, under the name that the answer has for it."""
    scores = {one.chunk_index: one.score for one in document.chunks if one.chunk_index in chosen}
    made = put_together(sheet, chosen, scores, kind)
    return replace(made, name=document.name, title=document.title, notes=document.notes)


def _whole(document: ReconstructedDocument, sheet: Sheet) -> ReconstructedDocument:
    """All of a document; an excerpt where the question's filters leave some of it out."""
    chunks = sorted(sheet.pieces)
    is_whole = len(merge(sheet, chunks)) == 1 and len(chunks) == sheet.chunk_count
    return _shown(document, sheet, chunks, "full document" if is_whole else "excerpt")


def _with_whole(found: Gathered, whole: Mapping[DocumentId, ReconstructedDocument]) -> Gathered:
    """What was found, with whole documents in the places of their excerpts."""
    evidence = replace(
        found.evidence,
        documents=tuple(whole.get(one.document, one) for one in found.evidence.documents),
        omitted=tuple(one for one in found.evidence.omitted if one.document not in whole),
    )
    warnings = [one for one in found.warnings if one.code != OMITTED]
    if left := omission(evidence):
        warnings.append(left)
    return replace(found, evidence=evidence, warnings=tuple(warnings))


class PartReader:
    """Has a model read the parts. `error` is why none could be read, once all were tried."""

    def __init__(self, model: ChatModel, plan: PartPlan, asked: Asked) -> None:
        self._model, self._plan, self._asked = model, plan, asked
        self._words = plan.words
        self._notes: list[Notes] = []
        self.error: UnchunkError | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Tells of each part when it begins; closing it stops the model."""
        begun: asyncio.Queue[Part] = asyncio.Queue()
        free = asyncio.Semaphore(_AT_ONCE)

        async def read(part: Part) -> Notes:
            async with free:
                begun.put_nowait(part)
                return await self._read(part)

        tasks = [asyncio.create_task(read(one)) for one in self._plan.parts]
        try:
            for _ in tasks:
                part = await begun.get()
                yield _reading(part)
            for task, part in zip(tasks, self._plan.parts, strict=True):
                try:
                    self._notes.append(await task)
                except UnchunkError as error:
                    self.error = error
                    yield Warned("part-unread", f"{_named(part)} could not be read: {error}")
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
        if self._notes:
            self.error = None

    def context(self) -> Context:
        """The notes on all parts, as they are sent to have the answer written."""
        plan = self._plan
        return noted(plan.others, plan.parts, self._notes, plan.fits)

    @property
    def citable(self) -> tuple[ReconstructedDocument, ...]:
        """The documents with the chunks that the answer may cite: those that the notes do."""
        plan = self._plan
        cited = frozenset[tuple[DocumentId, int]]().union(*(one.cited for one in self._notes))
        read = {one.document: one for one in cited_alone(plan.read, cited)}
        return tuple(read.get(one.document, one) for one in plan.found.evidence.documents)

    def with_usage(self, usage: TokenUsage | None) -> TokenUsage | None:
        """What reading and writing took; None where the provider did not tell all of it."""
        every = [usage, *(one.usage for one in self._notes)]
        told = [one for one in every if one is not None]
        if len(told) < len(every):
            return None
        return TokenUsage(
            sum(one.prompt_tokens for one in told), sum(one.completion_tokens for one in told)
        )

    async def _read(self, part: Part) -> Notes:
        usage: TokenUsage | None = None
        finish = ""
        text: list[str] = []
        usual = self._asked.request.sampling
        sampling = Sampling(usual.model, usual.temperature, usual.max_tokens)
        messages = self._messages(part)
        async with self._model.stream(
            messages, sampling, request_id=self._asked.request_id
        ) as deltas:
            async for delta in deltas:
                text.append(delta.text)
                usage, finish = delta.usage or usage, delta.finish or finish
        said = "".join(text)
        if not said.strip():
            why = f" (it ended with {finish!r})" if finish else ""
            raise ProviderUnavailableError(f"the model returned empty notes{why}")
        return Notes(part, await asyncio.to_thread(checked, said, part), usage)

    def _messages(self, part: Part) -> Sequence[Message]:
        """The part and the question, and nothing of the conversation or of other parts."""
        task = _TASK.format(number=part.number, count=part.count, words=self._words)
        [question] = untagged([self._asked.request.messages[-1]])
        plan = self._plan.found.evidence.plan
        if plan.follow_up or not plan.question:
            question = {"role": "user", "content": _question(plan)}
        template = Template("notes", _TEMPLATE, task)
        context = render([part.document])
        return assemble(template, [question], context, system_prompt="")


def _question(plan: QueryPlan) -> str:
    """The question so that it can be understood without the conversation."""
    about = f" ({plan.search_text})" if plan.search_text not in plan.question else ""
    return f"{plan.question}{about}" if plan.question else _ALL


def _reading(part: Part) -> ReadingPart:
    document = part.document
    return ReadingPart(
        part.number,
        part.count,
        document.document,
        document.name,
        part.first_chunk,
        part.last_chunk,
    )


def _named(part: Part) -> str:
    chunks = f"chunks {part.first_chunk}-{part.last_chunk}"
    return f"part {part.number} of {part.count} ({part.document.name}, {chunks})"


def unread(plan: PartPlan) -> Iterator[Warned]:
    """What is said where an answer is only explained: its parts are not read for that."""
    names = ", ".join(one.name for one in plan.read)
    yield Warned(
        "parts",
        f"to answer, the model reads {names} in {len(plan.parts)} parts; what is shown here is"
        " sent where max_parts is 0",
    )
