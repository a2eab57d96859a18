"""What it costs to answer a question, without the model, beside the bare engine and others.

A library of 50,000 chunks of some 170 words, 384 dimensions, clustered as real ones are: topics,
documents, chunks. A question is some words of a chunk, and a vector near its own. CPU time, user
and system, of a process and all that it starts, for batches of questions; contestants take turns
batch by batch, and medians count. The bare engine makes the very calls that our query makes, in
the measured process, without a socket. Read the ratios.

The library and the peers' indexes are made once and kept in the given folder. The peers live in
an interpreter of their own, see `bench.ingest`.

    python -m bench.query --cache /tmp/asked --peer-python /tmp/peers/bin/python
    python -m bench.query --cache /tmp/asked --chunks 500000
"""

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.ingest import sentences
from bench.peers.asked import NEAREST, Answer, Asking, Rows, Times
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE
from unchunk.domain import Chunking, ChunkingStrategy, Extracted
from unchunk.library.layout import lay_out

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "query.json"
BARE, WIDENED, MOST, LEAST = "bare engine", "search_with_context", 2.0, 0.97
# What each level adds to the one above, and in how many directions: real vectors fill few. The
# levels overlap, so that a graph with usual settings finds all but a few in a hundred.
TOPICS, LATENT = 300, 128
OF_TOPIC, OF_DOCUMENT, OF_CHUNK, OF_QUESTION, EVERYWHERE = 0.5, 0.5, 1.0, 0.7, 0.02
_WORD = re.compile(r"[A-Za-z]{3,}")
_BLOCK = 10_000


class Contestant(NamedTuple):
    name: str
    module: str
    is_peer: bool = True


CONTESTANTS = (
    Contestant("unchunk", "query_ours", is_peer=False),
    Contestant("txtai", "query_txtai"),
    Contestant("LlamaIndex", "query_llamaindex"),
)


