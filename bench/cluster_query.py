"""What a chunk-aware question costs against a Qdrant cluster, beside bare calls of its client.

Three nodes as processes of this machine, a library of `--chunks` chunks as in `bench.libraries`. The
calls that a question makes of the client are written down and made again without us: the same
requests, their answers read by the client's own types. CPU of this process, and of the nodes;
both take turns batch by batch, and medians count. Read the ratios.

    python -m bench.cluster_query --cache /tmp/asked --chunks 20000
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from qdrant_client import AsyncQdrantClient

from bench.libraries import plain_sentences, write_corpus
from bench.peers.asked import Corpus, batches
from bench.peers.embedding import prepared
from bench.peers.measure import cpu_of
from bench.peers.written import begun, open_given, points_of, settings_of
from unchunk.adapters.catalog import SqlCatalog, open_database
from unchunk.adapters.index import qdrant
from unchunk.engine import Engine
from unchunk.ports import Index

RESULTS = Path(__file__).parent / "results" / "cluster_query.json"
MOST = 2.0
_AT_ONCE = 40  # documents

Ask = Callable[[str], Awaitable[object]]


class Call(NamedTuple):
    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@contextmanager
def calls_noted(calls: list[Call]) -> Iterator[None]:
    """All that is asked of the client meanwhile, as one would ask it without us."""
    found, retrieve = getattr(qdrant, "found"), AsyncQdrantClient.retrieve  # noqa: B009

    async def noted_search(
        client: AsyncQdrantClient,
        collection: str,
        requests: Any,  # noqa: ANN401
        owner: str,
        seconds: int,
    ) -> object:
        calls.append(Call("query_batch_points", (collection, requests), {"timeout": seconds}))
        return await found(client, collection, requests, owner, seconds)

    async def noted_fetch(client: AsyncQdrantClient, *arguments: Any, **options: Any) -> object:  # noqa: ANN401
        calls.append(Call("retrieve", arguments, options))
        return await retrieve(client, *arguments, **options)

    setattr(qdrant, "found", noted_search)  # noqa: B010 -- for this while
    setattr(AsyncQdrantClient, "retrieve", noted_fetch)  # noqa: B010
    try:
        yield
    finally:
        setattr(qdrant, "found", found)  # noqa: B010
        setattr(AsyncQdrantClient, "retrieve", retrieve)  # noqa: B010


async def open_engine(home: Path, index: str, corpus: Corpus) -> Engine:
    return await open_given(settings_of(home, index, 60), prepared(corpus))


async def build(home: Path, index: str, corpus: Corpus) -> None:
    engine = await open_engine(home, index, corpus)
    space: Index = engine._parts.spaces.active.index  # noqa: SLF001 -- written as by its own parts
    name = engine._parts.spaces.active.name  # noqa: SLF001
    catalog = SqlCatalog(await open_database(home / "catalog.sqlite"))
    for some in batches(range(len(corpus.documents)), _AT_ONCE):
        wholes = [await begun(catalog, corpus, number, name) for number in some]
        for number, whole in zip(some, wholes, strict=True):
            await space.upsert(points_of(corpus, number, whole))
        await catalog.go_live(wholes)
    await catalog.close()
    await engine.close()


async def measure(home: Path, cluster: Any, corpus: Corpus, batch: int) -> dict[str, Any]:  # noqa: ANN401
    index, pids = cluster.spec, [node.pid for node in cluster.nodes]
    await build(home, index, corpus)
    engine = await open_engine(home, index, corpus)
    made: dict[str, list[Call]] = {question: [] for question in corpus.questions}
    for question, its in made.items():
        with calls_noted(its):
            await engine.search_with_context(question)
    await engine.close()
    node = cluster.nodes[0]
    client = AsyncQdrantClient(
        url=node.url, grpc_port=node.grpc_port, prefer_grpc=True, check_compatibility=False
    )

    async def bare(question: str) -> object:
        return [
            await getattr(client, call.method)(*call.arguments, **call.options)
            for call in made[question]
        ]

    engine = await open_engine(home, index, corpus)
    ways: dict[str, Ask] = {"bare client": bare, "search_with_context": engine.search_with_context}
    warm, *counted = batches(corpus.questions, batch)
    ours: dict[str, list[float]] = {name: [] for name in ways}
    nodes: dict[str, list[float]] = {name: [] for name in ways}
    for ask in ways.values():
        for question in warm:
            await ask(question)
    for number, some in enumerate(counted):
        for name, ask in [*ways.items()][:: 1 if number % 2 else -1]:
            before = cpu_of(os.getpid()), sum(map(cpu_of, pids))
            for question in some:
                await ask(question)
            ours[name].append((cpu_of(os.getpid()) - before[0]) / len(some) * 1e3)
            nodes[name].append((sum(map(cpu_of, pids)) - before[1]) / len(some) * 1e3)
    await engine.close()
    await client.close()
    methods = [call.method for its in made.values() for call in its]
    return {
        "chunks": len(corpus.chunks),
        "round trips": len(methods) / len(made),
        "searches": methods.count("query_batch_points") / len(made),
        "fetches": methods.count("retrieve") / len(made),
        "client cpu ms": {name: statistics.median(it) for name, it in ours.items()},
        "nodes cpu ms": {name: statistics.median(it) for name, it in nodes.items()},
        "ratio of all": _ratio(
            *([a + b for a, b in zip(ours[n], nodes[n], strict=True)] for n in reversed(ways))
        ),
        "ratio of the client alone": _ratio(*(ours[name] for name in reversed(ways))),
    }


def _ratio(ones: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.cluster_query")
    parser.add_argument("--cache", type=Path, required=True, help="where the texts are kept")
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--batch", type=int, default=20)
    arguments = parser.parse_args()
    # The cluster of the tests is the one that is measured.
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import clusters

    corpus = arguments.cache.resolve() / str(arguments.chunks) / "corpus"
    if not (corpus / "note.json").exists():
        write_corpus(corpus, arguments.chunks, arguments.questions, plain_sentences(), "")
    work = Path(tempfile.mkdtemp(prefix="cluster-query-"))
    try:
        with clusters.cluster(work / "cluster") as cluster:
            told = asyncio.run(measure(work / "home", cluster, Corpus(corpus), arguments.batch))
    finally:
        shutil.rmtree(work)
    print(json.dumps(told, indent=2))
    met = "met" if told["ratio of all"] <= MOST else "missed"
    print(f"ours / bare calls, CPU of client and nodes: {told['ratio of all']:.2f}, {met}")
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[f"{told['chunks']} chunks"] = told
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
