"""What a question costs, without the model, in every way that a contestant has."""

import statistics

from bench.contestants import BARE, BY_INDEX, BY_SCAN, CONTEXT, HYBRID, LEXICAL, SCAN, VECTOR
from bench.figures import OURS, Cell, Row, Table
from bench.libraries import corpus_of, note_of
from bench.peers.asked import repeated
from bench.questions import Asking
from bench.running import Run
from bench.turns import Sheet, entered

COMMAND = "python -m bench --only asking"
CLIENTS = 8
RAW = "texts and vectors"
MOST, LEAST = 2.0, 0.97
_AT_ONCE = (VECTOR, HYBRID, CONTEXT)
# Questions: what is found of the nearest varies by more than what is shown twice.
_FOUND, _SHOWN, _OF_QUICK = 1_000, 200, 100

ELSEWHERE = (
    "Ours asks an index in a process of its own and reads the texts from a catalog on disk that "
    "several processes may share; most others have all of it in the process that asks. Taken apart "
    "at 50,000 chunks, a question by words spends two fifths of its time in the process of the index, "
    "and one by vector more than half; about half of the rest goes into reading ten chunks from the "
    "catalog. To be as fast, ours would need its index in the same process, and its texts in memory."
)
WIDENS = (
    "Ours searches by meaning and by words, compares documents, and joins passages so that no "
    "character comes twice; others look up ten vectors and fetch what stands beside or around them. "
    "A compiled core would take less; to be level, ours would also have to search in one way only."
)
_PARTS = (
    "Taken apart at 50,000 chunks, the process of the index has two fifths of it; about a tenth each "
    "goes into reading the catalog and into looking for the question's words in doubtful hits, a "
    "fifteenth into choosing and joining passages, a twenty-fifth into finding copies, and what is "
    "left are many small things in Python"
)
_MAPPED = (
    "Three quarters of ours at 50,000 chunks are files of the index that are mapped, which the system "
    "may take back, and a fifth is what its process holds. Vectors of one byte for a dimension would "
    "save a quarter, and find less; for more, ours would need its index in the process that asks."
)
_KEPT = (
    "Ours keeps originals, whole texts and an index by words beside the vectors. Of 381 MB at 50,000 "
    "chunks the vectors take 77 in the index, and 107 where they are kept for the next reindex, words "
    "51, the log of the index 51, texts and catalog 41, originals 38, and where a chunk belongs 14. To "
    "be as small, ours would have to do without the search by words, the log and most of the rest."
)
_APPROXIMATE = (
    "A graph with the engine's usual settings misses a few in a hundred; whoever looks at all "
    "rows misses none, and takes longer the more there are."
)


def measure(run: Run, chunks: int = 0) -> list[Table]:
    chunks = chunks or (1_000 if run.is_quick else 50_000)
    corpus = corpus_of(run, chunks)
    with entered(run) as field:
        asking = Asking(field, corpus)
        asking.enter()
        sheet = Sheet()
        for number in range(run.repeats):
            for way in (VECTOR, LEXICAL, HYBRID, CONTEXT):
                asking.ask(sheet, way, way, number)
        for number in range(1 if run.is_quick else 3):
            for way in _AT_ONCE:
                asking.ask_at_once(sheet, way, CLIENTS, number)
        _look(asking, sheet)
        count = len(asking.data.chunks)
        for one in [one for one, _ in field.each() if one.name != BARE]:
            sheet.note("memory", one.name, asking.held[one.name] / count / 1000)
            if one.name != SCAN:
                sheet.note("disk", one.name, note_of(corpus, one)["bytes"] / count / 1000)
        sheet.note("disk", RAW, (len(asking.data.text) + asking.data.vectors.nbytes) / count / 1000)
        missing = dict(field.missing)
    return [
        _singly(sheet, chunks, missing),
        _at_once(sheet, chunks),
        _quality(sheet, chunks),
        _room(sheet, chunks),
    ]


def _look(asking: Asking, sheet: Sheet) -> None:
    some = asking.questions.some(_OF_QUICK if asking.field.run.is_quick else _FOUND)
    for one in [one for one, _ in asking.field.each() if one.name != BARE]:
        with asking.field.leaving(one.name):
            if (one.name, VECTOR) in asking.paces:
                asked, found = asking.look(one, VECTOR, some)
                sheet.note("recall", one.ways[VECTOR], asking.data.recall(asked, found))
            if (one.name, CONTEXT) in asking.paces:
                _, found = asking.look(one, CONTEXT, some[:_SHOWN])
                counts = [repeated(spans) for spans in found]
                total, again = (sum(column) for column in zip(*counts, strict=True))
                sheet.note("twice", one.ways[CONTEXT], 100 * again / max(total, 1))


