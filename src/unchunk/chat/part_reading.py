"""Documents that are longer than a prompt, read part by part by the model that answers.

Where a question is about the whole of a document and only an excerpt fits, the text is cut into
parts between chunks. The model writes notes on each part separately, and the answer is written
from the notes.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
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

# Maximum number of parts that are read at the same time: most providers would queue more of them.
_AT_ONCE = 3
# Limits on how many words the notes on a part may have, however many parts there are.
_MOST_WORDS, _FEWEST_WORDS = 400, 40
# Characters and tokens that a word takes, about.
_CHARACTERS, _TOKENS = 8, 2
_CUT_SHORT = {
    "length": "the model reached its limit of tokens",
    "filtered": "the provider's content filter stopped the model",
}
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
    """The parts that are read for an answer, and what it is written from.

    `found` is what was found, with the documents of the parts (`read`) as a whole; `others` are
    sent as they are. `fits` tells whether a context fits, and `assembled` makes messages of it.
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
        """Choose how long notes may be, so that all of them fit beside the other documents."""
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
    """Plan how to read documents of which only an excerpt fits; None if none has to be read.

    A warning says why they are not read although they should be.
    """
    limit = asked.request.max_parts
    limit = parts.manner.max_parts if limit is None else limit
    evidence, budget = found.evidence, found.amount.budget
    insisted = asked.request.mode == "full documents"
    cut = [
        one
        for one in evidence.documents
        if one.kind == "excerpt"
        and (insisted or parts.analyzer.needs_all(evidence.plan, (one.name, one.title)))
    ]
    # Whoever chose how long a document may be wants no more of it.
    is_free = found.amount.full_length is None
    if not (parts.model and parts.open_document and limit and cut and budget and is_free):
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
    if len(made) < 2:
        why = f"only an excerpt of {names} was used: {_too_long(estimate, limit)}"
        return None, Warned("parts", why) if opened and not made else None
    numbered = tuple(Part(at, len(made), one) for at, one in enumerate(made, 1))
    whole = {one.document: _whole(one, sheet) for one, sheet in opened}
    others = tuple(one for one in evidence.documents if one.document not in whole)
    found = _with_whole(found, whole)
    return PartPlan(numbered, found, tuple(whole.values()), others, fits, assembled, room), None


def _too_long(estimate: int, limit: int) -> str:
    if estimate:
        return (
            f"reading all of it takes about {estimate} parts, and max_parts is {limit}. To have all"
            " of it read, raise max_parts (a setting, a field of the request, or --max-parts)"
        )
    return (
        "a single chunk is longer than the room for context, so no part can be read. Raise"
        " max_context_chars, or use a model with a larger window"
    )


def _divided(
    opened: Sequence[tuple[ReconstructedDocument, Sheet]], fits: Callable[[str], bool], limit: int
) -> tuple[list[ReconstructedDocument], int]:
    """Divide documents into parts that fit; if there are too many, return none and an estimate.

    If a single chunk does not fit, there are no parts at all, and the estimate is 0.
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
    """Count how many chunks, from the first, fit as one part."""

    def is_short(number: int) -> bool:
        return fits(render([_shown(document, sheet, chunks[:number])]).text)

    return most(is_short, len(chunks), guess)


def _shown(
    document: ReconstructedDocument, sheet: Sheet, chosen: Sequence[int], kind: Kind = "passages"
) -> ReconstructedDocument:
    """Put some chunks of a document together, under the name that it has in the answer."""
    scores = {one.chunk_index: one.score for one in document.chunks if one.chunk_index in chosen}
    made = put_together(sheet, chosen, scores, kind)
    return replace(made, name=document.name, title=document.title, notes=document.notes)


def _whole(document: ReconstructedDocument, sheet: Sheet) -> ReconstructedDocument:
    """Put a document together; it is an excerpt if the question's filters exclude some of it."""
    chunks = sorted(sheet.pieces)
    is_whole = len(merge(sheet, chunks)) == 1 and len(chunks) == sheet.chunk_count
    return _shown(document, sheet, chunks, "full document" if is_whole else "excerpt")


