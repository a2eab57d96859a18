"""Chunks of a Chunkenizer, or of whomever, into messages: a context block, and where it goes."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from math import inf, isfinite, nan
from typing import NamedTuple

from unchunk.chat.prompt import TEMPLATES, filled, instructions, last_question, put_around
from unchunk.ports import Message
from unchunk.retrieval.marking import citation, fence, rest_mark, tag_for
from unchunk.telemetry import log
from unchunk.text.truncation import beginning

_HEAD = "CONTEXT:"
_BETWEEN = "\n\n"
_MARKED_END = re.compile(r"\] \(mark ([0-9a-f]{4,64})\)\Z")


class _Item(NamedTuple):
    """A chunk as far as it is shown; `ending` is its citation, and never cut."""

    document: str
    chunk_index: int
    score: float
    text: str
    ending: str

    @property
    def length(self) -> int:
        return len(_BETWEEN) + len(self.text) + len(self.ending)


def build_context_block(chunks: Sequence[Mapping[str, object]], max_chars: int = 8000) -> str:
    """`CONTEXT:`, then each chunk's text with its citation `[doc_id:chunk_index]` behind it.

    At most `max_chars` long: where that is too little, the lowest scores leave, the best of which
    is cut short instead if there is room for some of it; a warning is logged. Those that stay are
    in the order of their documents. What is no chunk is left out. Where a text has something that
    looks like a citation, ours are followed by a mark that it does not have. Empty if nothing stays.
    """
    items = _items(chunks)
    taken: list[_Item] = []
    room = max_chars - len(_HEAD)
    for item in sorted(items, key=lambda one: -one.score):
        if item.length > room:
            if cut := _cut(item, room):
                taken.append(cut)
            log(
                "RAG context cut to %d characters: %d of %d chunks stay",
                max_chars,
                len(taken),
                len(items),
                level=logging.WARNING,
            )
            break
        taken.append(item)
        room -= item.length
    if not taken:
        return ""
    # The document of the best chunk first.
    places = {one.document: at for at, one in reversed([*enumerate(taken)])}
    taken.sort(key=lambda one: (places[one.document], one.chunk_index))
    return _BETWEEN.join([_HEAD, *(one.text + one.ending for one in taken)])


def inject_rag_context(messages: Sequence[Message], context: str) -> list[dict[str, object]]:
    """New messages with the context, fenced as data, and how to use it before the last question.

    `context` is such as `build_context_block` gives, or any text. Where it is empty, or nobody
    asks anything, the messages are as they were.
    """
    made: list[dict[str, object]] = [deepcopy(dict(one)) for one in messages]
    at = last_question(made)
    text = context.strip().removeprefix(_HEAD).strip()
    if at is None or not text:
        return made
    template = TEMPLATES["context-first"]
    # The fence's tag is never one that is read in the text.
    tag = tag_for([text])
    mark = found[1] if (found := _MARKED_END.search(text)) else ""
    told = instructions(template.start, tag=tag, mark=mark)
    made[at] = put_around(made[at], *filled(template, told, fence(text, tag)))
    return made


def _items(chunks: Iterable[object]) -> list[_Item]:
    """What can be cited and says something, each chunk once, with its best score."""
    found: dict[tuple[str, int], _Item] = {}
    for chunk in chunks:
        one = _item(chunk) if isinstance(chunk, Mapping) else None
        if one and (one[:2] not in found or found[one[:2]].score < one.score):
            found[one[:2]] = one
    tag = tag_for(words for one in found.values() for words in (one.text, one.document))
    return [
        one._replace(ending=" " + citation(one.document, one.chunk_index, tag))
        for one in found.values()
    ]


def _item(chunk: Mapping[str, object]) -> _Item | None:
    text, document, index = (chunk.get(it) for it in ("chunk_text", "document_id", "chunk_index"))
    if not isinstance(text, str) or not text.strip():
        return None
    if isinstance(document, bool) or not isinstance(document, str | int) or document == "":
        return None
    if isinstance(index, bool) or not isinstance(index, int):
        return None
    return _Item(str(document), index, _score(chunk.get("score")), text.strip(), "")


def _score(value: object) -> float:
    """What has none is the first to leave."""
    try:
        score = float(value) if isinstance(value, int | float) else nan
    except OverflowError:
        score = nan
    return score if isfinite(score) else -inf


def _cut(item: _Item, room: int) -> _Item | None:
    """As much as there is room for; None where that says nothing."""
    tag = _MARKED_END.search(item.ending)
    ending = f" {rest_mark(item.chunk_index, tag[1] if tag else '')}{item.ending}"
    length = max(room - len(_BETWEEN) - len(ending), 0)
    kept = beginning(item.text, length)
    return item._replace(text=kept, ending=ending) if kept else None
