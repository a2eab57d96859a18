"""Where sentences begin, by punctuation and a short list of abbreviations. No model."""

import re
from collections.abc import Iterator
from itertools import product
from string import ascii_lowercase

# One bare class first: only then does `re` skip to a candidate instead of trying each place.
# The look behind keeps it from trying each dot of a dotted line anew.
_STOP = re.compile(
    r"[.!?…؟۔।。！？｡\n](?<![.!?…؟۔।。！？｡].)[.!?…؟۔।。！？｡]*+[\"')\]”’»」』）】〉》]*+"
    r"(?:\s++|(?<=[。！？｡」』）】〉》]))",  # some scripts put no blank behind a sentence
    re.DOTALL,
)
_LONGEST = 8
_ABBREVIATED = (
    "al approx bzw ca capt cf dept dr eq fig figs gov hon inc jr lt ltd messrs mr mrs ms nos nr"
    " pp prof rev sen sgt sr st vgl vol vols vs"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
# By their last two letters alone, most words are known to be none of these.
_OTHER_ENDINGS = frozenset(map("".join, product(ascii_lowercase, repeat=2))).difference(
    word[-2:] for word in _ABBREVIATIONS
)
# Letters of which the ones in ASCII are another case, though `lower` does not say so.
_OTHER_CASES = str.maketrans("İıſ", "iis")


def sentence_starts(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Offsets behind the sentences, titles and paragraphs that end between `start` and `end`.

    A stop before a small letter, behind an abbreviation or behind an initial ends nothing.
    """
    for stop in _STOP.finditer(text, start, len(text) if end is None else end):
        if not _goes_on(text, *stop.span()):
            yield stop.end()


def first_sentence(text: str, start: int, end: int, earliest: int) -> int:
    """The first of `sentence_starts` that is not before `earliest`, or 0."""
    while stop := _STOP.search(text, start, end):
        at, start = stop.span()
        if start >= earliest and not _goes_on(text, at, start):
            return start
    return 0


def last_sentence(text: str, start: int, end: int) -> int:
    """The last of `sentence_starts`, or 0."""
    # Most often it is the last of these; behind a letter, no stop that began earlier goes on.
    near = text.rfind(". ", start, end)
    if near > start and text[near - 1].isalnum():
        return _last_start(text, near, end) or _last_start(text, start, near)
    return _last_start(text, start, end)


def _last_start(text: str, start: int, end: int) -> int:
    stops = []
    while stop := _STOP.search(text, start, end):
        stops.append(stop.span())
        start = stop.end()
    for at, following in reversed(stops):
        if not _goes_on(text, at, following):
            return following
    return 0


def _goes_on(text: str, stop: int, following: int) -> bool:
    mark = text[stop]
    if mark == "\n":
        return text[stop + 1] != "\n" and text.find("\n", stop + 2, following) < 0
    if text[following : following + 1].islower():
        return True
    if mark != "." or text[stop + 1] == "." or text[stop - 2 : stop] in _OTHER_ENDINGS:
        return False
    words = text[stop - _LONGEST if stop > _LONGEST else 0 : stop].split()
    word = words[-1].lstrip("\"'([“‘«") if words else ""
    # `J` of 'J. Smith', and what has dots inside: 'e.g.', 'U.S.'.
    if word[-2:-1] == "." or (len(word) == 1 and word.isupper()):
        return True
    if not word.isascii():
        word = word.translate(_OTHER_CASES)
    return word.lower() in _ABBREVIATIONS
