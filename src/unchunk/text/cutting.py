"""Where a text that is too long is cut."""

from collections.abc import Iterator

from unchunk.text.graphemes import border_before
from unchunk.text.sentences import last_sentence

# Fewer characters of a text say nothing.
SHORTEST = 20


def ends(text: str, length: int) -> Iterator[int]:
    """Yield where to cut a text that is longer than `length`, the best place first.

    After a sentence or a word if at least half of `length` stays, else after any character.
    """
    half = length // 2 + 1
    if (sentence := last_sentence(text, 0, length)) >= half:
        yield sentence
    yield from (at for at in range(length, half - 1, -1) if text[at].isspace())
    yield border_before(text, length)


def beginning(text: str, length: int) -> str:
    """At most `length` characters of a text that is longer; empty if they say nothing."""
    kept = text[: next(ends(text, length))].rstrip()
    return kept if len(kept) >= SHORTEST else ""
