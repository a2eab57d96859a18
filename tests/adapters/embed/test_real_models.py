"""The local embedder with the real models that its descriptions name."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from adapters.embed.real_models import files_of
from adapters.embed.reference import forward
from corpus import DATA, MISSING
from unchunk.adapters.embed.local import LocalEmbedder
from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model
from unchunk.adapters.embed.weights import Pack
from unchunk.ports import Embedder, Vectors
from unchunk.testing.embedders import EmbedderContract

SENTENCE = "The harbour is closed to ships of more than forty metres in winter."
GRANITE, BGE, MINILM, POTION = (
    DEFAULT_MODEL,
    "bge-small-en-v1.5",
    "all-MiniLM-L6-v2",
    "potion-base-8M",
)

# The first values of SENTENCE's vector. In float32 sentence-transformers 6.2.0 has for granite
# -0.0295 0.0302 0.0241 -0.0179, for MiniLM 0.0463 0.0858 0.0194 0.0241, for potion the same.
CANONICAL = {
    GRANITE: [-0.0296, 0.0264, 0.0236, -0.0208],
    BGE: [0.0645, -0.0212, 0.0328, -0.0475],
    MINILM: [0.0546, 0.0908, 0.0221, 0.0267],
    POTION: [0.0780, 0.1069, 0.1355, 0.0624],
}


@cache
def embedder(name: str) -> LocalEmbedder:
    model = local_model(name)
    return LocalEmbedder(model, files_of(model))


def embed(name: str, *texts: str) -> Vectors:
    return asyncio.run(embedder(name).embed(texts, "document"))


class _Real(EmbedderContract):
    # Not a bit of difference: each text runs alone.
    tolerance = 0.0
    name = ""

    def opened(self) -> AbstractAsyncContextManager[Embedder]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Embedder]:
        model = local_model(self.name)
        files = await asyncio.to_thread(files_of, model)
        opened = LocalEmbedder(model, files)
        try:
            yield opened
        finally:
            await opened.close()


class TestGranite(_Real):
    name = GRANITE


class TestBge(_Real):
    name = BGE


class TestMiniLM(_Real):
    name = MINILM


class TestPotion(_Real):
    name = POTION


@pytest.mark.parametrize("name", CANONICAL)
def test_a_sentence_has_the_vector_that_it_always_had(name: str) -> None:
    assert np.allclose(embed(name, SENTENCE)[0][:4], CANONICAL[name], atol=2e-4)


def test_the_default_model_agrees_with_itself_in_float32() -> None:
    """Computed here, step by step, from the same file."""
    if not DATA.exists():
        pytest.skip(MISSING)
    model = local_model(GRANITE)
    pack = Pack(files_of(model)[model.weights.path].read_bytes())
    reference = pack.encoder()
    with (DATA / "scifact" / "corpus.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"][:600] for line, _ in zip(lines, range(6), strict=False)]
    texts.append(SENTENCE)
    tokenizer = Tokenizer.from_buffer(pack.tokenizer())
    expected = [forward(reference, tokenizer.encode(text).ids, "cls") for text in texts]
    agreement = (embed(GRANITE, *texts) * np.array(expected)).sum(axis=1)
    assert agreement.min() > 0.995


def test_tokens_are_counted_exactly() -> None:
    # Granite's tokenizer puts a mark before and behind; potion's is used without.
    texts = ["", "hello", "hello world", "hello " * 1000]
    assert embedder(GRANITE).count_tokens(texts) == [2, 3, 4, 1003]
    assert embedder(POTION).count_tokens(texts) == [0, 1, 2, 1000]


@pytest.mark.parametrize("name", [GRANITE, POTION])
def test_what_lies_beyond_the_limit_is_not_read(name: str) -> None:
    limit = embedder(name).identity.max_tokens
    first = "harbour " * (limit + 50)
    rows = embed(name, first, first + "bread", f"bread {first}")
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


@pytest.mark.parametrize("mark", ["</s>", "<s>", "<mask>"])
def test_a_text_cannot_forge_the_tokenizer_s_marks(mark: str) -> None:
    assert embedder(GRANITE).count_tokens([mark])[0] > 3


def test_a_text_of_unknown_characters_has_a_vector_without_a_network() -> None:
    rows = embed(POTION, "\ue000\ue001", "\ue000")
    assert np.isfinite(rows).all()


def test_no_network_is_needed(tmp_path: Path) -> None:
    """In a process that has none, or cannot make a socket where that is not permitted."""
    model = local_model(GRANITE)
    files = {path: str(place) for path, place in files_of(model).items()}
    script = tmp_path / "offline.py"
    script.write_text(OFFLINE)
    argument = json.dumps({"files": files, "text": SENTENCE})
    cut_off = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*cut_off, "true"], check=False).returncode:
        cut_off = []
    command = [*cut_off, sys.executable, str(script), argument]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert np.allclose(json.loads(done.stdout)[:4], CANONICAL[GRANITE], atol=2e-4)


OFFLINE = """
import asyncio, json, socket, sys
from pathlib import Path

def refuse(*_):
    raise AssertionError("a socket was connected")

socket.socket.connect = refuse
socket.getaddrinfo = refuse

from unchunk.adapters.embed.local import LocalEmbedder
from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model

given = json.loads(sys.argv[1])
files = {path: Path(place) for path, place in given["files"].items()}
embedder = LocalEmbedder(local_model(DEFAULT_MODEL), files)

async def main():
    rows = await embedder.embed([given["text"]], "document")
    await embedder.close()
    print(json.dumps(rows[0].tolist()))

asyncio.run(main())
"""
