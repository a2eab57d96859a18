"""The local reranker with the real model that its description names."""

import asyncio
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]  # carries no types
import pytest
from tokenizers import Tokenizer

from adapters.rerank.real_rerankers import files_of
from unchunk.adapters.rerank import local
from unchunk.adapters.rerank.local import LocalReranker, Network
from unchunk.adapters.rerank.models import DEFAULT_MODEL, ModelFile, descriptions, local_model
from unchunk.errors import (
    IntegrityError,
    InvalidSettingError,
    InvalidTextError,
    ProviderRefusedError,
)
from unchunk.ports import Reranker
from unchunk.testing.rerankers import RerankerContract

MODEL = local_model(DEFAULT_MODEL)
QUESTION = "How many people live in Berlin?"
BERLIN = "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
MUSEUM = "New York City is famous for the Metropolitan Museum of Art."


@contextmanager
def opened(threads: int | None = None, max_tokens: int = 512) -> Iterator[LocalReranker]:
    model = replace(MODEL, max_tokens=max_tokens)
    reranker = LocalReranker(model, files_of(model), threads=threads)
    try:
        yield reranker
    finally:
        asyncio.run(reranker.close())


def rerank(*texts: str, question: str = QUESTION, max_tokens: int = 512) -> list[float]:
    with opened(max_tokens=max_tokens) as reranker:
        return asyncio.run(reranker.rerank(question, texts))


class TestMsMarco(RerankerContract):
    # Not a bit of difference: each pair runs alone.
    tolerance = 0.0

    def opened(self) -> AbstractAsyncContextManager[Reranker]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Reranker]:
        reranker = LocalReranker(MODEL, await asyncio.to_thread(files_of, MODEL))
        try:
            yield reranker
        finally:
            await reranker.close()


def test_a_pair_has_the_score_that_it_always_had() -> None:
    scores = rerank(BERLIN, MUSEUM)
    logits = [math.log(score / (1 - score)) for score in scores]
    # Eight-bit weights are multiplied a little differently by each kind of processor.
    assert np.allclose(logits, [9.39, -11.19], atol=0.3)


def test_a_pair_goes_in_as_the_tokenizer_itself_would_put_it() -> None:
    """Computed here, from the same files, by the tokenizer's own idea of a pair."""
    files = files_of(MODEL)
    tokenizer = Tokenizer.from_file(str(files[MODEL.tokenizer.path]))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(files[MODEL.weights.path], options)
    for text, found in zip((BERLIN, MUSEUM), rerank(BERLIN, MUSEUM), strict=True):
        pair = tokenizer.encode(QUESTION, text)
        feeds = {
            "input_ids": np.array([pair.ids]),
            "attention_mask": np.array([pair.attention_mask]),
            "token_type_ids": np.array([pair.type_ids]),
        }
        logit = float(session.run(None, feeds)[0][0, 0])
        assert math.isclose(math.log(found / (1 - found)), logit, abs_tol=1e-4)


def test_texts_up_to_the_limit_go_in_whole_and_longer_ones_in_even_parts() -> None:
    for length in (0, 1, 99, 100, 101, 168, 169, 1000):
        tokens = list(range(length))
        parts = list(local._parts(tokens, 100))
        assert all(len(part) <= 100 for part in parts)
        assert len(parts) == max(1, math.ceil((length - 32) / 68))
        assert {token for part in parts for token in part} == set(tokens)
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) < max(2, len(parts))
        for one, other in pairwise(parts):
            assert len(set(one) & set(other)) == 32


def test_a_text_in_parts_counts_as_its_best_part() -> None:
    filling = "Bread rises because yeast turns sugar into gas. " * 60
    with_answer, without = rerank(f"{filling}{BERLIN} {filling}", filling, max_tokens=192)
    assert with_answer > 0.9
    assert without < 0.01


def test_a_question_that_leaves_no_room_for_a_text_is_refused() -> None:
    words = "harbour " * 381
    assert len(rerank("text", question=words)) == 1
    with pytest.raises(ProviderRefusedError, match=r"382 tokens.* no more than 381") as caught:
        rerank("text", question=f"{words} harbour")
    assert caught.value.about_text


@pytest.mark.parametrize("mark", ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"])
def test_a_text_cannot_forge_the_tokenizer_s_marks(mark: str) -> None:
    with opened() as reranker:
        assert len(reranker._load().tokenizer.encode(mark, add_special_tokens=False)) > 1


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidTextError):
        rerank(b"bytes")  # type: ignore[arg-type]  # the mistake on trial


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    reranker = LocalReranker(MODEL, {path: tmp_path / path for path in MODEL.files})
    assert reranker.name == DEFAULT_MODEL
    assert asyncio.run(reranker.rerank(QUESTION, [])) == []
    with pytest.raises(IntegrityError, match="cannot read"):
        asyncio.run(reranker.rerank(QUESTION, [BERLIN]))
    asyncio.run(reranker.close())


