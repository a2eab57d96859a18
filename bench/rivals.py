"""The peers of the quality measure, each asked in its own interpreter.

Asks for what they cut, embeds it, and tells them what is nearest: they need no model.
"""

import asyncio
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.known import Known
from bench.peers.quality_asked import NEAREST, Near, Span
from bench.running import Run
from bench.vectors import KeptVectors
from unchunk.ports import Vectors

ROOT = Path(__file__).parents[1]
# The module for each environment, and what its ways are called together.
PLAYERS = {
    "langchain": ("quality_langchain", "LangChain"),
    "chunkers": ("quality_recursive", "LangChain recursive 200/0"),
    "llamaindex": ("quality_llamaindex", "LlamaIndex"),
    "haystack": ("quality_haystack", "Haystack"),
    "txtai": ("quality_txtai", "txtai"),
    "dsrag": ("quality_dsrag", "dsRAG"),
}
_NO_RANKS = ("chunkers", "dsrag")  # contexts are all they make
_NOT_QUICK = ("txtai",)  # loads PyTorch each time
SECONDS = 1800
_AT_ONCE = 2  # nothing is timed here


class PeerError(Exception):
    """A peer's program ended without an answer."""


@dataclass(slots=True)
class Answers:
    """Of each way, for each question: numbers of our chunks in order, or contexts that grow.

    `near` is what the exact scan finds. `missing` says who could not take part, and why.
    """

    near: list[Near]
    ranked: dict[str, list[list[int]]] = field(default_factory=dict)
    shown: dict[str, list[list[list[Span]]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


async def answers(
    run: Run, it: Known, texts: Sequence[str], vectors: KeptVectors, *, contexts: bool
) -> Answers:
    """`texts` are the questions as the peers are asked; without `contexts` they only rank."""
    rows = await vectors.embed(it.said, "document")
    asked = await vectors.embed(texts, "query")
    given = Answers(nearest(rows, asked))
    with TemporaryDirectory(prefix="unchunk-quality-") as temporary:
        folder = Path(temporary)
        np.save(folder / "vectors.npy", rows)
        np.save(folder / "asked.npy", asked)
        request: dict[str, Any] = {
            "texts": dict(it.texts),
            "chunks": it.chunks,
            "said": it.said,
            "questions": texts,
            "near": given.near,
            "own": {},
            "vectors": str(folder / "vectors.npy"),
            "asked": str(folder / "asked.npy"),
        }
        turns = asyncio.Semaphore(_AT_ONCE)

        async def ask(environment: str) -> dict[str, Any]:
            module, called = PLAYERS[environment]
            if run.is_quick and environment in _NOT_QUICK:
                raise PeerError("a quick run does without it")
            if environment not in run.pythons:
                raise PeerError(run.absent.get(environment, "it has no environment here"))
            play = _Playing(run.pythons[environment], module, folder / environment)
            async with turns:
                run.say(f"  {called}")
                own = {}
                if contexts:
                    cut = await play({"do": "cut", "texts": request["texts"]})
                    for way, spans in cut.items():
                        said = [it.texts[name][start:end] for name, start, end in spans]
                        own[way] = nearest(await vectors.embed(said, "document"), asked)
                what = "show" if contexts else "rank"
                return await play({"do": what, "asked": {**request, "own": own}})

        chosen = [one for one in PLAYERS if contexts or one not in _NO_RANKS]
        done = await asyncio.gather(*map(ask, chosen), return_exceptions=True)
    for environment, found in zip(chosen, done, strict=True):
        if isinstance(found, PeerError):
            _, called = PLAYERS[environment]
            given.missing[called] = str(found)
            run.say(f"  {called} is left out: {found}")
        elif isinstance(found, BaseException):
            raise found
        else:
            given.ranked |= found["ranked"]
            given.shown |= found.get("shown", {})
    return given


def nearest(rows: Vectors, asked: Vectors) -> list[Near]:
    """What an exact scan finds for each of those that ask, the best first."""
    found = []
    for vector in asked:
        cosines = rows @ vector
        order = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
        found.append([(at, float(cosines[at])) for at in order])
    return found


class _Playing:
    def __init__(self, python: str, module: str, folder: Path) -> None:
        folder.mkdir()
        self._command = [python, "-m", f"bench.peers.{module}"]
        self._request, self._answer = folder / "request.json", folder / "answer.json"

    async def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._play, request)

    def _play(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._request.write_text(json.dumps(request), "utf-8")
        command = [*self._command, str(self._request), str(self._answer)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise PeerError(f"it took longer than {SECONDS} s") from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["it ended without a word"]
            raise PeerError(said[-1][:300])
        answer: dict[str, Any] = json.loads(self._answer.read_text("utf-8"))
        return answer
