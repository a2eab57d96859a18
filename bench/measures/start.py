"""How long it takes until something is there: the package, and the first answer of a library."""

import json
import os
import subprocess
import sys
import time

from bench.contestants import BARE, HYBRID, SCAN, VECTOR, contestants
from bench.figures import OURS, Cell, Row, Table
from bench.libraries import corpus_of, model_of
from bench.questions import OPENING, Asking
from bench.running import Run
from bench.turns import QUIET, Contestant, Field, Sheet, TurnError, entered, seat

COMMAND = "python -m bench --only start"
IMPORT, HALF = 0.15, 0.5
NUMPY, ALONE = "numpy alone", "the model alone"
_ROUNDS, _SLOW = 5, 10.0
_QUESTION = "Which ship did the captain sail in?"

# Of each: the environment that has it, its package, and what a first program takes from it.
_IMPORTS = {
    OURS: ("", "import unchunk", "unchunk.open"),
    NUMPY: ("", "", "import numpy"),
    "LangChain, Chroma": ("langchain", "import langchain_chroma", "langchain_chroma.Chroma"),
    "LangChain, FAISS": (
        "langchain",
        "import langchain_community.vectorstores",
        "import faiss\nlangchain_community.vectorstores.FAISS",
    ),
    "LlamaIndex": ("llamaindex", "import llama_index.core", "llama_index.core.VectorStoreIndex"),
    "Haystack": (
        "haystack",
        "import haystack",
        """from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever""",
    ),
    "txtai": ("txtai", "import txtai", "txtai.Embeddings"),
}
_TIMED = """import json, time
cpu, wall = time.process_time(), time.perf_counter()
told = {{}}
{package}
told["package"] = time.process_time() - cpu, time.perf_counter() - wall
{taken}
told["taken"] = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps(told))
"""
_WHY = (
    "Ours opens a catalog and starts a process for its index before it answers. Of its CPU about a "
    "quarter is the process of the index, a fifth goes to load Python, asyncio and NumPy, a ninth to "
    "load our own modules, a tenth to make the model's tokenizer, a tenth to make its network, a "
    "seventeenth to read its file and check it, a twentieth to load what runs it. What is left are the "
    "catalog's queries and the search. It was taken apart once, by hand: this measure does not do that."
)


def measure(run: Run, chunks: int = 0) -> list[Table]:
    return [_imports(run), _first_answers(run, chunks or (1_000 if run.is_quick else 50_000))]


def _imports(run: Run) -> Table:
    sheet, missing = Sheet(), dict[str, str]()
    # The first brings files into memory, and has them compiled; a quick run has no other.
    only = 1 if run.is_quick else 0
    for number in range(only, 1 + (only or run.repeats)):
        for name, (environment, package, taken) in _IMPORTS.items():
            if name in missing:
                continue
            try:
                steps = _imported(run, environment, package, taken)
            except TurnError as error:
                missing[name] = str(error)
                continue
            for row, (cpu, wall) in steps.items() if number else ():
                if row == "taken" or package:
                    sheet.note(row, name, cpu, wall)
    cells, taken_cells = sheet.cells("package"), sheet.cells("taken")
    took, later = cells[OURS].median, taken_cells[OURS].median
    met = "met" if took < IMPORT else "missed"
    return Table(
        "Import",
        "In a fresh interpreter, with its files in memory: the package alone, which some load only "
        "as far as it is used, and with what a first program takes from it.",
        [
            Row("the package", "s CPU", cells),
            Row("and what a first program takes from it", "s CPU", taken_cells, floor=NUMPY),
        ],
        COMMAND,
        [
            f"`import unchunk` under {IMPORT} s of CPU: {took:.3f}, {met}",
            f"with `unchunk.open` looked up, which loads what that needs: {later:.3f}",
        ],
        missing,
    )


def _imported(
    run: Run, environment: str, package: str, taken: str
) -> dict[str, tuple[float, float]]:
    """Seconds of CPU and of wall time, up to each step."""
    if environment and environment not in run.pythons:
        raise TurnError(run.absent.get(environment, "its environment was not made"))
    python = run.pythons[environment] if environment else sys.executable
    script = _TIMED.format(package=package, taken=taken)
    run.cache.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", script],
            cwd=run.cache,
            env=os.environ | QUIET,
            capture_output=True,
            text=True,
            timeout=OPENING,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TurnError("it did not end") from None
    if done.returncode:
        raise TurnError(done.stderr.strip().splitlines()[-1])
    told: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return told


def _first_answers(run: Run, chunks: int) -> Table:
    corpus, model = corpus_of(run, chunks), str(model_of(run))
    sheet = Sheet()
    alone = Contestant(ALONE, "nothing", ways={VECTOR: ALONE})
    with entered(run) as field:
        Asking(field, corpus).build()
        able = [one for one in contestants(run) if one.name not in (BARE, SCAN)]
        chosen = [one for one in (alone, *able) if one.name not in field.missing]
        slow: set[str] = set()
        for number in range(1 if run.is_quick else _ROUNDS):
            first = number % len(chosen)
            for one in chosen[first:] + chosen[:first]:
                if one.name in field.missing or (one.name in slow and number > 1):
                    continue
                with field.leaving(one.name):
                    cpu, wall = _first_answer(field, one, str(corpus.parent / one.place), model)
                    sheet.note("first", one.name, cpu, wall)
                    if wall > _SLOW:
                        slow.add(one.name)
        missing = dict(field.missing)
    cells = sheet.cells("first")
    return Table(
        f"First answer of a library of {chunks:,} chunks",
        "From the start of a process to its first search result, on a library that is there, the "
        "model and all imports included. All embed the question with the same model: ours loads its "
        "own default from its package, checks it and makes its network; the others, whose own ways "
        "to run a model take longer, get that network as a ready ONNX file, and run it with the same "
        "runtime. Ours answers by meaning and by words, as txtai does; the others by meaning. For "
        "Qdrant the start of its server is in it, as that of our index is.",
        [Row("first answer", "s CPU", cells, floor=ALONE, why=_WHY)],
        COMMAND,
        _targets(cells),
        missing,
    )


def _first_answer(field: Field, one: Contestant, folder: str, model: str) -> tuple[float, float]:
    way = HYBRID if HYBRID in one.ways and one.name in (OURS, "txtai") else VECTOR
    its = seat(one, field.run)
    try:
        its.do("prepare", kind="local", place=model)
        its.do("open", seconds=OPENING, folder=folder, ways=[way])
        found = its.do("ask", way=way, questions=[_QUESTION])
        wall = time.perf_counter() - its.begun
        if not found.value:
            raise TurnError(f"{one.name} found nothing")
        return its.do("spent").cpu, wall
    finally:
        its.end()


def _targets(cells: dict[str, Cell]) -> list[str]:
    if OURS not in cells or not Row("", "", cells, floor=ALONE).best_peer:
        return []
    lines = []
    by_wall = {name: Cell(one.wall) for name, one in cells.items()}
    for what, all_of_them in (("CPU", cells), ("wall time", by_wall)):
        compared = Row(what, "s", all_of_them, floor=ALONE)
        best = compared.best_peer
        share = compared.cells[OURS].median / compared.cells[best].median
        met = "met" if share <= HALF else "missed"
        lines.append(
            f"first answer in at most half of the {what} of the fastest peer, {best}: "
            f"{share:.2f} of it, {met}" + (f". {_WHY}" if met == "missed" else "")
        )
    return lines
