"""What our part of the index costs above bare calls of its engine. Read the differences.

CPU time of all processes that take part, on the same points: 384 dimensions, about 100 terms,
documents of 75 chunks. The bare side gets its points ready made; what that takes stands by
itself, since whoever calls the engine from Python pays it.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path

import numpy as np

from unchunk.adapters.index.edge import EdgeIndex, EdgeIndexes
from unchunk.adapters.index.edge_shard import Shard, engine_points
from unchunk.adapters.index.packing import pack, pack_query
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.domain import ChunkKey, Space, Terms, Within
from unchunk.ports import Point

RESULTS = Path(__file__).parent / "results" / "engines.json"
SPACE = Space("bench", 384)
PER_DOCUMENT = 75
PER_FLUSH = 20
ME = Within("me")
TICK = os.sysconf("SC_CLK_TCK")

Report = dict[str, float]


def texts(count: int) -> Iterator[str]:
    """Texts of 200 words, which are as unequally frequent as real ones."""
    rng = random.Random(7)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 11))) for _ in range(50_000)]
    numbers = np.random.default_rng(7).zipf(1.2, size=(count, 200)) % len(words)
    for row in numbers:
        yield " ".join(words[number] for number in row)


def library(count: int, lexicon: Bm25Lexicon) -> list[list[Point]]:
    """The points of `count` chunks, by document."""
    rows = np.random.default_rng(8).standard_normal((count, SPACE.dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    points = [
        Point(
            ChunkKey("me", f"0192f3aa-{at // PER_DOCUMENT:012d}", 1, at % PER_DOCUMENT),
            "folder",
            row,
            lexicon.document(text),
        )
        for at, (row, text) in enumerate(zip(rows, texts(count), strict=True))
    ]
    return [points[at : at + PER_DOCUMENT] for at in range(0, count, PER_DOCUMENT)]


def queries(documents: list[list[Point]], count: int) -> tuple[list[Point], list[Terms]]:
    rng = random.Random(9)
    chosen = [rng.choice(rng.choice(documents)) for _ in range(count)]
    words = [sorted(rng.sample(point.terms.ids, 5)) for point in chosen]
    return chosen, [Terms(tuple(ids), (1.0,) * 5) for ids in words]


def child_cpu(pid: int | None) -> float:
    """CPU seconds that another process has used."""
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def bare(folder: Path, documents: list[list[Point]], rounds: int) -> Report:
    shard = Shard.create(folder, SPACE.dimensions)
    packed = [pack(points, SPACE) for points in documents]
    count = sum(map(len, documents))
    report = {}
    begun = time.process_time()
    ready = [list(engine_points(batch)) for batch in packed]
    report["making its points us/chunk"] = (time.process_time() - begun) / count * 1e6
    begun = time.process_time()
    for number, made in enumerate(ready, 1):
        shard.put(made)
        if number % PER_FLUSH == 0:
            shard.flush()
    shard.flush()
    report["write us/chunk"] = (time.process_time() - begun) / count * 1e6
    begun = time.process_time()
    shard.optimize()
    report["optimize us/chunk"] = (time.process_time() - begun) / count * 1e6
    points, terms = queries(documents, rounds)
    by_vector = [pack_query(point.vector, ME, 50) for point in points]
    by_terms = [pack_query(each, ME, 50) for each in terms]
    for name, asked in (("vector", by_vector), ("terms", by_terms)):
        begun, wall = time.process_time(), time.perf_counter()
        for query in asked:
            shard.search(query)
        report[f"search by {name} CPU ms"] = (time.process_time() - begun) / rounds * 1e3
        report[f"search by {name} ms"] = (time.perf_counter() - wall) / rounds * 1e3
    shard.close()
    return report


class Meter:
    """Means of the CPU and wall seconds of a piece of work, the child's included."""

    def __init__(self, index: EdgeIndex) -> None:
        self._index = index

    async def mean(self, works: Sequence[Awaitable[object]]) -> tuple[float, float]:
        cpu, wall = time.process_time() + child_cpu(self._index.pid), time.perf_counter()
        for work in works:
            await work
        spent = time.process_time() + child_cpu(self._index.pid) - cpu
        return spent / len(works), (time.perf_counter() - wall) / len(works)


