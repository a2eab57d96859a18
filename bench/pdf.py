"""What isolation costs: PDFs read by our workers, beside the same library in this process.

CPU time counts the workers' own, their start included; median of interleaved repeats. Read the
ratios. pypdf, which is pure Python, is timed once on a few of the files.
"""

import asyncio
import json
import logging
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pypdf
import pypdfium2  # type: ignore[import-untyped]  # it has no types of its own

from unchunk.adapters.extract.isolated import IsolatedExtractor
from unchunk.adapters.extract.limits import Limits

PDFS = Path(__file__).parents[2] / "shared" / "data" / "financebench" / "pdfs"
RESULTS = Path(__file__).parent / "results" / "pdf.json"
REPEATS = 5
FEW = 4
TARGET = 1.3

Work = Callable[[Sequence[Path]], int]


class Spent(NamedTuple):
    cpu: float
    wall: float
    characters: int


def ours(files: Sequence[Path], workers: int = 1) -> int:
    async def extract_all() -> int:
        extractor = IsolatedExtractor(Limits(), workers)
        try:
            found = await asyncio.gather(*(extractor.extract(file, file.name) for file in files))
        finally:
            await extractor.close()
        return sum(len(each.text) for each in found)

    return asyncio.run(extract_all())


def ours_two(files: Sequence[Path]) -> int:
    return ours(files, workers=2)


def bare_range(files: Sequence[Path]) -> int:
    return _bare(files, "get_text_range")


def bare_bounded(files: Sequence[Path]) -> int:
    return _bare(files, "get_text_bounded")


def _bare(files: Sequence[Path], method: str) -> int:
    characters = 0
    for file in files:
        document = pypdfium2.PdfDocument(file)
        for page in document:
            content = page.get_textpage()
            characters += len(getattr(content, method)())
            content.close()
            page.close()
        document.close()
    return characters


def pure_python(files: Sequence[Path]) -> int:
    return sum(len(page.extract_text()) for file in files for page in pypdf.PdfReader(file).pages)


def cpu() -> float:
    """Seconds of this process and of all its children that have ended."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def measure(work: Work, files: Sequence[Path]) -> Spent:
    begun, cpu_begun = time.perf_counter(), cpu()
    characters = work(files)
    return Spent(cpu() - cpu_begun, time.perf_counter() - begun, characters)


def main() -> None:
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    files = sorted(PDFS.glob("*.pdf"))
    if not files:
        raise SystemExit(f"there are no PDFs in {PDFS}")
    contestants: dict[str, Work] = {
        "unchunk, 1 worker": ours,
        "unchunk, 2 workers": ours_two,
        "pypdfium2 get_text_range": bare_range,
        "pypdfium2 get_text_bounded": bare_bounded,
    }
    runs: dict[str, list[Spent]] = {name: [] for name in contestants}
    for _ in range(REPEATS):
        for name, work in contestants.items():
            runs[name].append(measure(work, files))
    report: dict[str, dict[str, float]] = {}
    print(f"{len(files)} files; seconds, and ratios to pypdfium2 in this process")
    print(f"{'':28} {'CPU':>8} {'wall':>8} {'characters':>11} {'CPU ratio':>10} {'wall ratio':>10}")
    base = [run.cpu for run in runs["pypdfium2 get_text_range"]]
    base_wall = [run.wall for run in runs["pypdfium2 get_text_range"]]
    for name, spent in runs.items():
        # Each run against its neighbour: the machine's noise is then mostly in both.
        ratio = statistics.median(run.cpu / bare for run, bare in zip(spent, base, strict=True))
        wall = statistics.median(
            run.wall / bare for run, bare in zip(spent, base_wall, strict=True)
        )
        report[name] = {
            "cpu_seconds": statistics.median(run.cpu for run in spent),
            "wall_seconds": statistics.median(run.wall for run in spent),
            "characters": spent[0].characters,
            "cpu_ratio": ratio,
            "wall_ratio": wall,
        }
        print(
            f"{name:28} {report[name]['cpu_seconds']:8.2f} {report[name]['wall_seconds']:8.2f}"
            f" {spent[0].characters:11,} {ratio:10.2f} {wall:10.2f}"
        )
    verdict = "met" if report["unchunk, 1 worker"]["cpu_ratio"] <= TARGET else "missed"
    print(f"the target, a CPU ratio of at most {TARGET}, is {verdict}\n")

    few = sorted(files, key=lambda file: file.stat().st_size)[:FEW]
    slow, quick = measure(pure_python, few), measure(ours, few)
    report["pypdf on a few"] = {"cpu_seconds": slow.cpu, "cpu_ratio": slow.cpu / quick.cpu}
    print(
        f"on the {FEW} smallest: pypdf {slow.cpu:.2f} CPU seconds, unchunk {quick.cpu:.2f},"
        f" its workers' start included: {slow.cpu / quick.cpu:.1f} times ours"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
