"""The same text in several places: one copy answers as well as five."""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from unchunk.retrieval.shelf import Place

# Texts that are nearly alike score nearly alike, so that only such pairs are compared.
_NEAR_SCORE = 0.02
_ALIKE = 0.9
# Short texts share their few words by chance.
_FEWEST_WORDS = 8

Words = frozenset[str]


def copies(found: Sequence[tuple[Place, float, str]]) -> dict[Place, Place]:
    """Which of the places, best first, say nearly what an earlier one does: copy -> original.

    Nearly: nine in ten of their different words are common to both, and all of their numbers.
    Texts are compared only with those that share one of their rarest words, so that many cost
    little more each than a few.
    """
    every = [frozenset(text.casefold().split()) for _, _, text in found]
    rarity = Counter(word for words in every for word in words)
    known: dict[str | Words, list[int]] = {}
    copied: dict[Place, Place] = {}
    for at, (place, score, _) in enumerate(found):
        marks = _marks(every[at], rarity)
        for other in sorted({it for mark in marks for it in known.get(mark, ())}):
            original, its_score, _ = found[other]
            near = abs(score - its_score) <= _NEAR_SCORE * max(abs(score), abs(its_score), 1.0)
            if near and _alike(every[at], every[other]):
                copied[place] = original
                break
        else:
            for mark in marks:
                known.setdefault(mark, []).append(at)
    return copied


def _marks(words: Words, rarity: Counter[str]) -> list[str | Words]:
    """What two texts that are alike have in common at least one of.

    Of words that share nine in ten, those that one lacks are too few to be all of its rarest.
    """
    if len(words) < _FEWEST_WORDS:
        return [words]
    lacking = len(words) - ceil(_ALIKE * len(words))
    rarest = sorted(words, key=lambda word: (rarity[word], word))[: lacking + 1]
    # What is in no other text marks nothing.
    return [word for word in rarest if rarity[word] > 1]


def _alike(one: Words, other: Words) -> bool:
    if one == other:
        return True
    fewer, more = sorted((len(one), len(other)))
    if fewer < _FEWEST_WORDS or fewer < _ALIKE * more:
        return False
    if len(one & other) < _ALIKE * len(one | other):
        return False
    # Two years' reports may differ in nothing else, and say different things.
    return not any(sign.isdigit() for word in one ^ other for sign in word)
