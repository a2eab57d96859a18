"""The same text in several places: one copy answers as well as five, unless they differ."""

import re
from collections.abc import Container, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from unchunk.domain import DocumentId
from unchunk.retrieval.differences import Difference, Words, compare, plain
from unchunk.retrieval.shelf import Place
from unchunk.retrieval.words import UNSPACED_LETTERS

# Copies score nearly alike. Only the best are compared with all others, whatever their scores are.
_NEAR_SCORE = 0.02
_BEST = 40
# Texts that share so many of their different words are compared.
_ALIKE = 2 / 3
# They are two versions of one if no larger share of all their words differs, or no more than so many.
_SHARE, _FEW = 1 / 6, 3
# Texts with fewer different words are compared if all of these but one are shared.
_FEWEST_WORDS = 5
# Cheaper than the words that are compared, and enough to tell which texts are alike.
_PLAIN_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|[^\W{UNSPACED_LETTERS}]+")
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
    """`copies` are copy -> original; `variants` are no copies, as something differs."""

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

    def __init__(self, said: str, *, begins: bool, ends: bool) -> None:
        self.said = plain(said)
        self._begins, self._ends = begins, ends
        length = len(self.said)
        starts = (length * part // 6 for part in range(1, 6)) if length > _PROBED else ()
        self.probes = tuple(self.said[start : start + _PROBE] for start in starts)

    @cached_property
    def words(self) -> Words:
        return Words(self.said, begins=self._begins, ends=self._ends)

    @cached_property
    def different(self) -> frozenset[str]:
        return frozenset(_PLAIN_WORD.findall(self.said.lower()))


def compared(
    found: Sequence[tuple[Place, float, str]], last: Container[Place] = frozenset()
) -> Compared:
    """Which of the places, best first, say what an earlier one does.

    A copy differs from its original in white space and punctuation alone. Where few words differ,
    whatever they are, it is a variant, and where they differ is told. `last` has the places of
    chunks that end their documents.
    """

    @cache
    def text(at: int) -> _Text:
        place, _, said = found[at]
        return _Text(said, begins=place.chunk_index == 0, ends=place in last)

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
            if text(at).words.forms == text(other).words.forms:
                if is_near:
                    copied[place] = original
                    break
                continue
            if variant or pairs == _PAIRS:
                continue
            pairs += 1
            differences, changed, total = compare(text(other).words, text(at).words)
            if differences and changed <= max(_FEW, _SHARE * total):
                variant = Variant(place, original, differences[:_PHRASES])
        else:
            originals.append((at, score))
            variants += [variant] if variant else []
    return Compared(copied, tuple(variants))


def _may_be_alike(one: _Text, other: _Text) -> bool:
    """Nearly all pairs end here."""
    if one.said == other.said:
        return True
    if one.probes and not any(probe in other.said for probe in one.probes):
        return False
    shared = len(one.different & other.different)
    if min(len(one.different), len(other.different)) < _FEWEST_WORDS:
        return shared > 0 and max(len(one.different), len(other.different)) - shared <= 1
    return shared >= _ALIKE * len(one.different | other.different)
