"""The graph against the same encoder in plain float32."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnxruntime import InferenceSession  # type: ignore[import-untyped]  # carries no types

from adapters.embed.reference import forward, words
from adapters.embed.small_models import POSITIONS, WORDS, as_bert, as_pack, encoder, keep
from unchunk.adapters.embed.encoder import IDS, Encoder, Layer, Linear, Pooling, real, to_onnx
from unchunk.adapters.embed.files import Files
from unchunk.adapters.embed.models import Format
from unchunk.adapters.embed.networks import load_network
from unchunk.adapters.embed.weights import Pack, bert, read_safetensors
from unchunk.ports import Vectors


def texts(count: int) -> list[list[int]]:
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, POSITIONS + 1, count)
    return [rng.integers(0, len(WORDS), length).tolist() for length in lengths]


def run(made: Encoder, folder: Path, ids: list[int], pooling: Pooling) -> Vectors:
    model, files = keep(folder, "safetensors", as_bert(made), pooling=pooling)
    vector = load_network(model, Files(model, files))(ids)
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_graph_gives_the_vectors_of_plain_arithmetic(
    tmp_path: Path, pooling: Pooling, layers: int
) -> None:
    made = encoder(layers=layers)
    model, files = keep(tmp_path, "safetensors", as_bert(made), pooling=pooling)
    network = load_network(model, Files(model, files))
    for ids in [[1], [1, 2], list(range(len(WORDS))), *texts(20)]:
        vector = network(ids)
        expected = forward(made, ids, pooling)
        assert vector @ expected / np.linalg.norm(vector) > 0.997


def test_weights_and_tokens_of_nothing_but_zeros_are_no_trouble(tmp_path: Path) -> None:
    made = encoder()
    first = made.layers[0]
    nothing = Linear(np.zeros_like(first.narrow.weight), np.zeros_like(first.narrow.bias))
    silent = Linear(np.zeros_like(first.value.weight), np.zeros_like(first.value.bias))
    layers = (first._replace(narrow=nothing, value=silent), *made.layers[1:])
    made = replace(made, layers=layers)
    ids = [1, 4, 5, 2]
    assert run(made, tmp_path, ids, "mean") @ forward(made, ids, "mean") > 0.997


@pytest.mark.parametrize("kind", ["pack", "safetensors"])
def test_a_file_with_its_words_in_it_says_the_same_as_one_that_is_given_them(
    tmp_path: Path, kind: Format
) -> None:
    made = encoder()
    data = as_pack(made) if kind == "pack" else as_bert(made)
    model, files = keep(tmp_path, kind, data)
    network = load_network(model, Files(model, files))
    read = Pack(data).encoder() if kind == "pack" else bert(read_safetensors(data), made.heads)
    session = InferenceSession(to_onnx(read, "mean"), providers=["CPUExecutionProvider"])
    for ids in texts(5):
        assert np.allclose(session.run(None, {IDS: np.array([ids])})[0][0], network(ids), atol=1e-5)


def test_a_pack_says_what_the_same_weights_say_as_safetensors() -> None:
    made = encoder()
    loose, packed = bert(read_safetensors(as_bert(made)), made.heads), Pack(as_pack(made)).encoder()
    assert packed.heads == loose.heads
    assert len(packed.layers) == len(loose.layers) == 2
    assert np.allclose(packed.positions, loose.positions, atol=1e-6)
    # An eighth of a per cent of the largest value in a group is half a step.
    assert np.allclose(words(packed), words(loose), atol=0.02)
    for ours, theirs in zip(packed.layers, loose.layers, strict=True):
        for name in Layer._fields:
            for table, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
                one = real(table)
                assert one.shape == other.shape
                assert np.allclose(one, other, atol=0.01)