async def ours(folder: Path, documents: list[list[Point]], rounds: int) -> Report:
    index = await EdgeIndexes(folder).open(SPACE)
    await index.census()
    meter = Meter(index)

    async def write() -> None:
        for number, points in enumerate(documents, 1):
            await index.upsert(points)
            if number % PER_FLUSH == 0:
                await index.flush()
        await index.flush()

    async def replace(points: list[Point]) -> None:
        """As a document is replaced: the new generation in, the old one out."""
        key = points[0].key
        await index.upsert([_again(point) for point in points])
        await index.flush()
        await index.delete(key.document, [key.generation])
        await index.flush()

    async def delete(points: list[Point]) -> None:
        await index.delete(points[0].key.document)
        await index.flush()

    count = sum(map(len, documents))
    report = {"write us/chunk": (await meter.mean([write()]))[0] / count * 1e6}
    points, terms = queries(documents, rounds)
    keys = [point.key for point in documents[0][:30]]
    for name, works in (
        ("search by vector", [index.search(point.vector, ME, 50) for point in points]),
        ("search by terms", [index.search(each, ME, 50) for each in terms]),
        ("fetch of 30", [index.fetch(keys) for _ in range(rounds)]),
        ("census", [index.census() for _ in range(5)]),
        ("replace of 75", [replace(each) for each in documents[:20]]),
        ("delete of 75", [delete(each) for each in documents[20:40]]),
    ):
        cpu, wall = await meter.mean(works)
        report[f"{name} CPU ms"], report[f"{name} ms"] = cpu * 1e3, wall * 1e3
    await index.close()
    begun = time.perf_counter()
    index = await EdgeIndexes(folder).open(SPACE)
    await index.search(points[0].vector, ME, 50)
    report["open and search ms"] = (time.perf_counter() - begun) * 1e3
    await index.close()
    return report


def _again(point: Point) -> Point:
    key = point.key._replace(generation=point.key.generation + 1)
    return Point(key, point.folder, point.vector, point.terms)


def lexicon_cost(lexicon: Bm25Lexicon) -> float:
    sample = list(texts(500))
    begun = time.process_time()
    for text in sample:
        lexicon.document(text)
    return (time.process_time() - begun) / len(sample) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lexicon = Bm25Lexicon()
    documents = library(options.points, lexicon)
    runs: list[tuple[Report, Report]] = []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            bare_run = bare(Path(folder) / "bare", documents, options.rounds)
            ours_run = asyncio.run(ours(Path(folder) / "ours", documents, options.rounds))
            runs.append((bare_run, ours_run))
    report: dict[str, dict[str, float]] = {}
    print(f"{'':32} {'bare':>9} {'ours':>9} {'above':>9}   medians of {options.repeats}")
    for name in dict.fromkeys([*runs[0][0], *runs[0][1]]):
        sides = [statistics.median(run[at].get(name, 0.0) for run in runs) for at in (0, 1)]
        report[name] = {"bare": sides[0], "ours": sides[1]}
        print(f"{name:32} {sides[0]:9.2f} {sides[1]:9.2f} {sides[1] - sides[0]:9.2f}")
    cost = statistics.median(lexicon_cost(lexicon) for _ in range(options.repeats))
    report["lexicon us/chunk"] = {"bare": 0.0, "ours": cost}
    print(f"{'lexicon us/chunk':32} {'':9} {cost:9.2f}")
    RESULTS.parent.mkdir(exist_ok=True)
    note = {"points": options.points, "figures": report}
    RESULTS.write_text(json.dumps(note, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
