"""The answer without a model: the sentences of the evidence that answer, word for word."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from unchunk.chat.citations import citations
from unchunk.chat.sent import Sent
from unchunk.chat.sentences import Sentence, blended, by_words, chunks_of, in_place, sentences
from unchunk.domain import DocumentId
from unchunk.ports import Lexicon
from unchunk.retrieval.english import PERSONS, POINTERS, THINGS
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.marking import citation

Similarity = Callable[[Sequence[str]], Awaitable[Sequence[float] | None]]
"""How near the question each of some texts is; None if that cannot be told now."""

_TOO_LITTLE = 0.25
# What is worth less, beside the best, is left out.
_STOP = 0.5
# Two sentences that share so much of their words say the same.
_SAME = 0.8
# A sentence that begins with one of these, or with a pronoun, leans on the one before it.
_LEANING = PERSONS | THINGS | POINTERS
_LEANING |= {"additionally", "also", "both", "consequently", "furthermore", "hence", "however"}
_LEANING |= {"instead", "moreover", "nevertheless", "nonetheless", "otherwise", "such", "therefore"}
_LEANING |= {"thus"}
_FIRST_WORD = re.compile(r"\W*(\w+)")
_SINGLE = str.maketrans("“”", "‘’")
_WIDE = str.maketrans("[]", "［］")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a document: `[start, end)` of its text, in `text` with single blanks.

    `chunk_indices` are the chunks that have them. `cut_before` and `cut_after` tell that its
    sentence goes on there.
    """

    document: DocumentId
    name: str
    chunk_indices: tuple[int, ...]
    start: int
    end: int
    text: str
    title: str = ""
    cut_before: bool = False
    cut_after: bool = False


async def extract(
    question: str,
    documents: Sequence[ReconstructedDocument],
    lexicon: Lexicon,
    *,
    similarity: Similarity | None = None,
    most: int = 5,
    longest: int = 1500,
) -> list[Quote]:
    """The best sentences: at most so many, with at most so many characters together.

    Those of one document stand together, in its order; the document of the best comes first.
    `similarity` is called, once and with all sentences of the evidence, only where the best of
    them has less than a quarter of the question's words: it is dear, and where words tell, it
    was no better in our measurements.
    """
    every = sentences(documents, lexicon)
    if not every:
        return []
    values, share = by_words(question, every, lexicon)
    if similarity is not None and share < _TOO_LITTLE:
        near = await similarity([one.text for one in every])
        values = values if near is None else blended(values, near)
    values = in_place(values, every)
    return _quotes(_choose(every, values, most, longest), every, values)


def write(quotes: Sequence[Quote], sent: Sent) -> str:
    """The answer: under the name of each document its quotes, each with its citations.

    Nothing that a document says comes out as a citation: its brackets are written `［` and `］`
    where they would. Quotation marks within a quote become single ones.
    """
    parts = []
    for _, group in groupby(quotes, key=lambda quote: quote.document):
        lines = list(group)
        title = _plain(lines[0].title.strip() or lines[0].name, sent)
        parts.append("\n".join([title, *(_line(one, sent) for one in lines)]))
    return "\n\n".join(parts)


def _line(quote: Quote, sent: Sent) -> str:
    cited = "".join(citation(quote.document, index) for index in quote.chunk_indices)
    before, after = "… " * quote.cut_before, " …" * quote.cut_after
    return f"- {before}“{_plain(quote.text, sent)}”{after} {cited}"


def _plain(text: str, sent: Sent) -> str:
    """One line that can neither cite nor end its quotation."""
    text = " ".join(text.split()).translate(_SINGLE)
    while found := citations(f"“{text}”", sent):
        at = text.rfind("[", 0, found[0].at)
        end = text.find("]", found[0].end - 2)
        text = text[:at] + text[at : end + 1].translate(_WIDE) + text[end + 1 :]
    return text


def _choose(
    every: Sequence[Sentence], values: Sequence[float], most: int, longest: int
) -> list[int]:
    order = sorted(range(len(every)), key=lambda at: (-values[at], at))
    chosen: list[int] = []
    room = longest
    for at in order:
        if len(chosen) >= most or values[at] < _STOP * values[order[0]]:
            break
        if at in chosen or any(_same(every[at], every[other]) for other in chosen):
            continue
        length = len(every[at].text)
        if length > room and chosen:
            continue
        chosen.append(at)
        room -= length
        before = at - 1
        if _leans(every[at]) and before not in chosen and len(chosen) < most:
            length = len(every[before].text)
            if length <= room:
                chosen.append(before)
                room -= length
    return sorted(chosen)


def _same(one: Sentence, other: Sentence) -> bool:
    return len(one.terms & other.terms) >= _SAME * len(one.terms | other.terms)


def _leans(one: Sentence) -> bool:
    """Whether it goes on from the sentence before it, and says little without."""
    first = _FIRST_WORD.match(one.text)
    word = first[1].lower() if first else ""
    return one.unit.follows and word in _LEANING


def _quotes(
    chosen: Sequence[int], every: Sequence[Sentence], values: Sequence[float]
) -> list[Quote]:
    """Sentences that follow each other become one quote."""
    runs: list[list[int]] = []
    best: dict[int, float] = {}
    for at in chosen:
        if runs and runs[-1][-1] == at - 1 and every[at].unit.follows:
            runs[-1].append(at)
        else:
            runs.append([at])
        place = every[at].place
        best[place] = max(values[at], best.get(place, 0.0))
    runs.sort(key=lambda run: (-best[every[run[0]].place], run[0]))
    quotes: list[Quote] = []
    titled: set[tuple[int, int, tuple[int, int]]] = set()
    for run in runs:
        first, last = every[run[0]], every[run[-1]]
        titles = first.unit.titles
        if titles and (table := (first.place, first.passage.start, titles)) not in titled:
            # A row alone says nothing.
            titled.add(table)
            quotes.append(_quote(first, first, titles))
        quotes.append(_quote(first, last, (first.unit.start, last.unit.end)))
    return quotes


def _quote(first: Sentence, last: Sentence, within: tuple[int, int]) -> Quote:
    document, passage = first.document, first.passage
    start, end = within
    return Quote(
        document.document,
        document.name,
        tuple(one.chunk_index for one in chunks_of(passage, start, end)),
        passage.start + start,
        passage.start + end,
        " ".join(passage.text[start:end].split()),
        document.title,
        first.unit.cut_before,
        last.unit.cut_after,
    )
