"""A BERT-like encoder as an ONNX graph that multiplies in eight bits.

Each text runs alone: with no padding there is nothing to mask, and a text's vector cannot
depend on its neighbours. Every product of a matrix is taken over whole numbers, scaled for each
token and for each output, which is more than twice as fast as float32 and keeps its vectors
to a mean cosine of 0.996 and better. Weights have seven bits: with eight, processors without the
instructions for such products let sums overflow, and vectors would depend on the machine.

Knows nothing of files and tokenizers.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from unchunk.adapters.embed.onnxfile import Graph
from unchunk.ports import Vectors

Pooling = Literal["cls", "mean"]
Floats = npt.NDArray[np.floating[Any]]
IDS, VECTOR = "ids", "vector"
_WORDS, _SCALES = "words", "scales"

_TOKEN_STEPS, _TOKEN_ZERO = 127, 128
_WEIGHT_STEPS = 63


class Grouped(NamedTuple):
    """A table in whole numbers: `steps` (rows, groups, group) times `scales` (rows, groups, 1)."""

    steps: npt.NDArray[np.int8]
    scales: Vectors

    @property
    def real(self) -> Vectors:
        # In place, which is the same numbers in little more than half of the time.
        real = self.steps.astype(np.float32)
        real *= self.scales
        return real.reshape(len(real), -1)

    def split(self, parts: int) -> "list[Grouped]":
        """As many tables of equally many rows."""
        return list(map(Grouped, np.split(self.steps, parts), np.split(self.scales, parts)))


class Linear(NamedTuple):
    """`weight` has a row for each output."""

    weight: Vectors | Grouped
    bias: Vectors


class Norm(NamedTuple):
    weight: Vectors
    bias: Vectors


class Layer(NamedTuple):
    query: Linear
    key: Linear
    value: Linear
    mix: Linear
    mix_norm: Norm
    widen: Linear
    narrow: Linear
    norm: Norm


@dataclass(frozen=True, slots=True)
class Encoder:
    """`words` has a row for each token that there is; `positions[i]` is what is added to token i
    of a text, the token type included.
    """

    words: Floats | Grouped
    positions: Vectors
    norm: Norm
    layers: tuple[Layer, ...]
    heads: int
    epsilon: float = 1e-12


def real(table: Floats | Grouped) -> Vectors:
    """A copy of a table, as numbers of float32."""
    return table.real if isinstance(table, Grouped) else table.astype(np.float32)


def tables(encoder: Encoder) -> dict[str, npt.NDArray[Any]]:
    """The words as the graph reads them. They are most of a model, and a text needs few of them."""
    words = encoder.words
    if isinstance(words, Grouped):
        return {_WORDS: words.steps, _SCALES: words.scales}
    return {_WORDS: words}


def to_onnx(encoder: Encoder, pooling: Pooling, *, apart: bool = False) -> bytes:
    """A model file: token ids (1, n) in, one vector (1, dimensions) out, not of length one.

    With `apart`, the `tables` are not in it, but go in with each text.
    """
    writer = _Writer(encoder)
    x = writer.embed(apart=apart)
    last = len(encoder.layers) - 1
    for number, layer in enumerate(encoder.layers):
        # Of the last layer only what is pooled is ever read.
        x = writer.layer(x, layer, f"{number}", first_only=number == last and pooling == "cls")
    graph = writer.graph
    if pooling == "cls":
        graph.node("Squeeze", [x, graph.constant("one", np.array([1]))], VECTOR)
    else:
        graph.node("ReduceMean", [x, graph.constant("one", np.array([1]))], VECTOR, keepdims=0)
    return graph.model(VECTOR, encoder.positions.shape[1])


class _Quantized(NamedTuple):
    """Tokens as whole numbers, and what one step is worth for each token."""

    steps: str
    scale: str


class _Writer:
    def __init__(self, encoder: Encoder) -> None:
        self.graph = Graph()
        self._encoder = encoder

    def embed(self, *, apart: bool) -> str:
        graph, encoder = self.graph, self._encoder
        graph.input(IDS, "int64", (1, None))
        for name, table in tables(encoder).items():
            if apart:
                graph.input(name, table.dtype.name, table.shape)
            else:
                graph.constant(name, table)
        rows = graph.node("Gather", [_WORDS, IDS], "row")
        if isinstance(encoder.words, Grouped):
            steps = graph.node("Cast", [rows], "row.steps", to=1)
            scale = graph.node("Gather", [_SCALES, IDS], "row.scale")
            product = graph.node("Mul", [steps, scale], "row.real")
            flat = graph.constant("flat", np.array([0, 0, -1]))
            # As fine as a table of half precision.
            rows = graph.node(
                "Cast", [graph.node("Reshape", [product, flat], "row.flat")], "row.half", to=10
            )
        rows = graph.node("Cast", [rows], "words32", to=1)
        count = graph.node("Shape", [IDS], "count", start=1)
        begin = graph.constant("begin", np.array([0]))
        positions = graph.constant("positions", encoder.positions)
        places = graph.node("Slice", [positions, begin, count], "places")
        return self._norm(graph.node("Add", [rows, places], "sum"), encoder.norm, "start")

    def layer(self, x: str, layer: Layer, name: str, *, first_only: bool) -> str:
        graph = self.graph
        tokens = self._quantize(x)
        asking = tokens
        if first_only:
            x = self._first(x)
            asking = _Quantized(self._first(tokens.steps), self._first(tokens.scale))
        parts = [
            self._multiply(asking, layer.query, f"{name}.query"),
            self._multiply(tokens, layer.key, f"{name}.key"),
            self._multiply(tokens, layer.value, f"{name}.value"),
        ]
        biases = [layer.query.bias, layer.key.bias, layer.value.bias]
        parts.append(graph.constant(f"{name}.biases", np.concatenate(biases)))
        heads = self._encoder.heads
        seen = graph.contrib("MultiHeadAttention", parts, f"{name}.seen", num_heads=heads)
        mixed = self._multiply(self._quantize(seen), layer.mix, f"{name}.mix")
        x = self._joined(x, mixed, layer.mix.bias, layer.mix_norm, f"{name}.mixed")
        wide = self._multiply(self._quantize(x), layer.widen, f"{name}.widen")
        bias = graph.constant(f"{name}.widen.bias", layer.widen.bias)
        active = graph.contrib("BiasGelu", [wide, bias], f"{name}.active")
        narrow = self._multiply(self._quantize(active), layer.narrow, f"{name}.narrow")
        return self._joined(x, narrow, layer.narrow.bias, layer.norm, f"{name}.end")

    def _quantize(self, x: str) -> _Quantized:
        graph = self.graph
        axis = graph.constant("last", np.array([-1]))
        top = graph.node("ReduceMax", [graph.node("Abs", [x], f"{x}.abs"), axis], f"{x}.max")
        step = graph.constant("step", np.float32(1 / _TOKEN_STEPS))
        # A token of zeros must not divide by zero.
        least = graph.constant("least", np.float32(1e-30))
        scale = graph.node("Max", [graph.node("Mul", [top, step], f"{x}.s"), least], f"{x}.scale")
        even = graph.node("Div", [x, scale], f"{x}.even")
        zero = graph.constant("zero", np.uint8(_TOKEN_ZERO))
        unit = graph.constant("unit", np.float32(1))
        return _Quantized(graph.node("QuantizeLinear", [even, unit, zero], f"{x}.steps"), scale)

    def _multiply(self, x: _Quantized, linear: Linear, name: str) -> str:
        """The product, without the bias."""
        graph = self.graph
        # In place: to get fresh memory takes longer than the arithmetic.
        steps = real(linear.weight)
        tops = np.maximum(steps.max(axis=1), -steps.min(axis=1))
        scales = np.maximum(tops / np.float32(_WEIGHT_STEPS), np.float32(1e-30))
        steps /= scales[:, None]
        np.rint(steps, out=steps)
        weight = graph.constant(f"{name}.weight", steps.astype(np.int8).T)
        zero = graph.constant("zero", np.uint8(_TOKEN_ZERO))
        whole = graph.node("MatMulInteger", [x.steps, weight, zero], f"{name}.whole")
        floats = graph.node("Cast", [whole], f"{name}.real", to=1)
        scale = graph.constant(f"{name}.scale", scales)
        return graph.node("Mul", [graph.node("Mul", [floats, scale], f"{name}.out"), x.scale], name)

    def _joined(self, x: str, more: str, bias: Vectors, norm: Norm, name: str) -> str:
        # onnxruntime has one operation for all of this, and takes seven times as long for it.
        graph = self.graph
        whole = graph.node("Add", [more, graph.constant(f"{name}.bias", bias)], f"{name}.more")
        return self._norm(graph.node("Add", [whole, x], f"{name}.sum"), norm, name)

    def _norm(self, x: str, norm: Norm, name: str) -> str:
        graph = self.graph
        weight = graph.constant(f"{name}.norm.weight", norm.weight)
        bias = graph.constant(f"{name}.norm.bias", norm.bias)
        epsilon = self._encoder.epsilon
        parts = [x, weight, bias]
        return graph.node("LayerNormalization", parts, name, axis=-1, epsilon=epsilon)

    def _first(self, x: str) -> str:
        graph = self.graph
        begin = graph.constant("begin", np.array([0]))
        end = graph.constant("one", np.array([1]))
        return graph.node("Slice", [x, begin, end, end], f"{x}.first")
