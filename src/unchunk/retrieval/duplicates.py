"""The same text in several places: one copy answers as well as five, unless they differ in a fact."""

from collections.abc import Container, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple
from unicodedata import normalize

from unchunk.domain import DocumentId
from unchunk.retrieval.differences import Comparison, Difference, compare, words_of
from unchunk.retrieval.shelf import Place

# Copies score nearly alike. Only the best are compared with all others, whatever their scores are.
_NEAR_SCORE = 0.02
_BEST = 40
_ALIKE = 0.9
# So much of two texts may differ if what differs is numbers, names and negations.
_ALIKE_BUT_FOR_FACTS = 2 / 3
# Short texts share their few words by chance.
_FEWEST_WORDS = 8
_FEWEST_BUT_FOR_FACTS = 5
# So many characters, from five places: what has none of them is no copy. Shorter texts are cheap.
_PROBE, _PROBED = 24, 240
# At most so many pairs are compared word by word, and so many phrases told of each.
_PAIRS, _PHRASES = 60, 3
# So many pairs of documents are told of.
_TOLD = 4


class Variant(NamedTuple):
    """A chunk that says nearly what an earlier one does, and where they differ."""

    place: Place
    original: Place
    differences: tuple[Difference, ...]


class Compared(NamedTuple):
    """`copies` are copy -> original; `variants` are no copies, as a fact differs."""

    copies: dict[Place, Place]
    variants: tuple[Variant, ...]


class Disagreement(NamedTuple):
    """Two documents that say nearly the same; `told` is what they are called and where they differ."""

    documents: tuple[DocumentId, DocumentId]
    told: str


def disagreements(
    variants: Sequence[Variant], names: Mapping[DocumentId, str]
) -> list[Disagreement]:
    """One for each two documents. Within one, tables and forms repeat with other values."""
    phrases: dict[tuple[tuple[DocumentId, DocumentId], str], dict[str, None]] = {}
    for one in variants:
        first, second = one.original.document, one.place.document
        if first == second:
            continue
        name, other_name = names[first], names[second]
        if name == other_name:
            name, other_name = f"{name} [{first}]", f"{other_name} [{second}]"
        between = f"{name} and {other_name}"
        told = (f'"{here}" / "{there}"' for here, there in one.differences)
        phrases.setdefault(((first, second), between), {}).update(dict.fromkeys(told))
    return [
        Disagreement(documents, f"{between} differ: {', '.join([*told][:_PHRASES])}")
        for (documents, between), told in phrases.items()
    ]


def disagreements_told(found: Sequence[Disagreement], shown: Container[DocumentId]) -> str:
    """One note of those that have to do with what is shown; empty if there is none."""
    told = [it.told for it in found if any(one in shown for one in it.documents)]
    more = f"; and {len(told) - _TOLD} more such pairs" if len(told) > _TOLD else ""
    return "; ".join(told[:_TOLD]) + more


class _Text:
    """A text as it is compared; its words are only looked for where another one may be alike."""

    def __init__(self, said: str) -> None:
        self.said = said if said.isascii() else normalize("NFC", said)
        self.plain = " ".join(self.said.casefold().split())
        length = len(self.plain)
        starts = (length * part // 6 for part in range(1, 6)) if length > _PROBED else ()
        self.probes = tuple(self.plain[start : start + _PROBE] for start in starts)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(words_of(self.said))


def compared(found: Sequence[tuple[Place, float, str]]) -> Compared:
    """Which of the places, best first, say nearly what an earlier one does.

    A copy differs from its original in spelling, endings, articles and where it was cut. Where a
    number, a name or a negation differs, it is a variant, whose differences are told. Where any
    other word does, both are shown: it may be one that matters in a language that is not known.
    """

    @cache
    def text(at: int) -> _Text:
        return _Text(found[at][2])

    originals: list[tuple[int, float]] = []
    copied: dict[Place, Place] = {}
    variants: list[Variant] = []
    pairs = 0
    for at, (place, score, _) in enumerate(found):
        near = _NEAR_SCORE * max(abs(score), 1.0)
        variant: Variant | None = None
        for other, its_score in originals:
            is_near = -near <= score - its_score <= near
            if not (is_near or at < _BEST) or not _may_be_alike(text(at), text(other)):
                continue
            original = found[other][0]
            if text(at).plain == text(other).plain:
                if is_near:
                    copied[place] = original
                    break
                continue
            pairs += 1
            found_out = compare(text(other).said, text(at).said) if pairs <= _PAIRS else None
            if found_out is None or found_out.other_words > (1 - _ALIKE) * found_out.words:
                continue
            if found_out.facts:
                variant = variant or Variant(place, original, found_out.facts[:_PHRASES])
            elif is_near and _is_copy(found_out, text(at), text(other)):
                copied[place] = original
                break
        else:
            originals.append((at, score))
            variants += [variant] if variant else []
    return Compared(copied, tuple(variants))


def _may_be_alike(one: _Text, other: _Text) -> bool:
    """Nearly all pairs end here."""
    if one.plain == other.plain:
        return True
    if one.probes and not any(probe in other.plain for probe in one.probes):
        return False
    if min(len(one.words), len(other.words)) < _FEWEST_BUT_FOR_FACTS:
        return False
    return len(one.words & other.words) >= _ALIKE_BUT_FOR_FACTS * len(one.words | other.words)


def _is_copy(found: Comparison, one: _Text, other: _Text) -> bool:
    if found.is_more or found.is_reworded:
        return False
    if min(len(one.words), len(other.words)) < _FEWEST_WORDS:
        return one.words == other.words
    return len(one.words & other.words) >= _ALIKE * len(one.words | other.words)
