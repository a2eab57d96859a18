"""How fast texts are chunked, beside the chunkers that people use. Read the ratios.

CPU time, median of interleaved repeats. All make the texts of their chunks, ours as well.
"""
# ruff: noqa: A005 -- run as `bench.chunk`, so it never shadows the standard library's module

import json
import os
import statistics
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import tiktoken
from chonkie import RecursiveChunker, SentenceChunker, TokenChunker
from semantic_text_splitter import MarkdownSplitter, TextSplitter

from unchunk.domain import Boundaries, ChunkingStrategy
from unchunk.text.chunking import chunk

TEXTS = Path(__file__).parents[2] / "shared" / "data" / "texts"
RESULTS = Path(__file__).parent / "results" / "chunk.json"
MEGABYTE = 1_000_000
REPEATS = 5

Chunker = Callable[[str], object]


class Job(NamedTuple):
    """`megabytes` is how much text one call gets: no more than there is, and less for slow peers."""

    name: str
    strategy: ChunkingStrategy
    boundaries: Boundaries
    peers: dict[str, Chunker]
    megabytes: float

    @property
    def text(self) -> str:
        return source(self.boundaries, round(self.megabytes * MEGABYTE))

    def ours(self, text: str) -> object:
        return [span.of(text) for span in chunk(text, self.strategy, boundaries=self.boundaries)]


def source(boundaries: Boundaries, length: int) -> str:
    text = commonmark() if boundaries == "markdown" else moby_dick()
    return (text * (length // len(text) + 1))[:length]


@cache
def moby_dick() -> str:
    chapters = sorted((TEXTS / "moby-dick").glob("chapter_*.json"))
    return "\n\n".join(json.loads(path.read_text("utf-8"))["text"] for path in chapters)


@cache
def commonmark() -> str:
    return (TEXTS / "commonmark" / "spec.txt").read_text("utf-8")


@cache
def offline_tiktoken() -> tiktoken.Encoding:
    """With the vocabulary that llama-index-core carries, so that none is fetched."""
    found = find_spec("llama_index.core")
    if found is None or found.submodule_search_locations is None:
        raise SystemExit("llama-index-core is missing: run `make setup-dev`")
    folder = Path(found.submodule_search_locations[0]) / "_static" / "tiktoken_cache"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return tiktoken.get_encoding("cl100k_base")


def bare_slices(text: str) -> list[str]:
    return [text[first : first + 1000] for first in range(0, len(text), 800)]


def bare_words(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[first : first + 320]) for first in range(0, len(words), 240)]


def bare_tokens(text: str) -> list[str]:
    encoding = offline_tiktoken()
    ids = encoding.encode_ordinary(text)
    return [encoding.decode(ids[first : first + 800]) for first in range(0, len(ids), 400)]


def recursive(tokenizer: str | tiktoken.Encoding, size: int) -> Chunker:
    """Made anew for each text: it remembers the counts of texts that it has seen."""

    def chunk_anew(text: str) -> object:
        return RecursiveChunker(tokenizer, size)(text)

    return chunk_anew


def jobs() -> list[Job]:
    def chars(overlap: int) -> ChunkingStrategy:
        return ChunkingStrategy("chars", 1000, overlap)

    model, tokens = "gpt-3.5-turbo", offline_tiktoken()
    return [
        Job(
            "window of 1000/200 chars",
            chars(200),
            "window",
            {"slices": bare_slices, "chonkie token": TokenChunker("character", 1000, 200)},
            1.1,
        ),
        Job(
            "window of 320/80 words",
            ChunkingStrategy("words", 320, 80),
            "window",
            {"split and join": bare_words, "chonkie token": TokenChunker("word", 320, 80)},
            1.1,
        ),
        Job(
            "window of 800/400 tokens",
            ChunkingStrategy("tokens", 800, 400),
            "window",
            {"tiktoken": bare_tokens, "chonkie token": TokenChunker(tokens, 800, 400)},
            1.1,
        ),
        Job(
            "boundary at 1000/200 chars",
            chars(200),
            "boundary",
            {
                "text-splitter": TextSplitter(1000, 200).chunks,
                "chonkie sentence": SentenceChunker("character", 1000, 200),
            },
            1.1,
        ),
        Job(
            "boundary at 1000/0 chars",
            chars(0),
            "boundary",
            {
                "text-splitter": TextSplitter(1000).chunks,
                "chonkie sentence": SentenceChunker("character", 1000),
                "chonkie recursive": recursive("character", 1000),
            },
            1.1,
        ),
        Job(
            "boundary at 400/80 tokens",
            ChunkingStrategy("tokens", 400, 80),
            "boundary",
            {
                "text-splitter": TextSplitter.from_tiktoken_model(model, 400, 80).chunks,
                "chonkie sentence": SentenceChunker(tokens, 400, 80),
                "chonkie recursive": recursive(tokens, 400),
            },
            0.5,
        ),
        Job(
            "markdown at 1000/200 chars",
            chars(200),
            "markdown",
            {"text-splitter": MarkdownSplitter(1000, 200).chunks},
            1,
        ),
    ]


def cpu_seconds(work: Chunker, text: str) -> float:
    begun = time.process_time()
    work(text)
    return time.process_time() - begun


def speeds(job: Job) -> dict[str, float]:
    """Megabytes (million characters) per CPU second, by name."""
    text, runners = job.text, {"unchunk": job.ours, **job.peers}
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(REPEATS):
        for name, work in runners.items():
            seconds[name].append(cpu_seconds(work, text))
    return {
        name: len(text) / MEGABYTE / statistics.median(spent) for name, spent in seconds.items()
    }


def linearity(job: Job) -> dict[int, float]:
    """CPU seconds at 1, 2, 4 and 8 megabytes, the best of three."""
    return {
        size: min(cpu_seconds(job.ours, source(job.boundaries, size * MEGABYTE)) for _ in range(3))
        for size in (1, 2, 4, 8)
    }


def main() -> None:
    report: dict[str, dict[str, object]] = {}
    print(f"{'':28} {'unchunk':>9}   MB per CPU second, and how many times ours is as fast")
    for job in jobs():
        job.ours("Load the encoding first.")
        speed = speeds(job)
        ours = speed["unchunk"]
        ratios = {name: ours / speed[name] for name in job.peers}
        shown = "  ".join(f"{name} {speed[name]:.1f} ({ratios[name]:.2f}x)" for name in ratios)
        print(f"{job.name:28} {ours:9.1f}   {shown}")
        report[job.name] = {"megabytes_per_second": speed, "ratio": ratios}
    print(f"\n{'CPU ms at':28} {'1 MB':>9} {'2 MB':>9} {'4 MB':>9} {'8 MB':>9}   8 MB / 1 MB")
    for job in jobs():
        spent = linearity(job)
        shown = " ".join(f"{seconds * 1000:9.1f}" for seconds in spent.values())
        print(f"{job.name:28} {shown}   {spent[8] / spent[1]:.1f}")
        report[job.name]["seconds_at_megabytes"] = spent
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
