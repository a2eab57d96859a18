"""Results as text, in the form of a list with a card for each document.

What documents and models say stands indented below a card, so that no line of it can begin where
ours do. It is data, and may say anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from unchunk.chat.events import Answer, Cited
from unchunk.domain import Document, Version
from unchunk.retrieval.display import card, indented, label, one_line, show, show_hits
from unchunk.retrieval.evidence import runs
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.snippets import Found

_INDENT = "    "
_NOTHING = "Nothing was found; list_documents tells what there is.\n"
_NOT_IN_COLLECTION = "Nothing was found in the collection.\n"


@dataclass(frozen=True, slots=True)
class Part:
    """The characters of a document from `start` on."""

    document: Document
    version: Version
    start: int
    text: str


def show_evidence(evidence: Evidence, *, with_content: bool, of_collection: bool = False) -> str:
    """`of_collection` means that `list_documents` does not show its documents."""
    parts = [f"({one_line(note)})\n" for note in evidence.notes]
    parts.append(show(evidence.documents, show_content=with_content, with_ids=True))
    if not evidence.documents:
        parts.append(_NOT_IN_COLLECTION if of_collection else _NOTHING)
    for one in evidence.omitted if with_content else ():
        reason = one_line(one.reason)
        parts.append(f"\nLeft out of {one_line(one.name)}: {runs(one.chunks)}: {reason}\n")
    if evidence.also_see:
        parts.append("\nAlso see:\n")
    for related in evidence.also_see:
        about = f"{one_line(related.name)} (document {one_line(related.document)})"
        parts.append(f"{_INDENT}{about}: {one_line(related.reason)}\n")
    return "".join(parts)


def show_found(found: Found, *, with_content: bool, of_collection: bool = False) -> str:
    """Single chunks, each with its beginning."""
    parts = [f"({one_line(note)})\n" for note in found.notes]
    parts.append(show_hits(found.hits, show_content=with_content))
    if not found.hits:
        parts.append(_NOT_IN_COLLECTION if of_collection else _NOTHING)
    return "".join(parts)


def show_part(part: Part) -> str:
    document, length = part.document, part.version.text_length
    end = part.start + len(part.text)
    lines = [*_card(1, document), f"{_INDENT}Characters: {part.start}-{end} of {length}"]
    if end < length:
        lines.append(
            f"{_INDENT}More: get_document with document {document.id} and start {end} goes on"
        )
    lines += (f"{_INDENT}Note: {one_line(note)}" for note in part.version.notes)
    return _text([*lines, "", f"{_INDENT}Content:", *indented(part.text)])


def show_list(documents: Sequence[Document], offset: int, total: int) -> str:
    """`documents` are those of all `total` from `offset` on."""
    lines = [f"{total} document(s)"]
    end = offset + len(documents)
    if len(documents) < total:
        lines[0] += f", {offset + 1}-{end} of them here" if documents else ", none behind that"
    if documents and end < total:
        lines.append(f"More: offset {end} goes on; folder and query narrow the list")
    for number, one in enumerate(documents, offset + 1):
        lines += ["", *_card(number, one)]
        facts = []
        if one.live is not None:
            facts.append(f"Characters: {one.live.text_length}")
            facts.append(f"Chunks: {one.live.chunk_count}")
            facts += [f"Pages: {one.live.page_count}"] if one.live.page_count else []
        facts.append(f"Changed: {one.updated_at:%Y-%m-%d}")
        lines.append(_INDENT + " | ".join(facts))
        if one.error:
            lines.append(f"{_INDENT}Failed: {one_line(one.error)}")
        elif one.live is None:
            lines.append(f"{_INDENT}On its way in: it cannot be searched yet")
    return _text(lines)


def show_answer(answer: Answer) -> str:
    """Citations stay as they are written, `[document:chunk]`; the sources are listed below."""
    lines = ["Answer:", *indented(answer.answer.strip("\n"))]
    sources = answer.sources.documents
    lines += ["", f"Sources: {len(sources)} document(s)"]
    for number, one in enumerate(sources, 1):
        lines += ["", *card(number, one, with_id=True)]
        lines.append(f"{_INDENT}Cited: {', '.join(_cited(answer, one.document)) or 'no'}")
    remarks = [one.message for one in answer.warnings]
    if answer.error is not None:
        remarks.append(answer.error.message)
    if remarks:
        lines.append("")
    lines += (f"Note: {one_line(one)}" for one in remarks)
    if answer.conversation:
        lines += ["", f"Conversation: {one_line(answer.conversation)}"]
    return _text(lines)


def _cited(answer: Answer, document: str) -> Iterator[str]:
    """Each chunk once, with where it stands, so that it can be read."""
    known = [it for it in answer.citations if it.document == document and it.state != "unknown"]
    known.sort(key=lambda one: one.chunk_index)
    for index, [one, *_] in groupby(known, key=lambda one: one.chunk_index):
        yield f"chunk {index} ({_place(one)})"


def _place(one: Cited) -> str:
    place = f"characters {one.start}-{one.text_end}"
    if one.first_page is None:
        return place
    if one.first_page == one.last_page:
        return f"{place}, page {one.first_page}"
    return f"{place}, pages {one.first_page}-{one.last_page}"


def _card(number: int, document: Document) -> list[str]:
    version = document.live or document.draft
    title = (version.title.strip() if version else "") or document.name
    path = f"{document.folder}/{document.name}" if document.folder else document.name
    kind = label(version.media_type if version else "")
    lines = [f"[{number}] {kind}: {one_line(title)}", f"{_INDENT}Document: {document.id}"]
    if path != title:
        lines.append(f"{_INDENT}File: {one_line(path)}")
    return lines


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
