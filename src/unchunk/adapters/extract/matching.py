"""Which characters of a page a text is made of. Knows nothing of where they stand.

A page's own characters and its text differ in white space, in hyphens at the ends of lines, and in
characters that show nothing. All else is mostly the same; where it is not, as after another
version of the parser, what is left is matched word by word.
"""

import re
from difflib import SequenceMatcher

from unchunk.adapters.extract.composing import UNWANTED

# Hyphens, and what stands for one at the end of a line.
_PASSED_OVER = re.compile(rf"[\s\-\u2010\ufffe]|{UNWANTED.pattern}")
_WORD = re.compile(r"\S+")
_MOST_WORDS = 5_000


def matched(drawn: str, text: str) -> dict[int, int]:
    """For characters of `text`, where each stands in `drawn`, as far as that can be told."""
    ours, theirs = _shown(text), _shown(drawn)
    left, right = [text[at] for at in ours], [drawn[at] for at in theirs]
    if left == right:
        return dict(zip(ours, theirs, strict=True))
    head = _alike(left, right)
    tail = _alike(left[head:][::-1], right[head:][::-1])
    found = dict(zip(ours[:head], theirs[:head], strict=True))
    if tail:
        found |= dict(zip(ours[-tail:], theirs[-tail:], strict=True))
    rest = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if all(rest):
        (first, last), (begin, end) = ((one[0], one[-1] + 1) for one in rest)
        found |= _by_words(drawn[begin:end], text[first:last], begin, first)
    return found


def _by_words(drawn: str, text: str, begin: int, first: int) -> dict[int, int]:
    ours, theirs = list(_WORD.finditer(text)), list(_WORD.finditer(drawn))
    if max(len(ours), len(theirs)) > _MOST_WORDS:
        return {}
    left, right = ([_PASSED_OVER.sub("", one[0]) for one in some] for some in (ours, theirs))
    found: dict[int, int] = {}
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        for at in range(block.size):
            mine, its = ours[block.a + at], theirs[block.b + at]
            pairs = zip(_shown(mine[0]), _shown(its[0]), strict=True)
            found |= {first + mine.start() + a: begin + its.start() + b for a, b in pairs}
    return found


def _shown(text: str) -> list[int]:
    passed = {one.start() for one in _PASSED_OVER.finditer(text)}
    return [at for at in range(len(text)) if at not in passed]


def _alike(left: list[str], right: list[str]) -> int:
    """How long the two are the same from their beginning."""
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return at
    return min(len(left), len(right))
