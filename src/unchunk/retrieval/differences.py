"""Where two texts that say nearly the same do not.

No list of words is needed: any word that differs is a difference, whatever the language.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from unchunk.retrieval.words import UNSPACED

# A phrase that differs is told up to so many words and characters.
_PHRASE, _LONGEST = 8, 120
# A longer run at the end of one text that the other lacks may be where another chunk was cut,
# unless the other ends with its document.
_CUT_OFF = 3
# So often a part between two common words is divided by the words that are common in it alone.
_DEPTH = 8

# Punctuation that says nothing: quotation marks, but not of inches, and what ends a part of a
# sentence, but not before a number.
_SILENT = r"""(?<!\d)["“”„«»]|(?<=[\w)\].,;:])[.,;:](?=[.,;:]{0,3}["”»]?(?:\Z|\ \D))"""
# Where no spaces part the words, each character counts as one.
_WORD = re.compile(rf"{UNSPACED.pattern}|(?:(?!{_SILENT}|{UNSPACED.pattern})\S)+")
# Signs of headings and lists, and spellings of one sign.
_MARKS = frozenset({"#", "##", "###", "####", "#####", "######", "•"})
_SPELLINGS = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("‘’", "'"))
_INVISIBLE = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")
# To order the marks on one letter takes time that grows with the square of how many they are.
_MANY_MARKS = re.compile(r"([^\w\s\x00-\x7f]{31,})")


class Difference(NamedTuple):
    """What one text says where the other says something else; either may be empty."""

    here: str
    there: str


class Comparison(NamedTuple):
    """Where two texts differ, numbers first, and how many of all their words that is."""

    differences: tuple[Difference, ...]
    changed: int
    total: int


class Words:
    """The words of a text in the `forms` in which they are compared, and where they stand.

    White space, quotation marks and the points and commas behind words are left out. All else
    counts, the case of letters too: "us" and "US", "mW" and "MW" are not the same. A text `begins`
    or `ends` if its document does there.
    """

    def __init__(self, text: str, *, begins: bool = False, ends: bool = False) -> None:
        self._text = text
        self._places: list[tuple[int, int]] = []
        self.forms: list[str] = []
        self.begins, self.ends = begins, ends
        for found in _WORD.finditer(text.translate(_SPELLINGS)):
            if found[0] not in _MARKS:
                self._places.append(found.span())
                self.forms.append(found[0])

    def phrase(self, start: int, end: int, *, alone: bool) -> str:
        """The words with the one behind them, as far as it is of the same sentence.

        Where they are `alone`, as the other text has nothing there, or say what a number before
        them counts, the one before stands with them.
        """
        forms = self.forms
        if start and (alone or _is_number(forms[start - 1])):
            start -= 1
        end = min(end, start + _PHRASE)
        if end < len(forms) and (start == end or self._go_on(end)):
            end += 1
        if start == end:
            return ""
        return self._text[self._places[start][0] : self._places[end - 1][1]][:_LONGEST]

    def _go_on(self, at: int) -> bool:
        """Whether nothing but white space stands before the word at `at`."""
        before = self._places[at - 1][1] if at else 0
        return not self._text[before : self._places[at][0]].strip()


def plain(text: str) -> str:
    """`text` with one blank for each run of white space, and one spelling of each character."""
    if not text.isascii():
        parts = _MANY_MARKS.split(text.translate(_INVISIBLE))
        text = "".join(it if at % 2 else normalize("NFC", it) for at, it in enumerate(parts))
    return " ".join(text.split())


def compare(one: Words, other: Words) -> Comparison:
    """Where they differ. The time grows with their length, however they are made."""
    first, second = one.forms, other.forms
    told: list[Difference] = []
    changed = 0
    for a, b, c, d in _changes(first, second, (0, len(first), 0, len(second)), _DEPTH):
        changed += b - a + d - c
        is_lacking = a == b or c == d
        shorter = one if a == b else other
        may_be_cut = (a == c == 0 and not shorter.begins) or (
            b == len(first) and d == len(second) and not shorter.ends
        )
        if not (may_be_cut and is_lacking and b - a + d - c > _CUT_OFF):
            told.append(
                Difference(one.phrase(a, b, alone=is_lacking), other.phrase(c, d, alone=is_lacking))
            )
    told.sort(key=lambda it: not any(map(_is_number, it)))
    return Comparison(tuple(told), changed, len(first) + len(second))


def _is_number(text: str) -> bool:
    return any(sign.isnumeric() for sign in text)


Range = tuple[int, int, int, int]


def _changes(
    first: Sequence[str], second: Sequence[str], part: Range, depth: int
) -> Iterator[Range]:
    """Where the words differ within `part`: `[a:b]` of the one and `[c:d]` of the other.

    Both are divided at the words that stand once in each, and so are the parts between.
    """
    a, b, c, d = part
    while a < b and c < d and first[a] == second[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and first[b - 1] == second[d - 1]:
        b, d = b - 1, d - 1
    common = _common(first[a:b], second[c:d]) if depth else []
    if not common:
        if a < b or c < d:
            yield a, b, c, d
        return
    left, right = a, c
    for at, its in [*common, (b - a, d - c)]:
        yield from _changes(first, second, (left, a + at, right, c + its), depth - 1)
        left, right = a + at + 1, c + its + 1


def _common(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Where the words are that stand once in each: the most of them that have one order."""
    counts, its_counts = Counter(first), Counter(second)
    where = {word: at for at, word in enumerate(second) if its_counts[word] == 1}
    # The last pair of the best row of each length, and the pair before each pair.
    ends: list[int] = []
    lasts: list[tuple[int, int]] = []
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for at, word in enumerate(first):
        if counts[word] == 1 and word in where:
            pair = at, where[word]
            length = bisect_left(ends, pair[1])
            ends[length : length + 1], lasts[length : length + 1] = [pair[1]], [pair]
            before[pair] = lasts[length - 1] if length else None
    row: list[tuple[int, int]] = []
    last = lasts[-1] if lasts else None
    while last is not None:
        row.append(last)
        last = before[last]
    return row[::-1]
