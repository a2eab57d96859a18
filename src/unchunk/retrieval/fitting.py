"""As much as there is room for, where only the whole can be measured."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from unchunk.retrieval.evidence import Kind, ReconstructedDocument
from unchunk.retrieval.reconstruct import compose, merge
from unchunk.retrieval.shelf import Sheet
from unchunk.text.truncation import SHORTEST, cut_points


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
    fits: Callable[[ReconstructedDocument], bool],
    *,
    kind: Kind = "passages",
) -> ReconstructedDocument | None:
    """A chunk that is too long for its room, cut after a sentence, a word or a character.

    A mark says that it is cut. None where so little fits that it says nothing.
    """
    piece = sheet.pieces[index]
    text = piece.text

    def cut(end: int) -> ReconstructedDocument:
        chunk = piece.chunk._replace(end=piece.chunk.start + end)
        short = replace(sheet, pieces={index: piece._replace(chunk=chunk, text=text[:end])})
        return compose(short, merge(short, [index]), scores, kind, tag, is_cut=True)

    length = most(lambda end: fits(cut(end)), len(text) - 1)
    said = (end for end in cut_points(text, length) if len(text[:end].strip()) >= SHORTEST)
    return next((made for end in said if fits(made := cut(end))), None)
