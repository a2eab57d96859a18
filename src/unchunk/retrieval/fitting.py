"""As much as there is room for, where only the whole can be measured."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from unchunk.retrieval.evidence import Kind, ReconstructedDocument
from unchunk.retrieval.reconstruct import compose, merge
from unchunk.retrieval.shelf import Sheet
from unchunk.text.sentences import sentence_starts

# Fewer characters of a text say nothing.
_SHORTEST = 20


def most(fits: Callable[[int], bool], limit: int, guess: int = 1) -> int:
    """The largest number from 1 to `limit` that fits, else 0; a good guess saves asking.

    Where a larger one fits although a smaller does not, it is one of those that fit.
    """
    low, high, step = 0, limit + 1, 1
    at = min(guess, limit)
    while low < at < high:
        if fits(at):
            low = at
        else:
            high = at
        if low and high <= limit:
            at = (low + high) // 2
        else:
            at = min(at + step, limit) if low else max(at - step, 1)
            step *= 2
    return low


def beginning(
    sheet: Sheet,
    index: int,
    scores: Mapping[int, float],
    tag: str,
    fits: Callable[[str], bool],
    *,
    kind: Kind = "passages",
) -> ReconstructedDocument | None:
    """A chunk that is too long for its room, cut behind a sentence, else behind a word.

    A mark says that it is cut. None where so little fits that it says nothing.
    """
    piece = sheet.pieces[index]
    text = piece.text

    def cut(end: int) -> ReconstructedDocument:
        chunk = piece.chunk._replace(end=piece.chunk.start + end)
        short = replace(sheet, pieces={index: piece._replace(chunk=chunk, text=text[:end])})
        return compose(short, merge(short, [index]), scores, kind, tag, is_cut=True)

    end = _last_fitting(text, sentence_starts(text), lambda end: fits(cut(end).full_content))
    if not end:
        blanks = (at + 1 for at, sign in enumerate(text) if sign.isspace())
        end = _last_fitting(text, blanks, lambda end: fits(cut(end).full_content))
    return None if end < _SHORTEST else cut(end)


def _last_fitting(text: str, ends: Iterable[int], fits: Callable[[int], bool]) -> int:
    first = len(text) - len(text.lstrip())
    places = [at for at in ends if first < at < len(text)]
    number = most(lambda n: fits(places[n - 1]), len(places))
    return places[number - 1] if number else 0