def _singly(sheet: Sheet, chunks: int, missing: dict[str, str]) -> Table:
    rows = [
        _row(sheet.cells(VECTOR, BY_INDEX), "vector, peers with an index", BARE, ELSEWHERE),
        _row(sheet.cells(VECTOR, BY_SCAN), "vector, peers that look at all rows", SCAN, ELSEWHERE),
        _row(sheet.cells(LEXICAL), "lexical", BARE, ELSEWHERE),
        _row(sheet.cells(HYBRID), "hybrid", BARE, ELSEWHERE),
        _row(sheet.cells(CONTEXT), "chunk-aware", BARE, WIDENS),
    ]
    return Table(
        f"A question to {chunks:,} chunks",
        "The same chunks, the same vectors, ten wanted, and vectors at no cost, so that the model "
        "is not in it. CPU is that of a process and of all that it starts. Contestants take turns "
        "batch by batch. The floor makes the very calls of the engine that our question makes, in "
        "the process that is measured. By vector or by words alone ours has no call for users: its "
        "index and its catalog are asked. Chunk-aware is what each library has for more than single "
        "chunks: ours searches by both ways, and joins neighbours into passages.",
        rows,
        COMMAND,
        _targets(rows[-1].cells),
        missing,
    )


def _row(cells: dict[str, Cell], what: str, floor: str, why: str) -> Row:
    return Row(what, "ms CPU", cells, floor=floor, why=why)


def _targets(cells: dict[str, Cell]) -> list[str]:
    if OURS not in cells or BARE not in cells:
        return []
    pairs = zip(cells[OURS].values, cells[BARE].values, strict=False)
    ratio = statistics.median(ours / bare for ours, bare in pairs)
    met = "met" if ratio <= MOST else "missed"
    told = f"CPU of a chunk-aware question at most {MOST:g} times bare calls: {ratio:.1f}, {met}"
    return [told + (f". {_PARTS}" if met == "missed" else "")]


def _at_once(sheet: Sheet, chunks: int) -> Table:
    rows = []
    for way in _AT_ONCE:
        others = set(sheet.cells(f"{way} CPU")) - {SCAN}
        cpu, rate = (sheet.cells(f"{way} {what}", others) for what in ("CPU", "rate"))
        why = WIDENS if way == CONTEXT else ELSEWHERE
        rows.append(Row(f"{way}, a question", "ms CPU", cpu, floor=BARE, why=why))
        rows.append(Row(f"{way}, all together", "questions/s", rate, "more", BARE, why))
    return Table(
        f"{CLIENTS} clients at once, {chunks:,} chunks",
        "Each asks as soon as it has its answer, inside one process, as a server would have it: ours "
        "in one loop, the others in threads. Whoever takes seconds for a single question is asked "
        "in one round only, or not at all.",
        rows,
        COMMAND,
    )


def _quality(sheet: Sheet, chunks: int) -> Table:
    recall, twice = sheet.cells("recall"), sheet.cells("twice")
    targets = []
    if OURS in recall:
        met = "met" if recall[OURS].median >= LEAST else "missed"
        told = f"recall at least {LEAST}: {recall[OURS].median:.3f}, {met}"
        targets.append(told + (f". {_APPROXIMATE}" if met == "missed" else ""))
    return Table(
        f"What is found and shown, {chunks:,} chunks",
        "How many of the ten nearest chunks a search by vectors finds, beside an exact one; and of "
        "the text that a chunk-aware way shows, how much stands there a second time.",
        [
            Row("recall@10", "share", recall, "more", SCAN, _APPROXIMATE),
            Row("characters shown again", "% of the context", twice),
        ],
        COMMAND,
        targets,
    )


def _room(sheet: Sheet, chunks: int) -> Table:
    return Table(
        f"Room for a chunk, {chunks:,} chunks",
        "Memory is what an open library adds to its process and to those it starts, files that they "
        "map included, once every way was asked; disk is what its folder takes. Ours keeps originals, "
        "whole texts and every vector twice, in the index and for the next reindex, and starts a "
        "process for its index, whose interpreter is in the figure. Its library is written by its own "
        "parts, all at once, and holds what one has that was taken in file by file. A chunk is some "
        "730 characters and 384 dimensions, and the floor on disk is these alone.",
        [
            Row(
                "memory",
                "kB",
                sheet.cells("memory"),
                floor=SCAN,
                why=_MAPPED,
            ),
            Row(
                "disk",
                "kB",
                sheet.cells("disk"),
                floor=RAW,
                why=_KEPT,
            ),
        ],
        COMMAND,
    )
