"""How fast overlapping chunks are put together again, and how many texts come back."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from bench.figures import OURS, Row, Table
from bench.recovery import corpus, foreign, literal, longest
from bench.running import Run
from bench.turns import Sheet
from unchunk import ChunkingStrategy, stitch, stitch_files
from unchunk.text.tokens import get_encoding

MEGABYTE = 1_000_000
COMMAND = "python -m bench --only stitching"
JOINED, EACH, LITERAL = "slices joined", "overlap searched, each pair", "one overlap for all"
LONGEST = "longest overlap, each pair"
# The search of each pair is quadratic: it is timed on so many, and told for all.
_PAIRS = 200
_EDGE = 8
_WHY_SPEED = "Ours cuts the text again and compares, to prove that it is right; the others do not."


def measure(run: Run) -> list[Table]:
    return [_speed(run), _exactness(run)]


def _speed(run: Run) -> Table:
    strategy, sheet = ChunkingStrategy("tokens", 800, 400), Sheet()
    sizes = (1, 4) if run.is_quick else (1, 4, 16, 100)
    for size in sizes:
        text = megabytes(size)
        chunks = list(get_encoding().windows(text, strategy.size, strategy.overlap))
        slices = _slices(text, chunks)
        some = chunks[: _PAIRS + 1]
        share = len(chunks) / len(some)
        row = f"known strategy, {size} MB"
        for number in range(3 if size > 4 else run.repeats):
            run.say(f"{row}: {number + 1}")
            took = _took(partial(_stitched, chunks, strategy), text)
            sheet.note(row, OURS, size / took[0], size / took[1])
            took = _took(partial(_joined, chunks, slices), text)
            sheet.note(row, JOINED, size / took[0], size / took[1])
            took = _took(partial(_searched, some))
            sheet.note(row, EACH, size / took[0] / share, size / took[1] / share)
    names = [f"known strategy, {size} MB" for size in sizes]
    rows = [Row(name, "MB/s", sheet.cells(name), "more", JOINED, _WHY_SPEED) for name in names]
    intro = (
        "Windows of 800 tokens that share 400, of a mixed megabyte again and again. Nobody else has"
        " this, so ours stands beside what one would write: for each pair the longest end that is a"
        " beginning, tried length by length (timed on some pairs). Ours also cuts the text again,"
        " to prove it. The floor knows every overlap beforehand, and joins slices."
    )
    return Table("Stitching", intro, rows, COMMAND)


def _stitched(chunks: Sequence[str], strategy: ChunkingStrategy) -> str:
    return stitch(chunks, strategy).text


def _took(work: Callable[[], str], wanted: str = "") -> tuple[float, float]:
    """CPU and wall seconds."""
    begun, cpu_begun = time.perf_counter(), time.process_time()
    text = work()
    took = time.process_time() - cpu_begun, time.perf_counter() - begun
    if wanted and text != wanted:
        raise ValueError("the text did not come back")
    return took


def _exactness(run: Run) -> Table:
    texts = dict(corpus.natural()[:: 20 if run.is_quick else 3])
    chunkers = [
        *(foreign.tokens(*pair) for pair in [(800, 400), (512, 64), (300, 0)]),
        foreign.words(320, 80),
        foreign.chars(1000, 200),
        foreign.recursive(),
        foreign.sentences(),
    ]
    sheet = Sheet()
    for chunker in chunkers:
        run.say(f"{chunker.name}: {len(texts)} texts")
        cut = {name: chunker.cut(text) for name, text in texts.items()}
        files = {name: chunks for name, chunks in cut.items() if len(chunks) > 1}
        wanted = {name: chunker.leaves(texts[name]) for name in files}
        ours = {name: one.text for name, one in stitch_files(files).items()}
        each = {name: longest(chunks) for name, chunks in files.items()}
        for who, found in ((OURS, ours), (LONGEST, each), (LITERAL, literal(files))):
            sheet.note(chunker.name, who, _percent(found, wanted))
    rows = [Row(one.name, "% of files", sheet.cells(one.name), "more") for one in chunkers]
    intro = (
        "Files of more than one chunk that come back byte for byte, from a store that does not say"
        " how it was cut. Beside ours, the longest overlap of each pair, and one overlap for all,"
        " measured on the first pair. [What comes back](recovery.md) tells it in full."
    )
    return Table("Texts that come back", intro, rows, COMMAND)


def _percent(found: Mapping[str, str], wanted: Mapping[str, str]) -> float:
    return 100 * sum(found[name] == wanted[name] for name in wanted) / max(len(wanted), 1)


def megabytes(size: int) -> str:
    """The same megabyte again and again, of all kinds of text, so that sizes compare."""
    base = "\n\n".join(text for _, text in corpus.natural()[::9])[:MEGABYTE]
    return (base * (size * MEGABYTE // len(base) + 1))[: size * MEGABYTE]


def _slices(text: str, chunks: Sequence[str]) -> list[slice]:
    """What the floor is told: which part of each chunk to take."""
    firsts = [0]
    for chunk in chunks[1:]:
        # A character that was cut in two at an edge is not there to be found.
        edge = _EDGE if len(chunk) > 2 * _EDGE else 0
        firsts.append(text.index(chunk[edge : len(chunk) - edge], firsts[-1]) - edge)
    ends = [after - first + _EDGE for first, after in pairwise(firsts)]
    return [slice(_EDGE if at else 0, end) for at, end in enumerate([*ends, None])]


def _joined(chunks: Sequence[str], slices: Sequence[slice]) -> str:
    return "".join([chunk[one] for chunk, one in zip(chunks, slices, strict=True)])


def _searched(chunks: Sequence[str]) -> str:
    parts = [chunks[0]]
    for left, right in pairwise(chunks):
        shared = range(min(len(left), len(right)), 0, -1)
        overlap = next((one for one in shared if left[-one:] == right[:one]), 0)
        parts.append(right[overlap:])
    return "".join(parts)
