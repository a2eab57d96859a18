"""What it costs to take documents in, to delete and to replace them."""

import shutil
import statistics
from pathlib import Path

from bench.contestants import BARE, SCAN, VECTOR, contestants
from bench.environments import FILES
from bench.figures import OURS, Cell, Row, Table
from bench.libraries import mark_of, model_of
from bench.running import Run
from bench.texts import sentences, write_documents
from bench.turns import Contestant, Field, Seat, Sheet, entered

COMMAND = "python -m bench --only ingestion"
OWN_PART = 150
PEER = "LangChain, Chroma"
ALONE = "the model alone"
_BUILDING = 240.0
_REPEATS = 3

_PARTS = (
    "Taken apart, the process of the index has about a quarter of all that a chunk takes, the catalog "
    "and finding its words a sixth each, counting its tokens a fifteenth, keeping the original and "
    "reading it as much; most of the rest are changes of thread."
)
_MEMORY = (
    "Ours reads each file in a process apart, keeps its original and its text, and has every "
    "document durable and searchable by meaning and by words as it comes. Most others keep chunks and "
    "vectors only, and those that write a file at the end (FAISS, simple, in memory, txtai) lose all "
    "of it in a crash before that. To be as fast, ours would have to give these up."
)
_OVERLAP = (
    "It is the model's own time: taken apart, 49 parts in 50 of ours. All cut this one text of 40,000 "
    "characters into 62 chunks, but ours overlap by up to the 150 characters that are asked for; the "
    "splitter of the others, whose chunks the floor reads, too, overlaps by whole paragraphs, and so "
    "hardly ever: 48,098 characters to read beside 41,023. To be level, ours would have to give up "
    "the overlap."
)
_WHY = {
    "delete": "Ours hides the document first, removes it from index, files, cache and catalog, and "
    "counts then what is left of it; Qdrant is given ids, and removes their points. To be as fast, "
    "ours would have to trust that all of it is gone.",
    "replace": "Ours writes a new version beside the old one and removes that afterwards, so that a "
    "search sees one or the other; others delete first, or change what they have in memory. To be as "
    "fast, ours would have to do so, too.",
}


def measure(run: Run, documents: int = 0) -> list[Table]:
    documents = documents or (10 if run.is_quick else 100)
    changes = 2 if run.is_quick else 5
    repeats = 2 if run.is_quick else _REPEATS
    texts = _texts(run, documents, changes)
    work = run.cache / "taken in"
    shutil.rmtree(work, ignore_errors=True)
    sheet = Sheet()
    with entered(run) as field:
        field.enter(_contestants(run), lambda one, its: _begin(one, its, texts, work))
        for number in range(repeats):
            _take_in(field, sheet, texts, work, number)
        _change(field, sheet, texts, work / str(repeats - 1))
        _with_model(field, sheet, run, texts, work)
        missing = dict(field.missing)
    shutil.rmtree(work, ignore_errors=True)
    return [_table(sheet, documents, missing), _changes(sheet, documents)]


def _contestants(run: Run) -> list[Contestant]:
    peers = [one for one in contestants(run) if one.name not in (BARE, SCAN)]
    return [Contestant(BARE, "bare", "points"), *peers]


def _texts(run: Run, documents: int, changes: int) -> Path:
    folder, pool = run.cache / "texts" / str(documents), sentences()
    made, mark = folder / "made", mark_of([Path(__file__), FILES.parent / "texts.py"], *pool)
    if not made.exists() or made.read_text("ascii") != mark:
        shutil.rmtree(folder, ignore_errors=True)
        names = [f"document-{number:05}.txt" for number in range(documents)]
        write_documents(folder / "warm", ["warm.txt"], pool, 0)
        write_documents(folder / "files", names, pool, 1)
        write_documents(folder / "changed", names[-changes - 1 :], pool, 2)
        write_documents(folder / "read", ["read.txt"], pool, 3, 10_000 if run.is_quick else 40_000)
        made.write_text(mark, "ascii")
    return folder


def _begin(one: Contestant, its: Seat, texts: Path, work: Path) -> None:
    """What is loaded late is loaded then."""
    _build(one, its, texts / "warm", work / "warm")


def _build(one: Contestant, its: Seat, files: Path, work: Path) -> tuple[float, float, int]:
    """Microseconds of CPU for a chunk without the vectors', and of wall time; how many chunks."""
    folder = work / one.place
    took = its.do("build", seconds=_BUILDING, folder=str(folder), files=str(files), ways=[VECTOR])
    chunks, model = took.value["chunks"], took.value["model"]
    return (took.cpu - model) / chunks * 1e6, took.wall / chunks * 1e6, chunks


