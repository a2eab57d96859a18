"""Where a text that is too long is cut."""

from collections.abc import Iterator

from unchunk.text.graphemes import border_after, border_before
from unchunk.text.sentences import last_sentence, sentence_starts

# A shorter fragment is not worth showing.
SHORTEST = 20


def cut_points(text: str, length: int) -> Iterator[int]:
    """Yield where to cut a text that is longer than `length`, the best place first.

    After a sentence or a word if at least half of `length` stays, else after any character.
    """
    half = length // 2 + 1
    if (sentence := last_sentence(text, 0, length)) >= half:
        yield sentence
    blanks = (at for at in range(length, half - 1, -1) if text[at].isspace())
    # Of a run of blanks, the first is enough.
    yield from (at for at in blanks if not text[at - 1].isspace())
    yield border_before(text, length)


def tail_start(text: str, length: int) -> int:
    """Where the end of a text that is longer than `length` begins if it is cut in the same way."""
    first, last = len(text) - length, len(text) - length // 2 - 1
    starts = sentence_starts(text, max(first - 2, 0), last + 1)
    sentence = next((at for at in starts if first <= at <= last), None)
    words = (at for at in range(first, last + 1) if text[at - 1].isspace())
    return sentence or next(words, None) or border_after(text, first)


def beginning(text: str, length: int) -> str:
    """At most `length` characters of a text that is longer; empty if they say nothing."""
    kept = text[: next(cut_points(text, length))].rstrip()
    return kept if len(kept) >= SHORTEST else ""