def _with_whole(found: Gathered, whole: Mapping[DocumentId, ReconstructedDocument]) -> Gathered:
    """Replace excerpts by the whole documents."""
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
    """Has a model read the parts. `error` is set if no part could be read."""

    def __init__(self, model: ChatModel, plan: PartPlan, asked: Asked) -> None:
        self._model, self._plan, self._asked = model, plan, asked
        self._words = plan.words
        self._notes: list[Notes] = []
        self._unread: list[tuple[Part, str]] = []
        self._cut: list[tuple[Part, str]] = []
        self.error: UnchunkError | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Read all parts, and report each of them when it begins; closing this stops the model.

        If a part fails because the provider is unavailable, no other part begins until one has
        been read: each of them might have to wait just as long for the same error.
        """
        waiting = deque(self._plan.parts)
        reading: dict[asyncio.Task[Notes], Part] = {}
        try:
            while reading or (waiting and not self._is_unavailable):
                while waiting and len(reading) < _AT_ONCE and not self._is_unavailable:
                    part = waiting.popleft()
                    reading[asyncio.create_task(self._read(part))] = part
                    yield _reading(part)
                done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    self._finished(task, reading.pop(task))
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
        if self._notes:
            self.error = None
        if self._unread:
            told = [*_by_reason("could not be read", self._unread), *_given_up(waiting)]
            yield Warned("part-unread", "; ".join(told))
        if self._cut:
            yield Warned("part-cut", "; ".join(_by_reason("has incomplete notes", self._cut)))

    @property
    def _is_unavailable(self) -> bool:
        return isinstance(self.error, ProviderUnavailableError) and not self._notes

    def _finished(self, task: asyncio.Task[Notes], part: Part) -> None:
        """Keep the notes on a part, or its error."""
        try:
            notes = task.result()
        except UnchunkError as error:
            self.error = error
            self._unread.append((part, str(error)))
            return
        self._notes.append(notes)
        if notes.finish in _CUT_SHORT:
            self._cut.append((part, _CUT_SHORT[notes.finish]))

    def context(self) -> Context:
        """Render the notes on all parts, from which the answer is written."""
        plan = self._plan
        return noted(plan.others, plan.parts, self._notes, plan.fits)

    @property
    def citable(self) -> tuple[ReconstructedDocument, ...]:
        """The documents, with only those chunks that the notes cite: the answer may cite these."""
        plan = self._plan
        cited = frozenset[tuple[DocumentId, int]]().union(*(one.cited for one in self._notes))
        read = {one.document: one for one in cited_alone(plan.read, cited)}
        return tuple(read.get(one.document, one) for one in plan.found.evidence.documents)

    def with_usage(self, usage: TokenUsage | None) -> TokenUsage | None:
        """Add up the tokens of all calls; None if the provider did not count those of one."""
        every = [usage, *(one.usage for one in self._notes)]
        known = [one for one in every if one is not None]
        if len(known) < len(every):
            return None
        return TokenUsage(
            sum(one.prompt_tokens for one in known), sum(one.completion_tokens for one in known)
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
        pieces = await asyncio.to_thread(checked, said, part)
        return Notes(part, pieces, usage, finish, is_cut=bool(pieces) and finish in _CUT_SHORT)

    def _messages(self, part: Part) -> Sequence[Message]:
        """Ask the question about a part, without the conversation and without other parts."""
        task = _TASK.format(number=part.number, count=part.count, words=self._words)
        [question] = untagged([self._asked.request.messages[-1]])
        plan = self._plan.found.evidence.plan
        if plan.follow_up or not plan.question:
            question = {"role": "user", "content": _question(plan)}
        template = Template("notes", _TEMPLATE, task)
        context = render([part.document])
        return assemble(template, [question], context, system_prompt="")


def _question(plan: QueryPlan) -> str:
    """Phrase the question so that it can be understood without the conversation."""
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


def _by_reason(what: str, reasons: Sequence[tuple[Part, str]]) -> Iterator[str]:
    """Say what became of the parts, one statement for each reason."""
    by_reason: dict[str, list[Part]] = {}
    for part, reason in sorted(reasons, key=lambda it: it[0].number):
        by_reason.setdefault(reason, []).append(part)
    for reason, parts in by_reason.items():
        first, count = parts[0], parts[0].count
        if len(parts) == 1:
            chunks = f"chunks {first.first_chunk}-{first.last_chunk}"
            yield f"part {first.number} of {count} ({first.document.name}, {chunks}) {what}: {reason}"
        else:
            numbers = ", ".join(f"{part.number}" for part in parts)
            names = ", ".join(dict.fromkeys(part.document.name for part in parts))
            plural = what.replace("has", "have")
            yield f"parts {numbers} of {count} ({names}) {plural}: {reason}"


def _given_up(parts: Sequence[Part]) -> Iterator[str]:
    """Name the parts that nobody tried to read."""
    if parts:
        first, last = parts[0], parts[-1]
        some = f"part {first.number}" if first is last else f"parts {first.number} to {last.number}"
        yield f"{some} of {last.count} skipped, because none of the earlier parts could be read"


def unread(plan: PartPlan) -> Iterator[Warned]:
    """Say that an answer would be written from parts, where it is only explained."""
    names = ", ".join(one.name for one in plan.read)
    yield Warned(
        "parts",
        f"to answer, the model reads {names} in {len(plan.parts)} parts; the prompt shown here is"
        " the one that is sent if max_parts is 0",
    )
