"""A large library over PostgreSQL and Qdrant: built, searched and checked, with what it takes.

    python -m bench.scale [--chunks 500000] [--nodes 0] [--quantization scalar] [--on-disk]

With `--nodes 0` there is one Qdrant server, with more a cluster. The embedder is the hashing one
(384 dimensions unless told otherwise), so what is measured is everything else. Texts are made of words
as rare as words are, and each document has words of its own that a question finds again. Told are
the memory and the disk of each part after the build, for each million chunks;
memory is that of a machine with room, so what may be put on a disk is told apart.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench.cpu import tree
from clusters import cluster
from databases import postgres_running, schema_in
from servers import qdrant
from unchunk.engine import Engine
from unchunk.library.ingest import Outcome
from unchunk.settings import load
from unchunk.wiring import open_engine

RESULTS = Path(__file__).parent / "results" / "scale.json"
_A_DOCUMENT, _AT_ONCE = 100, 100
_CHUNK, _WORD = 800, 6.5
_QUESTIONS = 200
_ATTEMPTS, _PAUSE = 10, 10.0
Figures = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, default=500_000)
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--quantization", default="none")
    parser.add_argument("--on-disk", action="store_true")
    options = parser.parse_args()
    with ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory()))
        database = parts.enter_context(postgres_running("fsync=on", "shared_buffers=512MB"))
        url = parts.enter_context(schema_in(database.url))
        settings = {
            "catalog": url,
            "blobs": f"folder:{folder / 'originals'}",
            "embedder": f"hashing:{options.dimensions}",
            "qdrant_quantization": options.quantization,
            "qdrant_on_disk": str(options.on_disk).lower(),
        }
        (folder / "originals").mkdir()
        with _index(folder / "qdrant", options.nodes) as (index, pids):
            chosen = load(folder / "home", {}, index=index, **settings)
            figures = asyncio.run(_measured(lambda: open_engine(chosen), options.chunks, pids))
            figures["memory_mb"] |= {"PostgreSQL": _resident([database.pid])["all"]}
        figures["disk_mb"] = {
            "Qdrant": _size(folder / "qdrant"),
            "PostgreSQL": _database_size(database.url),
            "originals": _size(folder / "originals"),
        }
    figures["options"] = vars(options)
    _print(figures)
    _keep(figures)
    return 0 if figures["healthy"] and figures["found"] == _QUESTIONS else 1


@contextmanager
def _index(folder: Path, nodes: int) -> Iterator[tuple[str, list[int]]]:
    if nodes:
        with cluster(folder, nodes) as many:
            yield many.spec, [node.pid for node in many.nodes]
    else:
        with qdrant(folder) as server:
            yield f"qdrant:{server.url}?grpc={server.grpc_port}", [server.pid]


async def _measured(opening: Any, wanted: int, pids: Sequence[int]) -> Figures:  # noqa: ANN401
    engine: Engine = await opening()
    try:
        start = time.perf_counter()
        chunks, marks = await _built(engine, wanted)
        built = time.perf_counter() - start
        await _settled(engine)
        settled = time.perf_counter() - start
        found, waits = await _searched(engine, marks)
        memory = {"Qdrant": _resident(pids)}
        print(f"built {built:.0f} s, indexed {settled:.0f} s, found {found}", memory, flush=True)
        examined = await engine.doctor()
        print(f"examined: {examined.documents} documents, {examined.chunks} chunks", flush=True)
    finally:
        await engine.close()
    return {
        "chunks": chunks,
        "documents": examined.documents,
        "built_s": round(built),
        "indexed_s": round(settled),
        "chunks_per_s": round(chunks / built),
        "found": found,
        "search_ms": {
            name: round(1000 * float(np.quantile(waits, q)), 1) for name, q in _QUANTILES
        },
        "memory_mb": memory,
        "healthy": examined.healthy and examined.chunks == chunks,
        "findings": [one.message for one in examined.findings][:5],
    }


_QUANTILES = (("half", 0.5), ("95 of 100", 0.95))


async def _built(engine: Engine, wanted: int) -> tuple[int, list[str]]:
    """How many chunks there are, and the word of its own of each document."""
    words = _vocabulary()
    source = random.Random(7)
    chunks, marks = 0, list[str]()
    with tempfile.TemporaryDirectory() as name:
        while chunks < wanted:
            paths = []
            for _ in range(_AT_ONCE):
                mark = f"mark{len(marks):07d}"
                marks.append(mark)
                path = Path(name) / f"{mark}.txt"
                path.write_text(_text(words, source, mark), "utf-8")
                paths.append(path)
            outcomes = await _taken_in(engine, paths)
            chunks += sum(one.chunks for one in outcomes)
            for path in paths:
                path.unlink()
            print(f"\r{chunks:>9} chunks", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return chunks, marks


async def _taken_in(engine: Engine, paths: Sequence[Path]) -> list[Outcome]:
    """What an index that is too busy to answer leaves waiting is tried again, as a worker would."""
    outcomes = await engine.add(*paths)
    for _ in range(_ATTEMPTS):
        waiting = [one for one in outcomes if one.result == "waiting"]
        if not waiting:
            break
        print(f"\n{len(waiting)} wait: {waiting[0].error}", file=sys.stderr)
        await asyncio.sleep(_PAUSE)
        outcomes = [one for one in outcomes if one not in waiting] + await engine.retry()
    assert [one.result for one in outcomes] == ["added"] * len(paths), outcomes
    return outcomes


def _vocabulary() -> tuple[list[str], list[float]]:
    source = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(source.choices(letters, k=source.randint(3, 9))) for _ in range(60_000)]
    return words, [1 / (rank + 10) for rank in range(len(words))]


def _text(words: tuple[list[str], list[float]], source: random.Random, mark: str) -> str:
    count = int(_A_DOCUMENT * _CHUNK / _WORD)
    drawn = source.choices(words[0], words[1], k=count)
    lines = [" ".join(drawn[at : at + 14]).capitalize() + "." for at in range(0, count, 14)]
    lines[source.randrange(len(lines))] += f" The {mark} stands here."
    return "\n".join(lines)


async def _settled(engine: Engine) -> None:
    """Wait until Qdrant has indexed what it took."""
    for _ in range(3_600):
        found = [await space.index.census("nobody") for space in engine._parts.spaces.all]  # noqa: SLF001
        assert found == [{}]
        if not await asyncio.to_thread(_is_busy, engine):
            return
        await asyncio.sleep(1)


def _is_busy(engine: Engine) -> bool:
    base = engine._parts.spaces._wanted.index.removeprefix("qdrant:").split(",")[0].split("?")[0]  # noqa: SLF001
    names = _asked(f"{base}/collections")["collections"]
    states = [_asked(f"{base}/collections/{one['name']}")["status"] for one in names]
    return any(state != "green" for state in states)


def _asked(url: str) -> Any:  # noqa: ANN401 - JSON
    with urllib.request.urlopen(url, timeout=60) as reply:  # noqa: S310 - our own server
        return json.load(reply)["result"]


async def _searched(engine: Engine, marks: Sequence[str]) -> tuple[int, list[float]]:
    """How many questions found their document among the best ten, and what each took."""
    found, waits = 0, []
    for mark in random.Random(3).choices(marks, k=_QUESTIONS):
        start = time.perf_counter()
        hits = (await engine.search(f"Where does the {mark} stand?", limit=10)).hits
        waits.append(time.perf_counter() - start)
        found += any(hit.name == f"{mark}.txt" for hit in hits)
    return found, waits


def _resident(pids: Sequence[int]) -> dict[str, int]:
    """Megabytes: all of it, and what belongs to no file and cannot go to a disk."""
    kinds = {"all": "Rss:", "own": "Anonymous:"}
    total = dict.fromkeys(kinds, 0)
    for pid in {one for root in pids for one in tree(root)}:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        for name, begin in kinds.items():
            total[name] += next(int(it.split()[1]) for it in lines if it.startswith(begin))
    return {name: amount // 1024 for name, amount in total.items()}


def _size(folder: Path) -> int:
    return sum(it.stat().st_blocks * 512 for it in folder.rglob("*") if it.is_file()) // 10**6


def _database_size(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0]) // 10**6


def _print(figures: Figures) -> None:
    million = figures["chunks"] and 1e6 / int(figures["chunks"])
    print(json.dumps(figures, indent=1))
    for what in ("memory_mb", "disk_mb"):
        for name, amount in figures[what].items():
            parts = amount if isinstance(amount, dict) else {"": amount}
            for part, size in parts.items():
                print(f"{what} {name} {part}: {size * million:,.0f} for a million chunks")


def _keep(figures: Figures) -> None:
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([*kept, figures], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
