"""What it costs to take documents in, to delete and to replace them, beside what others do.

Documents of some 75 chunks of 1000 characters, in until they are durable and searchable by
meaning and by words, and nothing goes on in the background any more. CPU time, user and system,
of a process and all that it starts; every contestant runs in an interpreter of its own, on the
same files, in turn, several times; the median counts. Vectors come from a table that costs next
to nothing, and what it costs is subtracted. Read the ratios.

The peers live in an interpreter of their own, because they bring far more than this project:

    python3 -m venv /tmp/peers
    /tmp/peers/bin/pip install torch==2.13.0
    /tmp/peers/bin/pip install txtai langchain-chroma langchain-community rank_bm25 \
        llama-index-core llama-index-vector-stores-chroma llama-index-retrievers-bm25
    python -m bench.ingest --peer-python /tmp/peers/bin/python
"""

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from bench.peers.measure import Result, Task

ROOT = Path(__file__).parents[1]
TEXTS = ROOT.parent / "shared" / "data" / "texts"
RESULTS = Path(__file__).parent / "results" / "ingest.json"
# With 1000 characters and an overlap of 150, about 75 chunks.
CHARACTERS = 50_500
OWN_PART, DELETE, REPLACE = 150, 62, 238
OURS, BARE, PEER = "unchunk", "engine, points made", "LangChain + Chroma"


Report = dict[str, dict[str, float]]


class Contestant(NamedTuple):
    """`published` is what others measured, in microseconds for a chunk; 0 where they did not."""

    name: str
    module: str
    variant: str = ""
    is_peer: bool = True
    published: int = 0


CONTESTANTS = (
    Contestant(OURS, "ours", is_peer=False),
    Contestant("engine, points ready", "bare", "ready", is_peer=False),
    Contestant(BARE, "bare", "made", is_peer=False),
    Contestant("engine, its defaults", "bare", "defaults", is_peer=False, published=710),
    Contestant(PEER, "langchain_peer", published=3085),
    Contestant(f"{PEER}, one by one", "langchain_peer", "1"),
    Contestant("LlamaIndex + Chroma", "llamaindex_peer", published=3995),
    Contestant("txtai hybrid, saved once", "txtai_peer", published=1037),
    Contestant("txtai hybrid, saved per 16", "txtai_peer", "16"),
    Contestant("txtai hybrid, one by one", "txtai_peer", "1"),
)


def sentences() -> list[str]:
    """Those of Moby Dick and of seventy years of speeches; made-up ones where they are not."""
    found: list[str] = []
    for text in _texts():
        plain = " ".join(text.split())
        found += [one for one in re.split(r"(?<=[.!?])\s+", plain) if 20 < len(one) < 600]
    if found:
        return found
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(20_000)]
    rarity = [1 / (rank + 3) for rank in range(len(words))]
    return [
        " ".join(rng.choices(words, rarity, k=rng.randint(6, 30))).capitalize() + "."
        for _ in range(20_000)
    ]


def _texts() -> Iterator[str]:
    for path in sorted((TEXTS / "moby-dick").glob("chapter_*.json")):
        yield json.loads(path.read_text("utf-8"))["text"]
    speeches = TEXTS / "nltk" / "state_union.zip"
    if speeches.exists():
        with zipfile.ZipFile(speeches) as opened:
            for name in sorted(opened.namelist()):
                if name.endswith(".txt"):
                    yield opened.read(name).decode("cp1252", "replace")