@pytest.mark.parametrize("file", [MODEL.weights, MODEL.tokenizer])
def test_a_file_that_was_changed_is_not_used(tmp_path: Path, file: ModelFile) -> None:
    files = dict(files_of(MODEL))
    changed = tmp_path / "changed"
    changed.write_bytes(files[file.path].read_bytes() + b"\0")
    files[file.path] = changed
    reranker = LocalReranker(MODEL, files)
    with pytest.raises(IntegrityError, match="changed is not the file it should be"):
        asyncio.run(reranker.rerank(QUESTION, [BERLIN]))
    asyncio.run(reranker.close())


class Gate:
    """A network that waits to be let through, and counts who came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.came: list[list[int]] = []
        self.loads = 0
        monkeypatch.setattr(local, "_load_network", self.load)

    def load(self, *_: object) -> Network:
        self.loads += 1
        time.sleep(0.05)
        return self.network

    def network(self, _: list[int], text: list[int]) -> float:
        self.came.append(text)
        assert self.open.wait(10)
        return float(len(text))


async def until(gate: Gate, count: int) -> None:
    async with asyncio.timeout(10):
        while len(gate.came) < count:  # noqa: ASYNC110 -- it is threads that come
            await asyncio.sleep(0.01)


def test_it_is_loaded_once_however_many_ask_first(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    gate.open.set()

    async def scene(reranker: LocalReranker) -> None:
        await asyncio.gather(*(reranker.rerank("a", ["b"]) for _ in range(8)))

    with opened(threads=4) as reranker:
        asyncio.run(scene(reranker))
    assert gate.loads == 1


def test_the_loop_is_free_while_texts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    async def scene(reranker: LocalReranker) -> None:
        reading = asyncio.create_task(reranker.rerank("a", ["b", "c c", "d d d"]))
        await until(gate, 2)
        assert not reading.done()
        gate.open.set()
        scores = await reading
        assert scores == sorted(scores)

    with opened(threads=2) as reranker:
        asyncio.run(scene(reranker))
    # The longest came first, and no more at once than there are threads.
    assert sorted(map(len, gate.came[:2])) == [2, 3]


def test_who_stops_waiting_pays_for_no_more_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    async def scene(reranker: LocalReranker) -> None:
        reading = asyncio.create_task(reranker.rerank("a", ["b"] * 100))
        await until(gate, 2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        gate.open.set()

    with opened(threads=2) as reranker:
        asyncio.run(scene(reranker))
    assert len(gate.came) == 2


def test_a_failure_in_one_text_stops_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    came = []

    def broken(_: list[int], text: list[int]) -> float:
        came.append(text)
        raise MemoryError

    monkeypatch.setattr(local, "_load_network", lambda *_: broken)
    with opened(threads=2) as reranker, pytest.raises(MemoryError):
        asyncio.run(reranker.rerank("a", ["b"] * 100))
    assert len(came) <= 2


def test_a_few_threads_are_used_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads(told: int | None = None) -> int:
        return LocalReranker(MODEL, {}, threads=told)._threads

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 5}, raising=False)
    assert (threads(), threads(7)) == (3, 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert threads() == 4
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads() == 1


def test_the_descriptions_are_whole_and_found_by_name() -> None:
    assert descriptions()[0].name == DEFAULT_MODEL
    for model in descriptions():
        assert local_model(model.name) is model
        assert "==" in model.requirement
        assert model.licence
        assert model.about
        assert all(
            len(sha256) == hashlib.sha256().digest_size * 2 for sha256 in model.files.values()
        )
    with pytest.raises(InvalidSettingError, match=f"'nobody'; there is {DEFAULT_MODEL}"):
        local_model("nobody")


def test_no_network_is_needed(tmp_path: Path) -> None:
    """In a process that has none, or cannot make a socket where that is not permitted."""
    files = {path: str(place) for path, place in files_of(MODEL).items()}
    script = tmp_path / "offline.py"
    script.write_text(OFFLINE)
    argument = json.dumps({"files": files, "question": QUESTION, "texts": [BERLIN, MUSEUM]})
    cut_off = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*cut_off, "true"], check=False).returncode:
        cut_off = []
    command = [*cut_off, sys.executable, str(script), argument]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == rerank(BERLIN, MUSEUM)


OFFLINE = """
import asyncio, json, socket, sys
from pathlib import Path

def refuse(*_):
    raise AssertionError("a socket was connected")

socket.socket.connect = refuse
socket.getaddrinfo = refuse

from unchunk.adapters.rerank.local import LocalReranker
from unchunk.adapters.rerank.models import DEFAULT_MODEL, local_model

given = json.loads(sys.argv[1])
files = {path: Path(place) for path, place in given["files"].items()}
reranker = LocalReranker(local_model(DEFAULT_MODEL), files)

async def main():
    scores = await reranker.rerank(given["question"], given["texts"])
    await reranker.close()
    print(json.dumps(scores))

asyncio.run(main())
"""
