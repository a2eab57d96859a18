"""Where sentences begin, by punctuation and a short list of abbreviations. No model."""

import re
from collections.abc import Iterator

# One bare class first: only then does `re` skip to a candidate instead of trying each place.
# The look behind keeps it from trying each dot of a dotted line anew.
_STOP = re.compile(
    r"[.!?…؟۔।。！？｡\n](?<![.!?…؟۔।。！？｡].)[.!?…؟۔।。！？｡]*+[\"')\]”’»」』）】〉》]*+"
    r"(?:\s++|(?<=[。！？｡」』）】〉》]))",  # some scripts put no blank behind a sentence
    re.DOTALL,
)
_LONGEST = 8
_ABBREVIATION = re.compile(
    r"approx|bzw|ca|capt|cf|dept|dr|eq|figs?|gov|hon|inc|jr|lt|ltd|messrs|mrs?|ms|nos|nr|pp"
    r"|prof|rev|sen|sgt|sr|st|vgl|vols?|vs",
    re.IGNORECASE,
)


def sentence_starts(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Offsets behind the sentences, titles and paragraphs that end between `start` and `end`.

    A stop before a small letter, behind an abbreviation or behind an initial ends nothing.
    """
    for stop in _STOP.finditer(text, start, len(text) if end is None else end):
        if not _goes_on(text, stop.start(), stop.end()):
            yield stop.end()


def _goes_on(text: str, stop: int, following: int) -> bool:
    mark = text[stop]
    if mark == "\n":
        return text.find("\n", stop + 1, following) < 0
    if text[following : following + 1].islower():
        return True
    if mark != "." or text[stop + 1 : stop + 2] == ".":
        return False
    words = text[max(0, stop - _LONGEST) : stop].split()
    word = words[-1].lstrip("\"'([“‘«") if words else ""
    return bool(_ABBREVIATION.fullmatch(word)) or _is_initial(word)


def _is_initial(word: str) -> bool:
    """`J` of 'J. Smith', and what has dots inside: 'e.g.', 'U.S.'."""
    return word[-2:-1] == "." or (len(word) == 1 and word.isupper())