def write_documents(folder: Path, names: Sequence[str], pool: Sequence[str], seed: int) -> None:
    """Sentences in an order of their own for each document, so that no two chunks are alike."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    for name in names:
        parts: list[str] = []
        length = 0
        while length < CHARACTERS:
            parts.append(" ".join(rng.choices(pool, k=rng.randint(2, 7))))
            length += len(parts[-1]) + 2
        (folder / name).write_text("\n\n".join(parts), "utf-8")


def prepared(folder: Path, documents: int, operations: int) -> Task:
    pool = sentences()
    names = [f"document-{number:05}.txt" for number in range(documents)]
    for seed, (kind, some) in enumerate(
        {"warm": ["warm.txt"], "files": names, "changed": names[-operations:]}.items()
    ):
        write_documents(folder / kind, some, pool, seed)
    warm, files, changed, work = (
        str(folder / kind) for kind in ("warm", "files", "changed", "work")
    )
    return Task(warm, files, changed, work, operations)


def run(contestant: Contestant, task: Task, python: str) -> Result:
    task = replace(task, variant=contestant.variant)
    shutil.rmtree(task.work, ignore_errors=True)
    Path(task.work).mkdir()
    done = subprocess.run(
        [python, "-m", f"bench.peers.{contestant.module}", json.dumps(asdict(task))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{contestant.name} failed:\n{done.stderr[-3000:]}")
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def per_chunk(result: Result) -> float:
    """Microseconds of CPU, without the model's."""
    return (result.cpu - result.model) / result.chunks * 1e6


def summary(runs: Sequence[Result]) -> dict[str, float]:
    def median(values: Sequence[float]) -> float:
        return statistics.median(values) if values else 0.0

    def every(name: str) -> float:
        return median([seconds * 1000 for run in runs for seconds in getattr(run, name)])

    return {
        "cpu_us_per_chunk": median([per_chunk(run) for run in runs]),
        "cpu_us_per_chunk_best": min(per_chunk(run) for run in runs),
        "wall_us_per_chunk": median([run.wall / run.chunks * 1e6 for run in runs]),
        "cpu_ms_per_document": median(
            [(run.cpu - run.model) / run.documents * 1000 for run in runs]
        ),
        "model_us_per_chunk": median([run.model / run.chunks * 1e6 for run in runs]),
        "words_us_per_chunk": median([run.words_cpu / run.chunks * 1e6 for run in runs]),
        "start_cpu_seconds": median([run.start_cpu for run in runs]),
        "documents": runs[0].documents,
        "chunks": runs[0].chunks,
        "delete_cpu_ms": every("delete_cpu"),
        "delete_wall_ms": every("delete_wall"),
        "replace_cpu_ms": every("replace_cpu"),
        "replace_wall_ms": every("replace_wall"),
    }


def print_ingestion(report: Report, chosen: Sequence[Contestant]) -> None:
    print(
        f"{'CPU µs for a chunk':28} {'median':>7} {'best':>6} {'/ ours':>7} {'+ words':>8}"
        f" {'wall':>6} {'chunks':>7} {'ms/doc':>7} {'start s':>8} {'published':>10}"
    )
    for contestant in chosen:
        one = report[contestant.name]
        ratio = one["cpu_us_per_chunk"] / report[OURS]["cpu_us_per_chunk"] if OURS in report else 0
        words = f"{one['words_us_per_chunk']:.0f}" if one["words_us_per_chunk"] else ""
        print(
            f"{contestant.name:28} {one['cpu_us_per_chunk']:7.0f}"
            f" {one['cpu_us_per_chunk_best']:6.0f} {ratio:7.2f} {words:>8}"
            f" {one['wall_us_per_chunk']:6.0f} {one['chunks']:7.0f} {one['cpu_ms_per_document']:7.1f}"
            f" {one['start_cpu_seconds']:8.2f} {contestant.published or '':>10}"
        )


