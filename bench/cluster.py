"""How a service grows with its processes: documents taken in by 1, 2 and 4 workers, and questions
answered by 1 and 2 servers.

    python -m bench.cluster [--documents 120] [--seconds 15] [--workers 1 2 4]

PostgreSQL, three Qdrant nodes and all else are processes of this machine, so what they share is its
cores: told is what each part used of them. Documents wait in the queue before the first worker is
started, and the clock stops when it is empty. Questions come from one more process, to each server
in turn, with no balancer between. The embedder is the hashing one: a real one would take most of
the time, and scale by itself. Read the ratios.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench.cpu import Watch
from bench.texts import sentences
from clusters import Cluster, cluster
from databases import PostgresServer, postgres_running, schema_in
from stacks import DURABLE, Stack, over

RESULTS = Path(__file__).parent / "results" / "cluster.json"
_CHARACTERS, _ASKING = 24_000, 16
Figures = dict[str, Any]


class Outside(NamedTuple):
    """What every library here is kept in."""

    folder: Path
    database: PostgresServer
    nodes: Cluster


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    texts = documents(options.documents)
    with ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory()))
        database = parts.enter_context(postgres_running(*DURABLE))
        nodes = parts.enter_context(cluster(folder / "qdrant"))
        outside = Outside(folder, database, nodes)
        taken = {count: ingested(outside, texts, count) for count in options.workers}
        asked = answered(outside, texts, options.servers, options.seconds)
    figures = {
        "cores": os.cpu_count(),
        "documents": options.documents,
        "ingestion": _compared(taken),
        "queries": _compared(asked),
    }
    _print(figures)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return 0


def documents(count: int) -> list[str]:
    """Texts of some thirty chunks, of which no two are alike."""
    lines = sentences()
    texts, at = [], 0
    for number in range(count):
        part, size = [f"# Document {number}"], 0
        while size < _CHARACTERS:
            part.append(lines[at % len(lines)])
            size, at = size + len(part[-1]), at + 1
        texts.append("\n\n".join(part))
    return texts


def parts_of(whole: Stack) -> dict[str, list[int]]:
    return {
        "workers": [one.pid for one in whole.workers if one.is_running],
        "servers": [one.pid for one in whole.servers if one.is_running],
        "PostgreSQL": [whole.database.pid],
        "Qdrant": [node.pid for node in whole.cluster.nodes],
    }


def ingested(outside: Outside, texts: Sequence[str], workers: int) -> Figures:
    """Of all documents by so many workers, in a library of its own."""
    folder = outside.folder / f"ingest{workers}"
    with (
        schema_in(outside.database.url) as url,
        over(
            folder, outside.database, outside.nodes, {"catalog": url}, servers=1, workers=0
        ) as whole,
    ):
        key = whole.new_key("bench")
        asyncio.run(_sent(whole.url, key, texts, wait=False))
        began = [whole.add_worker() for _ in range(workers)]
        for one in began:
            one.wait()
        watch, start = Watch(parts_of(whole)), time.perf_counter()
        # The first ones did not wait for the last.
        left = _waiting(whole, key)
        chunks = _drained(whole, key) * left / len(texts)
        seconds = time.perf_counter() - start
        used = watch.used()
    return {"rate": round(left / seconds, 2), "chunks_per_s": round(chunks / seconds, 1)} | {
        "seconds": round(seconds, 1),
        "cpu": used,
    }


def _waiting(whole: Stack, key: str) -> int:
    with whole.client(key) as client:
        return int(sum(one["pending"] for one in client.get("/api/folders").json()["folders"]))


def _drained(whole: Stack, key: str) -> int:
    """The number of chunks, when all documents are there."""
    with whole.client(key) as client:
        while True:
            rows = client.get("/api/folders").json()["folders"]
            if rows and not any(one["pending"] for one in rows):
                break
            time.sleep(0.25)
        listed = client.get("/api/documents", params={"limit": 1000}).json()["documents"]
    assert all(one["state"] == "live" for one in listed), "a document was not taken in"
    return sum(one["chunk_count"] for one in listed)


async def _sent(url: str, key: str, texts: Sequence[str], *, wait: bool) -> None:
    headers, at = {"Authorization": f"Bearer {key}"}, iter(enumerate(texts))
    form = {"wait": "true" if wait else "false"}

    async def sending(client: httpx2.AsyncClient) -> None:
        for number, text in at:
            file = (f"{number}.md", text.encode())
            reply = await client.post("/api/documents", files={"file": file}, data=form)
            reply.raise_for_status()

    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
        await asyncio.gather(*(sending(client) for _ in range(4)))


def answered(
    outside: Outside, texts: Sequence[str], servers: Sequence[int], seconds: float
) -> dict[int, Figures]:
    """Questions to so many servers of one library."""
    folder, most = outside.folder / "queries", max(servers)
    found = {}
    with (
        schema_in(outside.database.url) as url,
        over(
            folder, outside.database, outside.nodes, {"catalog": url}, servers=most, workers=2
        ) as whole,
    ):
        key = whole.new_key("bench")
        asyncio.run(_sent(whole.url, key, texts, wait=False))
        _drained(whole, key)
        for one in whole.workers:
            one.end()
        for count in servers:
            urls = [f"http://127.0.0.1:{port}" for port in whole.ports[:count]]
            asyncio.run(_asked(urls, key, texts, 2.0))
            watch, start = Watch(parts_of(whole)), time.perf_counter()
            done = asyncio.run(_asked(urls, key, texts, seconds))
            took = time.perf_counter() - start
            found[count] = {"rate": round(done / took, 1), "cpu": watch.used()} | {
                "seconds": round(took, 1)
            }
    return found


async def _asked(urls: Sequence[str], key: str, texts: Sequence[str], seconds: float) -> int:
    """Searches, each of them new, until the time is over; how many were answered."""
    over_at, done = time.monotonic() + seconds, 0
    headers = {"Authorization": f"Bearer {key}"}

    async def asking(number: int) -> None:
        nonlocal done
        url = urls[number % len(urls)]
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            turn = number
            while time.monotonic() < over_at:
                turn += _ASKING
                text = texts[turn % len(texts)]
                begin = (turn * 97) % (len(text) - 80)
                body = {"query": text[begin : begin + 80], "top_k": 10}
                reply = await client.post("/api/search", json=body)
                reply.raise_for_status()
                done += 1

    await asyncio.gather(*(asking(number) for number in range(_ASKING)))
    return done


def _compared(found: dict[int, Figures]) -> dict[str, Figures]:
    first = next(iter(found.values()))["rate"]
    return {
        str(count): one | {"ratio": round(one["rate"] / first, 2)} for count, one in found.items()
    }


def _print(figures: Figures) -> None:
    cores = figures["cores"]
    for what, unit in (("ingestion", "documents"), ("queries", "queries")):
        print(f"\n{what}: {unit} a second, beside the first; cores that each part used, of {cores}")
        for count, one in figures[what].items():
            shares = {part: it / one["seconds"] for part, it in one["cpu"].items()}
            told = "  ".join(f"{part} {share:.2f}" for part, share in shares.items())
            busy = sum(shares.values())
            print(f"{count:>3} {one['rate']:>8} x{one['ratio']:<5} {told}  all {busy:.2f}")


if __name__ == "__main__":
    sys.exit(main())
