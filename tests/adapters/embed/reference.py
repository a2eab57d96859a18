"""An encoder in plain float32, step by step: what the graph is measured against. Slow."""

from math import erf, sqrt

import numpy as np

from unchunk.adapters.embed.encoder import Encoder, Layer, Linear, Norm, Pooling, real
from unchunk.ports import Vectors

_erf = np.vectorize(erf, otypes=[np.float32])


def words(encoder: Encoder) -> Vectors:
    """The row of each token, as real numbers."""
    return real(encoder.words)


def forward(encoder: Encoder, ids: list[int], pooling: Pooling) -> Vectors:
    """The vector of one text, of length one."""
    epsilon = encoder.epsilon
    x = _norm(words(encoder)[ids] + encoder.positions[: len(ids)], encoder.norm, epsilon)
    for layer in encoder.layers:
        seen = _attend(x, layer, encoder.heads)
        x = _norm(x + _apply(seen, layer.mix), layer.mix_norm, epsilon)
        wide = _apply(x, layer.widen)
        active = wide * (1 + _erf(wide / np.float32(sqrt(2)))) / 2
        x = _norm(x + _apply(active, layer.narrow), layer.norm, epsilon)
    pooled = x[0] if pooling == "cls" else x.mean(axis=0)
    vector: Vectors = pooled / np.linalg.norm(pooled)
    return vector


def _attend(x: Vectors, layer: Layer, heads: int) -> Vectors:
    size = x.shape[1] // heads
    parts = [_apply(x, linear) for linear in (layer.query, layer.key, layer.value)]
    query, key, value = (part.reshape(len(x), heads, size).swapaxes(0, 1) for part in parts)
    scores = query @ key.swapaxes(1, 2) / np.float32(sqrt(size))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    seen: Vectors = (scores @ value).swapaxes(0, 1).reshape(x.shape)
    return seen


def _apply(x: Vectors, linear: Linear) -> Vectors:
    return x @ real(linear.weight).T + linear.bias


def _norm(x: Vectors, norm: Norm, epsilon: float) -> Vectors:
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    scaled: Vectors = centred / spread * norm.weight + norm.bias
    return scaled