def print_own_part(report: Report, runs: dict[str, list[Result]]) -> None:
    """Ours less the bare engine, each run beside its neighbour: both have the same noise."""
    if OURS not in runs or BARE not in runs:
        return
    parts = [
        per_chunk(ours) - per_chunk(bare) for ours, bare in zip(runs[OURS], runs[BARE], strict=True)
    ]
    own = statistics.median(parts)
    report[OURS]["own_us_per_chunk"] = own
    shown = ", ".join(f"{part:.0f}" for part in parts)
    print(
        f"\nour own part above the engine's calls: {own:.0f} µs ({shown}),"
        f" target {OWN_PART}: {'met' if own <= OWN_PART else 'missed'}"
    )
    by_process: dict[str, list[float]] = {}
    for run in runs[OURS]:
        for name, seconds in run.cpu_by_process.items():
            by_process.setdefault(name, []).append(seconds / run.chunks * 1e6)
    split = {name: statistics.median(spent) for name, spent in by_process.items()}
    print("ours by process: " + ", ".join(f"{name} {spent:.0f}" for name, spent in split.items()))


def print_changes(report: Report) -> None:
    print(f"\n{'CPU ms for a document':28} {'delete':>8} {'wall':>8} {'replace':>8} {'wall':>8}")
    changing = {name: one for name, one in report.items() if one["delete_cpu_ms"]}
    for name, one in changing.items():
        print(
            f"{name:28} {one['delete_cpu_ms']:8.1f} {one['delete_wall_ms']:8.1f}"
            f" {one['replace_cpu_ms']:8.1f} {one['replace_wall_ms']:8.1f}"
        )
    for what, target in (("delete", DELETE), ("replace", REPLACE)) if OURS in changing else ():
        spent = report[OURS][f"{what}_cpu_ms"]
        verdict = "met" if spent < target else "missed"
        beside = ""
        if PEER in report:
            beside = f"; {PEER} takes {report[PEER][f'{what}_cpu_ms'] / spent:.1f} times as much"
        print(f"{what}: target {target} ms is {verdict}{beside}")


def print_profile(task: Task) -> None:
    """Where ours spends its time. Being watched slows it down: read the shares."""
    result = run(CONTESTANTS[0], replace(task, profile=True, operations=0), sys.executable)
    print(result.profile)
    parts = {
        "CPU by process": result.cpu_by_process,
        "wall by stage, documents overlapping": result.stage_seconds,
    }
    for title, part in parts.items():
        print(f"{title}, µs for a chunk:")
        for name, seconds in sorted(part.items(), key=lambda item: -item[1]):
            print(f"  {name:12} {seconds / result.chunks * 1e6:8.1f}")


def chosen_by(names: Sequence[str], python: str | None) -> list[Contestant]:
    able = [one for one in CONTESTANTS if python or not one.is_peer]
    found = [one for one in able if not names or any(name in one.name for name in names)]
    if not found:
        raise SystemExit(f"choose some of: {', '.join(one.name for one in able)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.ingest", description="Ingestion beside peers.")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--operations", type=int, default=7, help="deletes and replaces per run")
    parser.add_argument("--peer-python", help="an interpreter that has the peers")
    parser.add_argument("--only", nargs="*", default=(), help="parts of contestants' names")
    parser.add_argument("--profile", action="store_true", help="where our own time goes")
    arguments = parser.parse_args()
    operations = min(arguments.operations, arguments.documents // 2)
    with tempfile.TemporaryDirectory(prefix="unchunk-bench-") as folder:
        task = prepared(Path(folder), arguments.documents, operations)
        if arguments.profile:
            print_profile(task)
            return
        chosen = chosen_by(arguments.only, arguments.peer_python)
        runs: dict[str, list[Result]] = {one.name: [] for one in chosen}
        for _ in range(arguments.repeats):
            for one in chosen:
                python = arguments.peer_python if one.is_peer else sys.executable
                runs[one.name].append(run(one, task, python))
    report = {name: summary(some) for name, some in runs.items()}
    print_ingestion(report, chosen)
    print_own_part(report, runs)
    print_changes(report)
    RESULTS.parent.mkdir(exist_ok=True)
    written = {
        name: {**one, "runs": [asdict(run) for run in runs[name]]} for name, one in report.items()
    }
    RESULTS.write_text(json.dumps(written, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
