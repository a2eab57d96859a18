"""What a question costs as a library grows."""

from bench.contestants import BARE, BY_INDEX, BY_SCAN, CONTEXT, SCAN, VECTOR
from bench.figures import OURS, Row, Table
from bench.libraries import corpus_of
from bench.measures.asking import ELSEWHERE, WIDENS
from bench.questions import Asking
from bench.running import Run
from bench.turns import Sheet, entered

COMMAND = "python -m bench --only growth"
_WAYS = (VECTOR, CONTEXT)
_LARGE = 50_000
# Those of the peers that write half a million chunks in minutes.
_QUICK_TO_BUILD = ("LangChain, FAISS", "txtai")
_REPEATS = 5
_SMALL = (
    "A small library is looked at whole, by whoever has it in the process that asks; ours asks "
    "another process for it. To be as fast, ours would need its index in the same process."
)


def measure(run: Run, sizes: tuple[int, ...] = ()) -> list[Table]:
    sizes = sizes or ((1_000, 5_000) if run.is_quick else (5_000, 50_000, 500_000))
    sheet, missing = Sheet(), dict[str, str]()
    for size in sizes:
        corpus = corpus_of(run, size)
        with entered(run) as field:
            asking = Asking(field, corpus)
            asking.enter(_names(size, is_quick=run.is_quick), _WAYS)
            for number in range(min(run.repeats, _REPEATS)):
                for way in _WAYS:
                    asking.ask(sheet, way, f"{way}, {size:,} chunks", number)
            missing |= {f"{name}, {size:,} chunks": why for name, why in field.missing.items()}
    if run.is_quick:
        missing["peers"] = "they take part in the full run"
    elif sizes[-1] > _LARGE:
        missing[f"all other peers, more than {_LARGE:,} chunks"] = (
            "by what 50,000 take, to build and open a library of each takes five to twenty minutes"
        )
    rows = []
    for way, names, floor, note, why in (
        (VECTOR, BY_INDEX, BARE, ", peers with an index", ELSEWHERE),
        (VECTOR, BY_SCAN, SCAN, ", peers that look at all rows", _SMALL),
        (CONTEXT, None, BARE, "", WIDENS),
    ):
        for size in sizes:
            name = f"{way}, {size:,} chunks"
            cells = sheet.cells(name, names)
            rows.append(Row(name + note, "ms CPU", cells, floor=floor, why=why))
    return [
        Table(
            "Growth",
            "As in the table of questions, for libraries of several sizes. Up to some 41,000 chunks "
            "the engine looks at all rows, and has a graph from there on.",
            rows,
            COMMAND,
            _targets(sheet, sizes),
            missing,
        )
    ]


def _names(size: int, *, is_quick: bool) -> tuple[str, ...] | None:
    if is_quick:
        return OURS, BARE, SCAN
    return (OURS, BARE, SCAN, *_QUICK_TO_BUILD) if size > _LARGE else None


def _targets(sheet: Sheet, sizes: tuple[int, ...]) -> list[str]:
    """Growth that is slower than the floor's is not our doing."""
    few, many = (sheet.cells(f"{CONTEXT}, {size:,} chunks") for size in (sizes[0], sizes[-1]))
    if not all(name in cells for name in (OURS, BARE) for cells in (few, many)):
        return []
    ours, bare = (many[name].median / few[name].median for name in (OURS, BARE))
    met = "met" if ours <= bare else "missed"
    sizes_told = f"from {sizes[0]:,} to {sizes[-1]:,} chunks"
    told = f"{ours:.2f} times beside {bare:.2f}, {met}"
    return [f"{sizes_told} a question grows no faster than the engine's calls: {told}"]
