"""What the tools do, each with one call of the engine. Knows nothing of the protocol."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from unchunk.chat.events import Event, ReadingPart, SourcesFound, Token, gather
from unchunk.chat.request import ChatRequest, question
from unchunk.domain import Document, OwnerId
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError, TransientError, UnchunkError
from unchunk.mcp.arguments import Arguments, Ask, GetDocument, ListDocuments, RagSearch
from unchunk.mcp.showing import Part, show_answer, show_evidence, show_found, show_list, show_part
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.shelf import Where

# How much text one call gives: what fits beside others into a model's window.
MOST_EVIDENCE = 60_000
MOST_TEXT = 20_000
# Every so many characters of an answer, whoever waits is told.
_STEP = 200

A = TypeVar("A", bound=Arguments)
Report = Callable[[int, str], Awaitable[None]]


def _welcome() -> None:
    """Refuse nobody."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a call works: a library, whose documents in it, and the id that it is traced by.

    `admit` is called before an answer is begun, and raises where there is no room for it.
    """

    engine: Engine
    owner: OwnerId | None = None
    request_id: str = ""
    admit: Callable[[], None] = _welcome


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """`reads` tells that nothing at all is changed by it."""

    name: str
    title: str
    description: str
    arguments: type[A]
    work: Callable[[Desk, A, Report], Awaitable[str]]
    reads: bool = True

    async def call(self, desk: Desk, given: Mapping[str, object], report: Report) -> str:
        """The result as text. Raises `InvalidInputError` for arguments that are none."""
        try:
            arguments = self.arguments.model_validate(given)
        except ValidationError as error:
            raise InvalidInputError(_wrong(error)) from None
        return await self.work(desk, arguments, report)


async def _rag_search(desk: Desk, given: RagSearch, _report: Report) -> str:
    where, of_collection = _where(given.folder), desk.engine.searches_elsewhere
    if not given.use_chunk_aware:
        found = await desk.engine.search(
            given.query, limit=given.limit, where=where, owner=desk.owner
        )
        return show_found(found, with_content=given.show_content, of_collection=of_collection)
    evidence = await desk.engine.retrieve(
        given.query,
        where=where,
        amount=Amount(given.limit, budget=MOST_EVIDENCE),
        owner=desk.owner,
        mode="passages",
    )
    return show_evidence(evidence, with_content=given.show_content, of_collection=of_collection)


async def _get_document(desk: Desk, given: GetDocument, _report: Report) -> str:
    named = await _document(desk, given.document)

    def bounds(length: int) -> tuple[int, int]:
        wanted = length if given.end is None else min(given.end, length)
        if given.start >= wanted and (given.start or given.end is not None):
            raise InvalidInputError(
                f"there is nothing from {given.start} to {wanted}: the text has {length} characters"
            )
        return given.start, min(wanted, given.start + MOST_TEXT)

    document, _, text = await desk.engine.cut(named.id, bounds, owner=desk.owner)
    version = document.live
    assert version is not None
    wanted = version.text_length if given.end is None else min(given.end, version.text_length)
    if given.start + len(text) < wanted:
        # Behind a line, if one ends in the second half of it.
        text = text[: text.rfind("\n", MOST_TEXT // 2) + 1] or text
    return show_part(Part(document, version, given.start, text))


async def _list_documents(desk: Desk, given: ListDocuments, _report: Report) -> str:
    found, total = await desk.engine.browse(
        folder=given.folder or None,
        part=(given.query or "").strip(),
        limit=given.limit,
        offset=given.offset,
        owner=desk.owner,
    )
    return show_list(found, given.offset, total)


async def _ask(desk: Desk, given: Ask, report: Report) -> str:
    request = ChatRequest(question(given.question), given.conversation, where=_where(given.folder))
    desk.admit()
    events = desk.engine.chat(request, owner=desk.owner, request_id=desk.request_id)
    seen: list[Event] = []
    read = written = 0
    async with aclosing(events):
        async for event in events:
            seen.append(event)
            if isinstance(event, SourcesFound):
                await report(1, f"documents found: {len(event.documents)}")
            elif isinstance(event, ReadingPart):
                read = event.part
                said = f"reading part {event.part} of {event.parts}: {event.name}"
                await report(1 + read, said)
            elif isinstance(event, Token):
                told, written = written // _STEP, written + len(event.text)
                if written // _STEP > told:
                    await report(1 + read + written, f"{written} characters are written")
    answer = gather(seen)
    if answer.error is not None and answer.finish == "failed":
        kind = TransientError if answer.error.transient else UnchunkError
        raise kind(answer.error.message)
    return show_answer(answer)


async def _document(desk: Desk, reference: str) -> Document:
    try:
        return await desk.engine.document(reference, owner=desk.owner)
    except NotFoundError:
        if desk.engine.searches_elsewhere:
            raise NotFoundError(
                f"{reference[:200]!r} is not in the library. Searches use a collection, whose"
                " documents cannot be opened: use rag_search to get passages of them"
            ) from None
        raise NotFoundError(
            f"there is no document {reference[:200]!r}: list_documents tells what there is"
        ) from None


def _where(folder: str | None) -> Where:
    return Where(folders=(folder,) if folder else None)


def _wrong(error: ValidationError) -> str:
    """What is wrong with arguments, without repeating what may be long or hostile."""
    parts = [
        f"{'.'.join(str(part)[:50] for part in one['loc']) or 'arguments'}: {one['msg'][:200]}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:3]
    ]
    return "; ".join(parts)


TOOLS: dict[str, Tool[RagSearch] | Tool[GetDocument] | Tool[ListDocuments] | Tool[Ask]] = {
    one.name: one
    for one in (
        Tool(
            "rag_search",
            "Search the documents",
            "Find what the user's own documents say about something, by meaning and by words."
            " Gives the documents that answer best, each with the passages that matter, put"
            " together in the document's order with every omission marked, its scores, and where"
            " it stands. Use this first for any question that the documents may answer;"
            " get_document then reads on around a passage.",
            RagSearch,
            _rag_search,
        ),
        Tool(
            "get_document",
            "Read a document",
            "Read the text of one document, all of it or from one character to another. A long"
            " text comes in parts, and each says how to go on. Use it to read on where a passage"
            " of rag_search ends, or a document that the user names.",
            GetDocument,
            _get_document,
        ),
        Tool(
            "list_documents",
            "List the documents",
            "List the documents that there are, the newest first: id, name, folder, length, and why one cannot be"
            " searched. Use it to see what there is, or to find a document by its name; to find"
            " one by what it says, use rag_search.",
            ListDocuments,
            _list_documents,
        ),
        Tool(
            "ask",
            "Ask the documents",
            "Have a question answered from the documents, with citations and their sources. Takes"
            " longer than rag_search. Use it for an answer that is ready to be quoted, or to go on"
            " with a conversation; use rag_search to read the passages and answer yourself.",
            Ask,
            _ask,
            reads=False,
        ),
    )
}
