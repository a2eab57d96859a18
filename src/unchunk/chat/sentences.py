"""Every sentence of the evidence, and what it is worth as an answer. Pure.

A sentence is worth the question's words that it has, the rarer they are in the evidence the more;
half of that for words that only stand above it, and a share of what its neighbours are worth,
since an answer often follows the sentence that names its subject. All of this counts as much as
the chunk that it is from was worth to the search.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from unchunk.chat.units import Unit, units
from unchunk.domain import Chunk
from unchunk.ports import Lexicon
from unchunk.retrieval.evidence import Passage, ReconstructedDocument

# What only stands above a sentence, in a heading or a title, says half of what it says itself.
_ABOVE = 0.5
_NEIGHBOUR = 0.3
# However little the search thought of a chunk, its words count.
_LEAST = 0.1


class Sentence(NamedTuple):
    """A unit of a passage of the document at `place` of the evidence; `prior` is from 0 to 1.

    `terms` are the words of `text`, which is its text with single blanks.
    """

    place: int
    document: ReconstructedDocument
    passage: Passage
    unit: Unit
    chunks: tuple[Chunk, ...]
    prior: float
    text: str
    terms: frozenset[int]


def sentences(documents: Sequence[ReconstructedDocument], lexicon: Lexicon) -> list[Sentence]:
    """In the order of the evidence. What no chunk has cannot be cited, and is none."""
    best = max((one.max_score for one in documents), default=0.0)
    found = []
    for place, document in enumerate(documents):
        scores = {one.chunk_index: one.score for one in document.chunks}
        beside = min(scores.values(), default=0.0)
        for passage in document.passages:
            for unit in _units(document, passage):
                chunks = chunks_of(passage, unit.start, unit.end)
                score = max(scores.get(one.chunk_index, beside) for one in chunks)
                prior = max(score / best, _LEAST) if best > 0 else 1.0
                text = " ".join(passage.text[unit.start : unit.end].split())
                terms = frozenset(lexicon.document(text).ids)
                found.append(Sentence(place, document, passage, unit, chunks, prior, text, terms))
    return found


def by_words(
    question: str, among: Sequence[Sentence], lexicon: Lexicon
) -> tuple[list[float], float]:
    """What each sentence has of the question's words, beside the best, and what the best has.

    All from 0 to 1.
    """
    asked = frozenset(lexicon.query(question).ids)
    above = _above(asked, among, lexicon)
    number: Counter[int] = Counter()
    for one, higher in zip(among, above, strict=True):
        number.update(higher | one.terms & asked)
    rarity = {
        term: log(1 + (len(among) - number[term] + 0.5) / (number[term] + 0.5)) for term in asked
    }
    values = []
    for one, higher in zip(among, above, strict=True):
        own = sum(rarity[term] for term in one.terms & asked)
        values.append(own + _ABOVE * sum(rarity[term] for term in higher - one.terms))
    best = max(values, default=0.0)
    if not best:
        return values, 0.0
    return [value / best for value in values], best / sum(rarity.values())


def _above(
    asked: frozenset[int], among: Sequence[Sentence], lexicon: Lexicon
) -> list[frozenset[int]]:
    """What of the question stands above each sentence."""
    known: dict[str, frozenset[int]] = {}
    found = []
    for one in among:
        titles = " ".join((one.document.title, *one.chunks[0].heading_path, one.unit.under))
        if titles not in known:
            known[titles] = asked.intersection(lexicon.document(titles).ids)
        found.append(known[titles])
    return found


def blended(values: Sequence[float], similarities: Sequence[float]) -> list[float]:
    """Both count alike; similarities as they differ from one another."""
    least, best = min(similarities), max(similarities)
    width = best - least or 1.0
    return [
        (value + (near - least) / width) / 2
        for value, near in zip(values, similarities, strict=True)
    ]


def in_place(values: Sequence[float], among: Sequence[Sentence]) -> list[float]:
    """The values as they are where the sentences stand: in their chunks, beside their neighbours.

    Where none is worth anything, the chunks alone tell.
    """
    told = values if any(values) else [1.0] * len(values)
    own = [value * one.prior for value, one in zip(told, among, strict=True)]
    made = []
    for at, value in enumerate(own):
        beside = [
            own[near]
            for near in (at - 1, at + 1)
            if 0 <= near < len(own) and among[near].passage is among[at].passage
        ]
        made.append(value + _NEIGHBOUR * max(beside, default=0.0))
    return made


def chunks_of(passage: Passage, start: int, end: int) -> tuple[Chunk, ...]:
    """The fewest chunks that have `passage.text[start:end]`, in the order of the text."""
    at, end = passage.start + start, passage.start + end
    needed: list[Chunk] = []
    while at < end:
        here = (one for one in passage.chunks if one.start <= at < one.end)
        needed.append(max(here, key=lambda one: min(one.end, end)))
        at = needed[-1].end
    return tuple(needed)


def _units(document: ReconstructedDocument, passage: Passage) -> Iterator[Unit]:
    """The first and the last tell if the passage begins or ends within them."""
    found = units(passage.text) if passage.chunks else []
    for number, unit in enumerate(found):
        before, after = unit.cut_before, unit.cut_after
        if number == 0 and passage.start > 0:
            before = before or passage.text[unit.start].islower()
        if number == len(found) - 1 and passage.last_chunk + 1 != document.chunk_count:
            last = passage.text[unit.end - 1]
            after = after or (unit.kind == "sentence" and (last.isalnum() or last in ",-"))
        yield unit._replace(cut_before=before, cut_after=after)
