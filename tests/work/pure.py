"""Work of the pure core on fixed small inputs, to be counted: see `test_pure.py`.

Run as a program it does each piece once, with a mark before and behind it that callgrind sees.
Nothing is drawn at random and nothing outside of the pure rooms is imported, so that two runs
count the same, and start quickly.
"""

import gc
import os
import sys
from collections.abc import Callable
from itertools import cycle, islice

from unchunk.domain import Boundaries, Chunk, ChunkingStrategy, Span
from unchunk.retrieval.duplicates import compared
from unchunk.retrieval.fusion import Ranking, best_first, blend, by_rank
from unchunk.retrieval.marking import tag_for
from unchunk.retrieval.selection import Draft, select
from unchunk.retrieval.shelf import Piece, Place, Sheet
from unchunk.text.chunking import chunk
from unchunk.text.stitching import stitch, stitch_chunks

Work = Callable[[], object]

FLOOR = "a loop over the characters"
MARK = "getloadavg"
"""A function of the system that nothing else here calls."""

_LENGTH = 24_000
_NOUNS = [
    "harbour",
    "keeper",
    "lighthouse",
    "river",
    "evidence",
    "winter",
    "finch",
    "ledger",
    "island",
    "captain",
]
_VERBS = ["counts", "follows", "remembers", "crosses", "repairs", "forgets"]
_CHARS, _WORDS = ChunkingStrategy("chars", 1000, 200), ChunkingStrategy("words", 100, 25)


def _text() -> str:
    """Sentences that are all different, paragraphs of five, a heading now and then."""
    lines, length, number = list[str](), 0, 0
    nouns, verbs = cycle(_NOUNS), cycle(_VERBS)
    while length < _LENGTH:
        number += 1
        one, other, third = islice(nouns, 3)
        said = f"The {one} of {number * 7919 % 10007} {next(verbs)} the {other}, says the {third}. "
        head = f"\n\n## {one.title()} {number}\n\n" if number % 40 == 1 else ""
        lines.append(f"{head}{said}" if number % 5 else f"{said}\n\n")
        length += len(lines[-1])
    return "".join(lines)[:_LENGTH]


TEXT = _text()


def works() -> dict[str, Work]:
    """All of it, by name; the floor first."""
    return {
        FLOOR: _loop,
        **{
            f"chunking by {unit} in windows": _chunking(strategy, "window")
            for unit, strategy in (("chars", _CHARS), ("words", _WORDS))
        },
        "chunking at boundaries": _chunking(_CHARS, "boundary"),
        "chunking Markdown": _chunking(_CHARS, "markdown"),
        "stitching by the strategy": _stitching(),
        "stitching by the overlap": _literal(),
        "fusing by rank": lambda: best_first(by_rank(_rankings())),
        "fusing by score": lambda: best_first(blend(0.7)(_rankings())),
        "telling copies": _copies(),
        "selecting and merging passages": _selecting(None),
        "selecting passages within a budget": _selecting(6000),
        "looking for forged marks": lambda: tag_for([TEXT]),
    }


def _loop() -> int:
    count = 0
    for _ in TEXT:
        count += 1
    return count


def _chunking(strategy: ChunkingStrategy, boundaries: Boundaries) -> Work:
    return lambda: chunk(TEXT, strategy, boundaries=boundaries)


def _pieces(strategy: ChunkingStrategy) -> list[str]:
    return [span.of(TEXT) for span in chunk(TEXT, strategy)]


def _stitching() -> Work:
    pieces = _pieces(_WORDS)
    return lambda: stitch(pieces, _WORDS)


def _literal() -> Work:
    pieces = _pieces(_CHARS)
    return lambda: stitch_chunks(pieces, _CHARS.overlap)


def _rankings() -> list[Ranking]:
    """As many as a question gives, half of them found both ways."""
    return [
        Ranking(way, [(Place("document", 1, at * step), 1 / (at + 1)) for at in range(66)])
        for way, step in (("dense", 1), ("lexical", 2))
    ]


def _copies() -> Work:
    found = [
        (Place(f"document {at}", 1, at), 0.5, piece)
        for at, piece in enumerate(_pieces(_CHARS)[:12])
    ]
    return lambda: compared(found)


def _selecting(budget: int | None) -> Work:
    spans = chunk(TEXT, _CHARS, boundaries="boundary")
    drafts = [
        Draft(_sheet(number, spans), {3: 0.6, 9: 0.5, 17: 0.4}, {3: 1.0, 4: 0.5, 9: 0.8, 17: 0.6})
        for number in range(6)
    ]
    return lambda: select(drafts, budget=budget)


def _sheet(number: int, spans: list[Span]) -> Sheet:
    pieces = {
        at: Piece(Chunk(at, span.start, span.end), span.of(TEXT)) for at, span in enumerate(spans)
    }
    name = f"document {number}"
    return Sheet(
        document=name,
        name=name,
        folder="",
        title="",
        content_type="text/plain",
        chunk_count=len(pieces),
        pieces=pieces,
        metadata={},
    )


def main(*names: str) -> None:
    """Each of the works, with a mark before and behind it; once before, as others do it often."""
    every = works()
    for name in names or every:
        work = every[name]
        work()
        gc.collect()
        gc.disable()
        os.getloadavg()
        work()
        os.getloadavg()
        gc.enable()


if __name__ == "__main__":
    main(*sys.argv[1:])
