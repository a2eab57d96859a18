"""How fast the text of PDFs is read: our isolated workers beside readers in their own process."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pypdfium2  # type: ignore[import-untyped]  # it has no types of its own

from bench import debian
from bench.figures import OURS, Row, Table
from bench.running import Run
from bench.turns import Contestant, Field, Sheet, entered

DATA = Path(__file__).parents[3] / "shared" / "data"
FLOOR = "bare pypdfium2"
FIELD = (
    Contestant(OURS, "extracting", "ours"),
    Contestant(FLOOR, "extracting", "bare", "pdf"),
    Contestant("pypdf", "extracting", "pypdf", "pdf"),
    Contestant("pdfminer.six", "extracting", "pdfminer", "pdf"),
    Contestant("PyMuPDF", "extracting", "pymupdf", "pdf"),
    Contestant("LangChain", "extracting", "langchain", "langchain"),
    Contestant("LlamaIndex", "extracting", "llamaindex", "llamaindex"),
    Contestant("Haystack", "extracting", "haystack", "haystack"),
)
COMMAND = "python -m bench --only extraction"
# A reader is given no longer than this for all files of a set.
SECONDS = 600.0
# Who takes longer than so many seconds for them is timed a few times only.
_SLOW, _FEW = 4.0, 3
_ENGINE = (
    "Its own engine is faster here than PDFium, whose bare calls are our floor. To be as fast, ours"
    " would have to read with another."
)
_ISOLATION = (
    "Bare PDFium, our floor, is faster. Ours reads with it in a process that a bad file may ruin,"
    " and puts the text in order; that would have to cost less."
)


class Files(NamedTuple):
    """`pages` of all of them."""

    name: str
    paths: Sequence[Path]
    pages: int


def measure(run: Run) -> list[Table]:
    sheet, rows = Sheet(), list[Row]()
    samples = sorted((DATA / "pdf_samples").rglob("*.pdf"))
    sets = [chosen("samples", samples[:: 10 if run.is_quick else 1])]
    reports = sorted(
        (DATA / "financebench" / "pdfs").glob("*.pdf"), key=lambda it: it.stat().st_size
    )
    sets.append(chosen("annual and quarterly reports", reports[: 1 if run.is_quick else 8]))
    manuals = debian.manuals(run.cache / "texts")
    sets.append(chosen("manuals of Debian", manuals[: 1 if run.is_quick else None]))
    with entered(run) as field:
        field.enter(FIELD, lambda _one, _seat: None)
        for files in filter(lambda one: one.paths, sets):
            _read(run, field, files, sheet)
            label = f"{files.name}: {len(files.paths)} files, {files.pages:,} pages"
            row = Row(label, "pages/s", sheet.cells(files.name), "more", FLOOR)
            rows.append(replace(row, why=_why(row)))
            unread = sheet.cells(f"{files.name}, unread")
            rows.append(
                Row(f"{files.name}: files that were not read", "files", unread, "less", FLOOR)
            )
        missing = dict(field.missing)
    intro = (
        "The text of every page. Ours reads in a worker, a process of its own, whose time counts in"
        " full; the others read in theirs. All are warm. The samples are odd and broken files of one"
        " or a few pages, without those that ask for a password; one that PDFium, our floor, cannot"
        " open has no pages, whoever reads it; a file counts as not read if a"
        " reader fails or finds nothing but white space. The manuals are those of Debian's"
        " documentation packages, where any is installed. Who takes seconds for a set is timed three"
        " times. LangChain's, LlamaIndex's and Haystack's own loaders use pypdf. PyMuPDF is under"
        " the AGPL."
    )
    return [Table("Reading PDFs", intro, rows, COMMAND, missing=missing)]


def _why(row: Row) -> str:
    if not row.best_peer or FLOOR not in row.cells:
        return ""
    is_slower = row.cells[FLOOR].median < row.cells[row.best_peer].median
    return _ENGINE if is_slower else _ISOLATION


def chosen(name: str, paths: Sequence[Path]) -> Files:
    """All but those that ask for a password; of one that PDFium cannot open no pages are known."""
    found: dict[Path, int] = {}
    for path in paths:
        try:
            document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if error.err_code != pypdfium2.raw.FPDF_ERR_PASSWORD:
                found[path] = 0
            continue
        found[path] = len(document)
        document.close()
    return Files(name, list(found), sum(found.values()))


def _read(run: Run, field: Field, files: Files, sheet: Sheet) -> None:
    paths = run.cache / "texts" / f"{files.name.split()[0]}.txt"
    paths.parent.mkdir(parents=True, exist_ok=True)
    paths.write_text("\n".join(map(str, files.paths)), "utf-8")
    slow: set[str] = set()
    # The first round warms all up, and tells who reads what.
    for number in range(run.repeats + 1):
        for contestant, seat in field.each(number):
            if contestant.name in slow and number > _FEW:
                continue
            run.say(f"{files.name}: {contestant.name}, {number} of {run.repeats}")
            with field.leaving(contestant.name):
                way = "characters" if number else "unread"
                told = seat.do("build", seconds=SECONDS, folder=str(paths), ways=[way])
                if number:
                    pages = files.pages
                    sheet.note(files.name, contestant.name, pages / told.cpu, pages / told.wall)
                else:
                    if told.wall > _SLOW:
                        slow.add(contestant.name)
                    unread = told.value["chunks"]
                    sheet.note(f"{files.name}, unread", contestant.name, unread)