def _take_in(field: Field, sheet: Sheet, texts: Path, work: Path, number: int) -> None:
    for one, its in field.each(number):
        with field.leaving(one.name):
            cpu, wall, _ = _build(one, its, texts / "files", work / str(number))
            sheet.note("chunk", one.name, cpu, wall)


def _change(field: Field, sheet: Sheet, texts: Path, work: Path) -> None:
    """Delete some of the first documents, and replace as many of the last; the first is for free."""
    for one, its in field.each():
        with field.leaving(one.name):
            its.do("open", folder=str(work / one.place), ways=[VECTOR])
    names = sorted(path.name for path in (texts / "files").iterdir())
    newer = sorted((texts / "changed").iterdir())
    for number, (name, path) in enumerate(zip(names, newer, strict=False)):
        for one, its in field.each(number):
            with field.leaving(one.name):
                deleted = its.do("delete", name=name)
                replaced = its.do("replace", path=str(path))
                if number:
                    sheet.note("delete", one.name, deleted.cpu * 1e3, deleted.wall * 1e3)
                    spent = replaced.cpu - replaced.value
                    sheet.note("replace", one.name, spent * 1e3, replaced.wall * 1e3)
    for one, its in field.each():
        with field.leaving(one.name):
            its.do("close")


def _with_model(field: Field, sheet: Sheet, run: Run, texts: Path, work: Path) -> None:
    """It is the model that takes the time; the first turn of each loads it."""
    place, files = str(model_of(run)), str(texts / "read")
    if BARE in field.seats:
        field.seats.pop(BARE).end()
    field.enter([Contestant(ALONE, "nothing")], lambda _, its: its.do("prepare", kind="table"))
    for one, its in field.each():
        with field.leaving(one.name):
            its.do("prepare", kind="local", place=place)
    for number in range(2 if run.is_quick else 1 + run.repeats):
        for one, its in field.each(number):
            with field.leaving(one.name):
                folder = str(work / "read" / str(number) / one.place)
                took = its.do("build", folder=folder, files=files, ways=[VECTOR])
                each = 1e3 / took.value["chunks"]
                if number:
                    sheet.note("model", one.name, took.cpu * each, took.wall * each)


def _table(sheet: Sheet, documents: int, missing: dict[str, str]) -> Table:
    cells = sheet.cells("chunk")
    return Table(
        f"Taking in {documents} documents of some 75 chunks",
        "From files until they are durable and searchable, and nothing goes on in the background. "
        "Chunks of 1,000 characters with an overlap of 150. With free vectors, these come from a "
        "table and what that takes is subtracted; with the model, all run the same network, text by "
        "text. Ours has its processes and Haystack its server before the clock starts; a client of "
        "Chroma is made after that. The floor has the texts cut and embedded beforehand, and gives points to the "
        "engine. The peers that keep their words' index in memory alone make it at each start, "
        "which is not in here.",
        [
            Row("a chunk, free vectors", "µs CPU", cells, floor=BARE, why=_MEMORY),
            Row(
                "a chunk, with the local model",
                "ms CPU",
                sheet.cells("model"),
                floor=ALONE,
                why=_OVERLAP,
            ),
        ],
        COMMAND,
        _own_part(cells),
        missing,
    )


def _own_part(cells: dict[str, Cell]) -> list[str]:
    """Ours less the bare engine, each run beside its neighbour: both have the same noise."""
    if OURS not in cells or BARE not in cells:
        return []
    pairs = zip(cells[OURS].values, cells[BARE].values, strict=False)
    own = statistics.median(ours - bare for ours, bare in pairs)
    met = "met" if own <= OWN_PART else "missed"
    return [
        f"our own part above the engine's calls at most {OWN_PART} µs a chunk: {own:.0f}, {met}"
        + (f". {_PARTS}" if met == "missed" else "")
    ]


def _changes(sheet: Sheet, documents: int) -> Table:
    rows = [
        Row(f"{what} a document", "ms CPU", sheet.cells(what), floor=BARE, why=why)
        for what, why in _WHY.items()
    ]
    targets = []
    for row in rows:
        if OURS in row.cells and PEER in row.cells:
            ratio = row.cells[OURS].median / row.cells[PEER].median
            met = "met" if ratio < 1 else "missed"
            targets.append(f"to {row.what} takes less CPU than {PEER}: {ratio:.2f} of it, {met}")
    return Table(
        f"Changing a library of {documents} documents",
        "A document of some 75 chunks goes, or is replaced by one of which every chunk is new; "
        "durable when the call is over. Whoever has its library in memory writes all of it anew, "
        "which takes longer the larger it is. The tenth of a second that follows counts, too. The floor "
        "makes the engine's calls, and flushes; to replace a document, it cuts it as ours does.",
        rows,
        COMMAND,
        targets,
    )
