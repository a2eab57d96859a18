"""Documents as text for people and for models, in the form of a list with a card for each.

What a document says stands indented below its card, so that no line of it can begin where ours
do; what could steer a terminal is shown instead of sent. Knows nothing of colours and widths.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from unchunk.retrieval.evidence import ChunkResult, ReconstructedDocument
from unchunk.retrieval.snippets import Hit
from unchunk.retrieval.words import UNSPACED

_INDENT = "    "
_LABELS = {
    "vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
    "vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
    "vnd.ms-excel": "XLS",
    "vnd.oasis.opendocument.text": "ODT",
    "vnd.oasis.opendocument.spreadsheet": "ODS",
    "vnd.oasis.opendocument.presentation": "ODP",
    "epub+zip": "EPUB",
    "rfc822": "MAIL",
    "x-ipynb+json": "NOTEBOOK",
    "tab-separated-values": "TSV",
    "plain": "TEXT",
}
# Control characters but for tab and newline; what turns the direction of writing round; halves
# of characters, which cannot be written at all.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Endings that a word takes in other forms of it, in English above all, and what of it is left.
_FORMS = (
    "ational|ations?|ative|ators?|ating|ate[sd]?|ments?|ness|ings?|ions?|iest|ier|ies|ied|ily"
    "|ers?|ed|es|ly|al|s|e|y"
)
_ENDING = re.compile(rf"(?<=\w{{4}})(?:{_FORMS})$")
_FORM = rf"(?:{_FORMS}|['’]s|en|n)?"
# Words of this script take their endings without a blank.
_SUFFIXED = re.compile(r"[\uac00-\ud7a3]")
_SHORT = 4
_PREVIEW = 200
_BY_WORDS = "Match: found by words"


def show(
    documents: Sequence[ReconstructedDocument], *, show_content: bool = True, with_ids: bool = False
) -> str:
    """All documents in their order, each with its card and, if wanted, its content."""
    lines = [heading(len(documents))]
    for number, document in enumerate(documents, 1):
        lines.append("")
        lines += card(number, document, with_id=with_ids)
        if show_content:
            lines += ["", f"{_INDENT}{content_label(document)}"]
            lines += indented(document.full_content)
    return "\n".join(lines) + "\n"


def show_hits(hits: Sequence[Hit], *, show_content: bool = True) -> str:
    """Single chunks, each with its beginning."""
    lines = [f"🔍 {len(hits)} chunk(s) found"]
    for number, hit in enumerate(hits, 1):
        name = f"{label(hit.content_type)}: {one_line(hit.name)}"
        lines += ["", f"[{number}] {name}, chunk {hit.chunk.chunk_index}"]
        lines.append(
            _INDENT + (_BY_WORDS if hit.found_by == "words" else f"Score: {hit.score:.3f}")
        )
        if show_content:
            text = one_line(hit.text)
            more = "..." if len(text) > _PREVIEW else ""
            lines.append(f'{_INDENT}Preview: "{text[:_PREVIEW]}{more}"')
    return "\n".join(lines) + "\n"


def heading(count: int) -> str:
    return f"🔍 CHUNK-AWARE RETRIEVAL: {count} document(s) reconstructed"


def card(number: int, document: ReconstructedDocument, *, with_id: bool = False) -> list[str]:
    """What is known of a document: its title at the left edge, the rest indented."""
    title = document.title.strip() or document.name
    facts = [f"Coverage: {document.chunk_coverage}"]
    if document.chunks:
        facts.insert(0, _relevance(document))
    facts += filter(None, [" | ".join(_details(document, title))])
    if document.chunks:
        matched = (f"#{one.chunk_index}({_score(one)})" for one in document.chunks)
        facts.append(f"Matched chunks: {', '.join(matched)}")
    if document.tag:
        facts.append(f'Marks of omissions: only those with "mark {document.tag}"')
    facts += (f"Note: {one_line(note)}" for note in document.notes)
    if with_id:
        facts.insert(0, f"Document: {one_line(document.document)}")
    first = f"[{number}] {label(document.content_type)}: {one_line(title)}"
    return [first, *(f"{_INDENT}{fact}" for fact in facts)]


def _relevance(document: ReconstructedDocument) -> str:
    """Cosines can be compared from one question to the next; what words are worth cannot."""
    if document.found_by == "words":
        return _BY_WORDS
    return f"Relevance: {document.max_score:.3f} (avg: {document.avg_score:.3f})"


def _score(chunk: ChunkResult) -> str:
    return "words" if chunk.found_by == "words" else f"{chunk.score:.2f}"


def content_label(document: ReconstructedDocument) -> str:
    return "Content:" if document.kind == "passages" else f"Content ({document.kind}):"


def content(document: ReconstructedDocument) -> str:
    """The merged text in lines; what could steer a terminal is replaced by what it is called."""
    return harmless(document.full_content)


def indented(text: str) -> list[str]:
    """Lines of a text as they stand below a card: none begins where ours do."""
    return [line and f"{_INDENT}{line}" for line in harmless(text).split("\n")]


def harmless(text: str) -> str:
    """The text with plain ends of lines, and visible signs for what could steer a terminal."""
    return _STEERING.sub(lambda sign: _visible(sign[0]), _LINE_ENDS.sub("\n", text))


def spans(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Where the words stand in the text, whole and in any case, also in other forms of them.

    In scripts that put no blanks between words, a word is found wherever it stands.
    """
    patterns = dict.fromkeys(filter(None, map(_pattern, words)))
    if not patterns:
        return []
    found = re.compile("|".join(patterns), re.IGNORECASE)
    return [match.span() for match in found.finditer(text)]


def _pattern(word: str) -> str:
    word = word.strip().lower()
    if not any(sign.isalnum() for sign in word):
        return ""
    if UNSPACED.search(word):
        return re.escape(word)
    if _SUFFIXED.search(word):
        return rf"(?<!\w){re.escape(word)}"
    if not word.isalpha() or len(word) < _SHORT:
        return rf"(?<!\w){re.escape(word)}(?:['’]?s)?(?!\w)"
    stem = _ENDING.sub("", word)
    twice = "?" if stem != word and stem[-1] == stem[-2] else ""  # as in "running"
    return rf"(?<!\w){stem}{twice}{_FORM}(?!\w)"


def _details(document: ReconstructedDocument, title: str) -> Iterator[str]:
    path = f"{document.folder}/{document.name}" if document.folder else document.name
    if path != title:
        yield f"File: {one_line(path)}"
    pages = [
        page
        for page in chain.from_iterable(
            (one.first_page, one.last_page) for one in document.passages
        )
        if page is not None
    ]
    if pages:
        first, last = min(pages), max(pages)
        yield f"Page: {first}" if first == last else f"Pages: {first}-{last}"
    for key, value in document.metadata.items():
        if value not in (None, "") and key != "checksum":
            name = re.sub(r"_(?:name|at)$", "", key).replace("_", " ").strip()
            yield f"{one_line(name[:1].upper() + name[1:])}: {one_line(str(value))}"


def label(content_type: str) -> str:
    """A media type in a word."""
    kind = content_type.partition(";")[0].strip().lower().rpartition("/")[2]
    return one_line(_LABELS.get(kind) or kind.removeprefix("x-").upper()) or "DOCUMENT"


def one_line(text: str) -> str:
    """The same on one line: a name may hold what ends one."""
    return " ".join(harmless(text).split())


def _visible(sign: str) -> str:
    code = ord(sign)
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode has pictures of these
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"<U+{code:04X}>"
