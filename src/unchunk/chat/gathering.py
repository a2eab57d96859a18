"""Evidence for an answer: as much as fits, as it is sent, and what is to be said of it."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

from unchunk.chat.budget import Room, as_sent, within
from unchunk.chat.context import Context, render
from unchunk.chat.events import Warned
from unchunk.chat.parts import ChatParts
from unchunk.chat.request import Asked, ChatRequest
from unchunk.chat.rewriting import rewrite
from unchunk.errors import InvalidInputError, ProviderRefusedError, UnchunkError
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.selection import NO_ROOM, Omission
from unchunk.retrieval.wholes import TOO_LONG
from unchunk.telemetry import current_job, log, questions

OMITTED = "omitted"
Search = Callable[[Amount], Awaitable[Evidence]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """`size` is that of the context as it is sent, and `amount` what there was room for.

    `failure` is why nothing could be searched.
    """

    evidence: Evidence
    context: Context
    size: int = 0
    warnings: tuple[Warned, ...] = ()
    failure: UnchunkError | None = None
    amount: Amount = field(default_factory=Amount)


async def gather(parts: ChatParts, asked: Asked, room: Room) -> Gathered:
    """Nothing but a question that cannot be asked raises: what cannot be searched is said."""
    began = perf_counter()
    rewritten, warnings = await rewrite(parts, asked) if parts.manner.rewrite else ("", [])
    try:
        amount = within(_wanted(parts.manner.amount, asked.request), room, parts.model)
        found = await _fitted(_search(parts, asked, rewritten), amount)
        found = replace(found, amount=amount)
    except InvalidInputError:
        raise
    except UnchunkError as error:
        _log_failure(parts.source, error)
        said = f"the documents could not be searched, so the answer does not use them: {error}"
        plan = parts.analyzer.analyze(asked.request.question, asked.history)
        found = Gathered(Evidence(plan, ()), render(()), failure=error)
        warnings.append(Warned("search-unavailable", said))
    evidence = found.evidence
    warnings += (
        Warned("differ" if note == evidence.disagreement else "search", note)
        for note in evidence.notes
    )
    if omitted := omission(evidence):
        warnings.append(omitted)
        is_left_out = any(one.reason != TOO_LONG for one in evidence.omitted)
        log(omitted.message, level=logging.WARNING if is_left_out else logging.INFO)
    elif not evidence.documents and found.failure is None:
        log("No chunks found for query")
    took = (perf_counter() - began) * 1000
    log_question(parts, asked, found, took=took)
    size = size_of(found.context.text, parts, room)
    return replace(found, size=size, warnings=tuple(warnings))


def omission(evidence: Evidence) -> Warned | None:
    """What is said of documents that there was no room for, if there are any."""
    if not evidence.omitted:
        return None
    left = dict.fromkeys(one.name for one in evidence.omitted if one.reason != TOO_LONG)
    cut = dict.fromkeys(one.name for one in evidence.omitted if one.reason == TOO_LONG)
    said = []
    if left:
        said.append(f"there was no room for all that was found: {', '.join(left)}")
    if cut:
        said.append(f"too long to be used whole, so parts were left out: {', '.join(cut)}")
    return Warned(OMITTED, "; ".join(said))


def size_of(text: str, parts: ChatParts, room: Room) -> int:
    """How long a text is, in the units of the room."""
    if parts.model and room.unit == "tokens":
        return parts.model.count_tokens(text, room.model)
    return len(text)


def log_question(
    parts: ChatParts,
    asked: Asked,
    found: Gathered | None = None,
    *,
    took: float = 0.0,
) -> None:
    """Log one line for a question; without `found`, one whose documents are not asked."""
    amount = _wanted(parts.manner.amount, asked.request)
    documents = found.evidence.documents if found else ()
    context = found.context if found else render(())
    scores = sorted((it.score for one in documents for it in one.chunks), reverse=True)
    facts = {
        "request_id": asked.request_id or current_job() or "-",
        "rag_enabled": found is not None,
        "top_k": amount.hits or amount.limit,
        "retrieval_time_ms": round(took, 2),
        "context_size": len(context.text),
        "chunks": len(context.citations),
    }
    log(
        "RAG retrieval request_id=%s rag_enabled=%s top_k=%d retrieval_time_ms=%.2f"
        " context_size=%d chunks=%d scores=%s",
        *facts.values(),
        ",".join(f"{one:.3f}" for one in scores) or "-",
        facts=facts | {"scores": [round(one, 3) for one in scores]},
        to=questions,
    )


def _log_failure(source: str, error: UnchunkError) -> None:
    if isinstance(error, ProviderRefusedError):
        log("Invalid response from %s, skipping RAG: %s", source, error, level=logging.ERROR)
    else:
        log("%s unavailable, skipping RAG: %s", source, error, level=logging.WARNING)


def _wanted(usual: Amount, request: ChatRequest) -> Amount:
    amount = usual
    if request.limit is not None:
        depth = None if amount.depth is None else request.limit
        amount = replace(amount, limit=request.limit, hits=request.limit, depth=depth)
    if request.min_score is not None:
        amount = replace(amount, min_score=request.min_score)
    if request.full_documents is not None:
        amount = replace(amount, full_documents=request.full_documents)
    if request.full_document_chars is not None:
        amount = replace(amount, full_length=request.full_document_chars or None)
    return amount


def _search(parts: ChatParts, asked: Asked, rewritten: str) -> Search:
    """All of the question but for how much is wanted."""
    mode = asked.request.mode

    async def search(amount: Amount) -> Evidence:
        return await parts.retrieve(
            asked.request.question,
            history=asked.history,
            where=asked.request.where,
            amount=amount,
            owner=asked.owner,
            rewritten=rewritten,
            mode=None if mode == "auto" else mode,
            include=asked.request.included,
        )

    return search


async def _fitted(search: Search, amount: Amount) -> Gathered:
    """What is found, as far as it fits as it is sent."""
    sent = as_sent(amount)
    evidence = await search(sent)
    context = render(evidence.documents, evidence.disagreement)
    budget = amount.budget
    if budget is None or amount.measure(context.text) <= budget:
        return Gathered(evidence, context)
    # What stands around all documents together is known only now.
    around = amount.measure(context.text) - sum(map(sent.size, evidence.documents))
    evidence = await search(replace(sent, budget=budget - around))
    documents = list(evidence.documents)
    while amount.measure((context := render(documents, evidence.disagreement)).text) > budget:
        least = min(documents, key=lambda one: one.max_score)
        documents.remove(least)
        evidence = replace(evidence, omitted=(*evidence.omitted, _omitted(least)))
    return Gathered(replace(evidence, documents=tuple(documents)), context)


def _omitted(document: ReconstructedDocument) -> Omission:
    chunks = tuple((one.first_chunk, one.last_chunk) for one in document.passages)
    return Omission(document.document, document.name, chunks, document.max_score, NO_ROOM)
