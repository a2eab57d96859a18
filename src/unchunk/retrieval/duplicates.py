"""The same text in several places: one copy answers as well as five."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from unchunk.retrieval.shelf import Place

# Texts that are nearly alike score nearly alike, so that only such pairs are compared.
_NEAR_SCORE = 0.02
_ALIKE = 0.9
# Short texts share their few words by chance.
_FEWEST_WORDS = 8
# So many characters, from three places: what has none of them is no copy.
_PROBE = 24


class _Text(NamedTuple):
    plain: str
    probes: tuple[str, ...]


def copies(found: Sequence[tuple[Place, float, str]]) -> dict[Place, Place]:
    """Which of the places, best first, say nearly what an earlier one does: copy -> original.

    Nearly: nine in ten of their different words are common to both, and all of their numbers.
    """

    @cache
    def text(at: int) -> _Text:
        return _text(found[at][2])

    originals: list[tuple[int, float]] = []
    copied: dict[Place, Place] = {}
    for at, (place, score, _) in enumerate(found):
        near = _NEAR_SCORE * max(abs(score), 1.0)
        for other, its_score in originals:
            if -near <= score - its_score <= near and _alike(text(at), text(other)):
                copied[place] = found[other][0]
                break
        else:
            originals.append((at, score))
    return copied


def _text(text: str) -> _Text:
    plain = " ".join(text.casefold().split())
    starts = (len(plain) * part // 4 for part in (1, 2, 3))
    return _Text(plain, tuple(plain[start : start + _PROBE] for start in starts))


def _alike(one: _Text, other: _Text) -> bool:
    if one.plain == other.plain:
        return True
    first, second, third = one.probes
    # Nearly all pairs end here.
    if not (first in other.plain or second in other.plain or third in other.plain):
        return False
    words, others = frozenset(one.plain.split(" ")), frozenset(other.plain.split(" "))
    if min(len(words), len(others)) < _FEWEST_WORDS:
        return words == others
    differing = words ^ others
    if len(differing) > (1 - _ALIKE) * len(words | others):
        return False
    # Two years' reports may differ in nothing else, and say different things.
    return not any(sign.isdigit() for word in differing for sign in word)
