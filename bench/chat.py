"""What an answer costs beside its model: the first token, and many streams at once.

    python -m bench.chat [--documents 1000] [--questions 200] [--streams 500] [--tokens 100]
                         [--embedder hashing]

A library of abstracts (shared/data/scifact), a scripted model in a process of its own, the server
in another. First: from the question to the first token, less what the model itself takes, as a
ratio to the same retrieval alone; questions go to both ways by turns, so that nothing is
remembered. Then: that many streams at once through the server, each of so many tokens; how many
came whole, and what memory the server took for each.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import httpx2

from adapters.llm.scripted import own_process
from corpus import DATA
from unchunk.adapters.llm.endpoints import openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.chat.events import Token
from unchunk.chat.request import ChatRequest, question
from unchunk.engine import Engine
from unchunk.ports import Sampling
from unchunk.settings import load
from unchunk.wiring import open_engine

_PAUSE = 0.05


class Figures(NamedTuple):
    """Milliseconds in the median; `ratio` is (first token - model alone) / retrieval alone."""

    retrieval: float
    model: float
    first_token: float
    ratio: float
    through_server: float
    streams: int
    whole: int
    seconds: float
    server_cpu: float
    kilobytes_per_stream: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--embedder", default="hashing")
    options = parser.parse_args()
    documents, questions = _scifact(options.documents, options.questions)
    with tempfile.TemporaryDirectory() as folder, own_process() as model:
        home = Path(folder) / "home"
        environment = {
            "UNCHUNK_EMBEDDER": options.embedder,
            "UNCHUNK_CHAT": "openai:scripted",
            "UNCHUNK_CHAT_URL": f"{model.url}/v1",
        }
        _fill(Path(folder), home, environment, documents)
        first = asyncio.run(_first_tokens(home, environment, model.url, questions))
        with _server(home, environment) as (url, pid):
            through = asyncio.run(_through_server(url, questions))
            many = asyncio.run(
                _many(url, pid, questions, options.streams, f"stream:{options.tokens}:{_PAUSE}")
            )
    figures = Figures._make((*first, through, *many))
    for name, figure in figures._asdict().items():
        print(f"{name:<22}{figure}")
    results = Path(__file__).parent / "results" / "chat.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(figures._asdict(), indent=1) + "\n", "utf-8")
    return 0 if figures.whole == figures.streams else 1


def _scifact(documents: int, questions: int) -> tuple[dict[str, str], list[str]]:
    def rows(name: str) -> Iterator[dict[str, str]]:
        with (DATA / "scifact" / name).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    texts = {one["_id"]: f"{one['title']}\n\n{one['text']}" for one in rows("corpus.jsonl")}
    asked = [one["text"] for one in rows("queries.jsonl")]
    return dict([*texts.items()][:documents]), asked[:questions]


def _fill(folder: Path, home: Path, environment: dict[str, str], texts: dict[str, str]) -> None:
    files = folder / "files"
    files.mkdir()
    for name, text in texts.items():
        (files / f"{name}.txt").write_text(text, "utf-8")

    async def fill() -> None:
        engine = await open_engine(load(home, environment))
        await engine.add(files)
        await engine.close()

    asyncio.run(fill())


async def _first_tokens(
    home: Path, environment: dict[str, str], url: str, questions: list[str]
) -> tuple[float, float, float, float]:
    engine = await open_engine(load(home, environment))
    model = OpenAIChatModel(openai(f"{url}/v1", "scripted"))
    found: list[float] = []
    alone: list[float] = []
    answered: list[float] = []
    try:
        for at, one in enumerate(questions):
            if at % 2:
                found.append(await _timed_retrieval(engine, one))
            else:
                answered.append(await _timed_token(engine, one))
            alone.append(await _timed_model(model, one))
    finally:
        await model.close()
        await engine.close()
    # The first ones load what is loaded once.
    retrieval, by_model, token = (statistics.median(one[5:]) for one in (found, alone, answered))
    return (
        round(retrieval, 2),
        round(by_model, 2),
        round(token, 2),
        round((token - by_model) / retrieval, 3),
    )


async def _timed_retrieval(engine: Engine, text: str) -> float:
    began = time.perf_counter()
    await engine.retrieve(text)
    return (time.perf_counter() - began) * 1000


async def _timed_token(engine: Engine, text: str) -> float:
    began = time.perf_counter()
    async with aclosing(engine.chat(ChatRequest(question(text)))) as events:
        async for event in events:
            if isinstance(event, Token):
                return (time.perf_counter() - began) * 1000
    raise RuntimeError(f"no token for {text!r}")


async def _timed_model(model: OpenAIChatModel, text: str) -> float:
    # As long as a prompt with evidence is.
    prompt = f"{text} " * (6_000 // max(len(text), 1))
    began = time.perf_counter()
    async with model.stream([{"role": "user", "content": prompt}], Sampling()) as deltas:
        await anext(deltas)
        return (time.perf_counter() - began) * 1000


@contextmanager
def _server(home: Path, environment: dict[str, str]) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "unchunk", "--home", str(home), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--json"], env=os.environ | environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.terminate()


async def _through_server(url: str, questions: list[str]) -> float:
    times = []
    async with httpx2.AsyncClient(timeout=60) as client:
        for one in questions[:50]:
            began = time.perf_counter()
            async with client.stream(
                "POST", f"{url}/api/chat/stream", json={"message": f"{one} Is it so?"}
            ) as reply:
                async for line in reply.aiter_lines():
                    if line == "event: token":
                        times.append((time.perf_counter() - began) * 1000)
                        break
    return round(statistics.median(times[5:]), 2)


async def _many(
    url: str, pid: int, questions: list[str], streams: int, model: str
) -> tuple[int, int, float, float, float]:
    tokens = int(model.split(":")[1])
    before, used = _memory(pid), _cpu(pid)
    peak = before
    limits = httpx2.Limits(max_connections=None)
    began = time.perf_counter()
    async with httpx2.AsyncClient(timeout=300, limits=limits) as client:
        reading = asyncio.gather(
            *(_read(client, url, questions[at % len(questions)], model) for at in range(streams))
        )
        while not reading.done():
            peak = max(peak, _memory(pid))
            await asyncio.sleep(0.1)
        counts = reading.result()
    seconds = time.perf_counter() - began
    whole = sum(count == tokens for count in counts)
    per_stream = (peak - before) / streams
    return streams, whole, round(seconds, 1), round(_cpu(pid) - used, 1), round(per_stream, 1)


async def _read(client: httpx2.AsyncClient, url: str, text: str, model: str) -> int:
    """How many tokens came before the end; -1 if it did not end well."""
    count, ended = 0, False
    body = {"message": text, "model": model}
    async with client.stream("POST", f"{url}/api/chat/stream", json=body) as reply:
        async for line in reply.aiter_lines():
            count += line == "event: token"
            ended = ended or line == "event: done"
    return count if ended else -1


def _memory(pid: int) -> int:
    """Kilobytes that the process holds itself."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
