"""Words of a text, and which of them are listed.

A listed word counts as a whole word and in its inflections, which are made from it and not
guessed from the text: 'all' is not in 'small', and 'them' is no 'theme'.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Compounds are one word: a 'full-time' job is not 'full'.
_WORD = re.compile(r"[^\W_]+(?:['’.&\-‐‑][^\W_]+)*")
UNSPACED_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]")
_SIBILANT = re.compile(r"(?:[sxz]|[cs]h)\Z")
_SHORT = re.compile(r"[^aeiouy]*[aeiou][bdgklmnprt]\Z")
_IZE = re.compile(r"(?<=[a-z]{3})([iy])[sz]e\Z")

# They have one form; made plural, some are other words ('mores').
_FIXED = frozenset(
    ("all", "also", "else", "every", "everything", "full", "further", "more", "time")
)


class Word(NamedTuple):
    """A word as it stands, as it is compared, and where it begins."""

    text: str
    plain: str
    start: int


class Listed(NamedTuple):
    """A listed word that was found: as it stands, and which of the words it is."""

    text: str
    words: range


def words_of(text: str) -> list[Word]:
    return [
        Word(match[0], match[0].replace("’", "'").casefold(), match.start())
        for match in _WORD.finditer(text)
    ]


class WordList:
    """Finds the words and phrases of one list."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._phrases: dict[str, set[tuple[str, ...]]] = {}
        self._parts: list[str] = []
        for entry in map(str.casefold, entries):
            if UNSPACED.search(entry):
                # Such a script does not tell where a word ends.
                self._parts.append(entry.strip())
                continue
            for phrase in _phrases(entry):
                self._phrases.setdefault(phrase[0], set()).add(phrase)

    def find(self, text: str, words: list[Word]) -> Iterator[Listed]:
        """In their order in the text; where several begin at one word, the longest."""
        plain = [word.plain for word in words]
        for at, word in enumerate(plain):
            phrases = self._phrases.get(word, ())
            if fits := [one for one in phrases if tuple(plain[at : at + len(one)]) == one]:
                end = at + max(map(len, fits))
                last = words[end - 1]
                yield Listed(text[words[at].start : last.start + len(last.text)], range(at, end))
        if self._parts:
            folded = text.casefold()
            for part in self._parts:
                if part in folded:
                    yield Listed(part, range(0))


def _phrases(entry: str) -> Iterator[tuple[str, ...]]:
    """An entry as words, with blanks for its hyphens too; its last word in all its forms."""
    for spelling in {entry, entry.replace("-", " ")}:
        words = [word.plain for word in words_of(spelling)]
        for form in inflections(words[-1]) if words else ():
            yield (*words[:-1], form)


def inflections(word: str) -> frozenset[str]:
    """An English word's plural or verb forms, in British and American spelling.

    Some that it makes are no words, and do no harm: nobody writes them.
    """
    if word in _FIXED or len(word) < 3 or not (word.isascii() and word.isalpha()):
        return frozenset([word])
    made = set()
    for base in {word, _IZE.sub(r"\1ze", word), _IZE.sub(r"\1se", word)}:
        made |= {base, *(stem + ending for stem, ending in _endings(base))}
    return frozenset(made)


def _endings(word: str) -> Iterator[tuple[str, str]]:
    if word.endswith("sis"):
        yield word[:-2], "es"
    elif word.endswith("e"):
        yield from ((word, "s"), (word, "d"), (word[:-1], "ing"))
    elif word.endswith("y") and word[-2] not in "aeiou":
        yield from ((word[:-1], "ies"), (word[:-1], "ied"), (word, "ing"))
    else:
        yield word, "es" if _SIBILANT.search(word) else "s"
        stem = word + word[-1] if _SHORT.fullmatch(word) else word
        yield from ((stem, "ed"), (stem, "ing"))
