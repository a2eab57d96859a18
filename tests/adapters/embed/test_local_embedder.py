"""The local embedder with small models: what it reads, and how it shares the machine."""

import asyncio
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from adapters.embed.reference import forward, words
from adapters.embed.small_models import (
    POSITIONS,
    SIZE,
    WORDS,
    as_bert,
    as_pack,
    encoder,
    keep,
    safetensors,
)
from unchunk.adapters.embed import local
from unchunk.adapters.embed.local import LocalEmbedder
from unchunk.adapters.embed.networks import Network, load_network
from unchunk.errors import IntegrityError, InvalidTextError
from unchunk.ports import Vectors

TEXT = "the ship harbour pilot"
IDS = [1, WORDS.index("the"), WORDS.index("ship"), WORDS.index("harbour"), WORDS.index("pilot"), 2]


def opened(folder: Path, threads: int | None = None) -> LocalEmbedder:
    model, files = keep(folder, "safetensors", as_bert(encoder()))
    return LocalEmbedder(model, files, threads=threads)


def embed(embedder: LocalEmbedder, *texts: str) -> Vectors:
    async def ask() -> Vectors:
        try:
            return await embedder.embed(texts, "document")
        finally:
            await embedder.close()

    return asyncio.run(ask())


def test_safetensors_and_packs_give_the_vectors_of_their_weights(tmp_path: Path) -> None:
    expected = forward(encoder(), IDS, "mean")
    row = embed(opened(tmp_path), TEXT)[0]
    assert row @ expected > 0.997
    row = embed(LocalEmbedder(*keep(tmp_path, "pack", as_pack(encoder()))), TEXT)[0]
    assert row @ expected > 0.996


def test_a_static_model_gives_the_mean_of_what_it_knows(tmp_path: Path) -> None:
    table = words(encoder())
    embedder = LocalEmbedder(*keep(tmp_path, "static", safetensors({"embeddings": table})))
    rows = embed(embedder, f"{TEXT} zzz", "zzz", "")
    mean = table[IDS[1:-1]].mean(axis=0)
    assert np.allclose(rows[0], mean / np.linalg.norm(mean), atol=1e-6)
    unknown = table[0] / np.linalg.norm(table[0])
    assert np.allclose(rows[1:], [unknown, unknown], atol=1e-6)


def test_tokens_are_neither_cut_nor_padded_before_they_are_counted(tmp_path: Path) -> None:
    embedder = opened(tmp_path)
    assert embedder.count_tokens(["the", "the " * 100]) == [3, 102]
    asyncio.run(embedder.close())


def test_a_long_text_is_read_to_the_limit_and_closed(tmp_path: Path) -> None:
    long = ["ship"] * (POSITIONS - 2)
    rows = embed(opened(tmp_path), " ".join(long), " ".join([*long, "bread", "yeast"]))
    assert np.array_equal(rows[0], rows[1])
    ids = [1, *[WORDS.index("ship")] * (POSITIONS - 2), 2]
    assert rows[1] @ forward(encoder(), ids, "mean") > 0.997


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    model, files = keep(tmp_path, "safetensors", as_bert(encoder()))
    for path in files.values():
        path.unlink()
    embedder = LocalEmbedder(model, files)
    assert embedder.identity.dimensions == SIZE
    with pytest.raises(IntegrityError, match="cannot read"):
        embed(embedder, TEXT)


@pytest.mark.parametrize("name", ["weights", "tokenizer.json"])
def test_a_file_that_was_changed_is_not_used(tmp_path: Path, name: str) -> None:
    embedder = opened(tmp_path)
    with (tmp_path / name).open("ab") as file:
        file.write(b"\0")
    with pytest.raises(IntegrityError, match=f"{name} is not the file it should be"):
        embed(embedder, TEXT)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    embedder = opened(tmp_path)
    with pytest.raises(InvalidTextError):
        embedder.count_tokens([b"bytes"])  # type: ignore[list-item]  # the mistake on trial
    with pytest.raises(InvalidTextError):
        embed(embedder, "\udc80")


def test_it_is_loaded_once_however_many_ask_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []

    def load(*arguments: object) -> Network:
        loads.append(arguments)
        time.sleep(0.05)
        return load_network(*arguments)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(local, "load_network", load)
    embedder = opened(tmp_path, threads=4)

    async def scene() -> None:
        await asyncio.gather(*(embedder.embed([TEXT], "query") for _ in range(8)))
        await embedder.close()

    asyncio.run(scene())
    assert len(loads) == 1


class Gate:
    """A network that waits to be let through, and counts who came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.both_came = threading.Barrier(3, timeout=60)
        self.came = 0
        monkeypatch.setattr(local, "load_network", lambda *_: self)

    def __call__(self, ids: list[int]) -> Vectors:
        if len(ids) > 3 and not self.open.is_set():
            self.both_came.wait()
            self.open.wait(60)
        self.came += 1
        return np.ones(SIZE, np.float32)


def test_a_question_does_not_wait_for_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    embedder = opened(tmp_path, threads=2)

    async def scene() -> None:
        reading = asyncio.create_task(embedder.embed([TEXT] * 20, "document"))
        await asyncio.to_thread(gate.both_came.wait)
        async with asyncio.timeout(50):
            await embedder.embed(["ship"], "query")
        assert not reading.done()
        gate.open.set()
        assert (await reading).shape == (20, SIZE)
        await embedder.close()

    asyncio.run(scene())


def test_who_stops_waiting_pays_for_no_more_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    embedder = opened(tmp_path, threads=2)

    async def scene() -> None:
        reading = asyncio.create_task(embedder.embed([TEXT] * 500, "document"))
        await asyncio.to_thread(gate.both_came.wait)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        gate.open.set()
        await embedder.close()

    asyncio.run(scene())
    assert gate.came == 2


def test_a_failure_in_one_text_stops_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = []

    def broken(ids: list[int]) -> Vectors:
        came.append(ids)
        raise MemoryError

    monkeypatch.setattr(local, "load_network", lambda *_: broken)
    with pytest.raises(MemoryError):
        embed(opened(tmp_path, threads=2), *[TEXT] * 100)
    assert len(came) <= 2


def test_as_many_threads_as_cores_may_be_used_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 5}, raising=False)
    assert opened(tmp_path)._threads == 3
    assert opened(tmp_path, threads=7)._threads == 7
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert opened(tmp_path)._threads == 1