def write_corpus(folder: Path, chunks: int, questions: int) -> None:
    """About `chunks` chunks, in documents of some 50; the note is written last, when all is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random.Random(5)
    pool = [one.encode("ascii", "ignore").decode() for one in sentences()]
    chunking = Chunking(ChunkingStrategy("chars", SIZE, OVERLAP), "boundary")
    rows: list[tuple[int, int, int, int]] = []
    spans: list[tuple[int, int]] = []
    topics: list[int] = []
    begin = 0
    with (folder / "texts.txt").open("w", encoding="ascii") as file:
        while len(rows) < chunks:
            topics.append(rng.randrange(TOPICS))
            text = _document(rng, pool, topics[-1], rng.randint(8_000, 78_000))
            cut = lay_out(
                Extracted(text, "text/plain"), chunking, lambda them: [1] * len(them), 512
            )
            rows += [(len(spans), it.chunk_index, begin + it.start, begin + it.end) for it in cut]
            spans.append((begin, begin + len(text)))
            begin += len(text)
            file.write(text)
    np.save(folder / "documents.npy", np.array(spans, np.int64))
    np.save(folder / "chunks.npy", np.array(rows, np.int64))
    text = (folder / "texts.txt").read_text("ascii")
    chosen = rng.sample(range(len(rows)), questions)
    asked = [_question(rng, text[rows[at][2] : rows[at][3]]) for at in chosen]
    (folder / "questions.json").write_text(json.dumps(asked), "utf-8")
    min_score = _write_vectors(folder, [row[0] for row in rows], topics, chosen)
    note = {"chunks": len(rows), "questions": questions, "min_score": min_score}
    (folder / "note.json").write_text(json.dumps(note), "utf-8")


def _document(rng: random.Random, pool: Sequence[str], topic: int, length: int) -> str:
    """Half of its sentences are of its topic: consecutive ones of the sources."""
    width = len(pool) // TOPICS
    own = pool[topic * width : (topic + 1) * width]
    parts: list[str] = []
    while sum(map(len, parts)) < length:
        some = rng.choices(own, k=rng.randint(3, 9)) + rng.choices(pool, k=rng.randint(3, 9))
        rng.shuffle(some)
        parts.append(" ".join(some) + "\n\n")
    return "".join(parts)


def _question(rng: random.Random, text: str) -> str:
    """Some words of a chunk as they follow each other, rare and common ones, as people ask."""
    words = _WORD.findall(text)
    first = rng.randrange(max(len(words) - 12, 1))
    some = [word for word in words[first : first + 12] if rng.random() < 0.7]
    return f"What of {' '.join(some)}?"


def _write_vectors(
    folder: Path, of: Sequence[int], topics: Sequence[int], chosen: Sequence[int]
) -> float:
    rng = np.random.default_rng(6)
    scale = (1 / np.sqrt(np.arange(1, LATENT + 1))).astype(np.float32)
    turn = rng.standard_normal((LATENT, DIMENSIONS), np.float32)

    def latent(count: int) -> Rows:
        made: Rows = rng.standard_normal((count, LATENT), np.float32) * scale
        return made

    def full(rows: Rows) -> Rows:
        wide: Rows = rows @ turn
        size = np.linalg.norm(wide, axis=1, keepdims=True)
        wide = wide / size + EVERYWHERE * rng.standard_normal(wide.shape, np.float32)
        wide /= np.linalg.norm(wide, axis=1, keepdims=True)
        return wide

    documents = OF_TOPIC * latent(TOPICS)[topics] + OF_DOCUMENT * latent(len(topics))
    path = folder / "vectors.npy"
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, (len(of), DIMENSIONS))
    kept: dict[int, Rows] = {}
    wanted = set(chosen)
    for first in range(0, len(of), _BLOCK):
        some = of[first : first + _BLOCK]
        rows = documents[some] + OF_CHUNK * latent(len(some))
        vectors[first : first + len(some)] = full(rows)
        kept |= {at: rows[at - first] for at in wanted & set(range(first, first + len(some)))}
    asked = full(np.stack([kept[at] for at in chosen]) + OF_QUESTION * latent(len(chosen)))
    np.save(folder / "asked.npy", asked)
    best, nearest = _nearest(asked, vectors)
    np.save(folder / "nearest.npy", nearest)
    by_chance = asked @ np.asarray(vectors[rng.integers(len(of), size=1000)]).T
    note = f"cosines: best {np.median(best[:, 0]):.2f}, tenth {np.median(best[:, -1]):.2f}"
    print(f"{note}, by chance {np.median(by_chance):.2f}")
    # As for the models: what one in twenty questions reaches with a text of something else.
    return float(np.quantile(by_chance, 0.95))


def _nearest(asked: Rows, vectors: Rows) -> tuple[Rows, npt.NDArray[np.int64]]:
    best: Rows = np.full((len(asked), NEAREST), -2, np.float32)
    nearest = np.zeros((len(asked), NEAREST), np.int64)
    for first in range(0, len(vectors), _BLOCK):
        cosines = asked @ np.asarray(vectors[first : first + _BLOCK]).T
        every = np.hstack([best, cosines])
        places = np.broadcast_to(np.arange(first, first + cosines.shape[1]), cosines.shape)
        indices = np.hstack([nearest, places])
        order = np.argsort(-every, axis=1, kind="stable")[:, :NEAREST]
        best = np.take_along_axis(every, order, axis=1)
        nearest = np.take_along_axis(indices, order, axis=1)
    return best, nearest


def run(contestant: Contestant, asking: Asking, python: str) -> Answer:
    done = subprocess.run(
        [python, "-m", f"bench.peers.{contestant.module}", json.dumps(asdict(asking))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{contestant.name} failed")
    said = json.loads(done.stdout.splitlines()[-1])
    times = {name: Times(**one) for name, one in said.pop("times").items()}
    return Answer(times, **said)


def print_times(answers: dict[str, Answer]) -> None:
    ours = answers["unchunk"].times
    bare, widened = _median(ours[BARE].cpu), _median(ours[WIDENED].cpu)
    print(
        f"{'ms for a question':34} {'CPU':>7} {'least':>7} {'/ bare':>7} {'wall':>7} {'recall@10':>10}"
    )
    for name, answer in answers.items():
        for what, times in answer.times.items():
            spent = _median(times.cpu)
            print(
                f"{f'{name}: {what}':34} {spent:7.2f} {min(times.cpu):7.2f} {spent / bare:7.2f}"
                f" {_median(times.wall):7.2f} {answer.recall:10.3f}"
            )
    beside = [one / other for one, other in zip(ours[WIDENED].cpu, ours[BARE].cpu, strict=True)]
    ratio = _median(beside)
    print(
        f"\nours / bare engine, batch by batch: {ratio:.2f}, target {MOST}: {_met(ratio <= MOST)}"
    )
    recall = answers["unchunk"].recall
    print(f"recall of our dense search: {recall:.3f}, target {LEAST}: {_met(recall >= LEAST)}")
    for name, answer in answers.items():
        if name != "unchunk":
            least = min(_median(times.cpu) for times in answer.times.values())
            print(f"{name} takes {least / widened:.1f} times as much CPU")
        for what, share in answer.duplicated.items():
            print(f"{name}: {what}: {share:.1%} of the context's characters are there twice")
    for what, value in answers["unchunk"].notes.items():
        print(f"  {what}: {value:.2f}")


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"


def note(chunks: int, answers: dict[str, Answer]) -> None:
    """Beside the results for other sizes, so that growth can be read."""
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[f"{chunks} chunks"] = {
        name: {
            **asdict(answer),
            "cpu_ms": {what: _median(times.cpu) for what, times in answer.times.items()},
            "wall_ms": {what: _median(times.wall) for what, times in answer.times.items()},
        }
        for name, answer in answers.items()
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
    growth(kept)


def growth(kept: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    if len(kept) < 2:
        return
    smaller, larger = sorted(kept, key=lambda size: int(size.split()[0]))[:: len(kept) - 1]
    few, many = (kept[size]["unchunk"]["cpu_ms"] for size in (smaller, larger))
    print(f"\ngrowth of CPU from {smaller} to {larger}:")
    for what in [one for one in few if one in many]:
        print(f"  {what:30} {few[what]:7.2f} -> {many[what]:7.2f}: {many[what] / few[what]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.query", description="A question beside peers.")
    parser.add_argument("--cache", type=Path, required=True, help="where the library is kept")
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--peer-python", help="an interpreter that has the peers")
    parser.add_argument("--profile", action="store_true", help="where our own time goes")
    arguments = parser.parse_args()
    folder = arguments.cache.resolve() / str(arguments.chunks)
    corpus = folder / "corpus"
    if not (corpus / "note.json").exists():
        write_corpus(corpus, arguments.chunks, arguments.questions)
    answers: dict[str, Answer] = {}
    for one in CONTESTANTS:
        if one.is_peer and not arguments.peer_python:
            continue
        work = str(folder / one.module)
        asking = Asking(str(corpus), work, arguments.batch, arguments.repeats, arguments.profile)
        python = arguments.peer_python if one.is_peer else sys.executable
        answers[one.name] = run(one, asking, python)
        if arguments.profile:
            print(answers[one.name].profile)
            return
    print_times(answers)
    note(arguments.chunks, answers)


if __name__ == "__main__":
    main()
