"""The files that weights come in, read into what they mean. Nothing in a file is run.

A file was checked against its checksum before it comes here, so what does not fit is a
description that is wrong, and fails as it may.
"""

import json
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from unchunk.adapters.embed.encoder import Encoder, Grouped, Layer, Linear, Norm, real
from unchunk.ports import Vectors


def read_safetensors(data: bytes) -> dict[str, Vectors]:
    """The float32 tensors of a safetensors file: a header of JSON, then their bytes."""
    begin = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, _ = entry["data_offsets"]
            shape = entry["shape"]
            array = np.frombuffer(data, np.float32, prod(shape), begin + first)
            found[name] = array.reshape(shape)
    return found


def bert(tensors: Mapping[str, Vectors], heads: int) -> Encoder:
    """An encoder under the names that BERT's own tensors have."""

    def linear(name: str) -> Linear:
        return Linear(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def norm(name: str) -> Norm:
        return Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def layer(at: str) -> Layer:
        return Layer(
            query=linear(f"{at}.attention.self.query"),
            key=linear(f"{at}.attention.self.key"),
            value=linear(f"{at}.attention.self.value"),
            mix=linear(f"{at}.attention.output.dense"),
            mix_norm=norm(f"{at}.attention.output.LayerNorm"),
            widen=linear(f"{at}.intermediate.dense"),
            narrow=linear(f"{at}.output.dense"),
            norm=norm(f"{at}.output.LayerNorm"),
        )

    kinds = tensors["embeddings.token_type_embeddings.weight"]
    layers = sum(name.endswith(".output.dense.weight") for name in tensors) // 2
    return Encoder(
        # Half precision halves what is kept in memory, and is finer than what comes behind it.
        words=tensors["embeddings.word_embeddings.weight"].astype(np.float16),
        positions=tensors["embeddings.position_embeddings.weight"] + kinds[0],
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(layer(f"encoder.layer.{number}") for number in range(layers)),
        heads=heads,
    )


class Pack:
    """An .hmsemb pack: a tokenizer and an encoder in one file.

    Its magic, the length of its header, the header in JSON, the tokenizer in JSON, then the
    tensors without gaps: float32, or int8 with a float32 scale behind them for each `group`
    of values in a row.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._begin = 16 + int.from_bytes(data[8:16], "little")
        self._header = json.loads(data[16 : self._begin])
        self._end = self._begin + self._header["tokenizer_len"]

    def tokenizer(self) -> bytes:
        return self._data[self._begin : self._end]

    def encoder(self) -> Encoder:
        """Its tables stay as they are in the file, and keep that in memory."""
        tensors = {entry["name"]: (entry, at) for entry, at in self._entries()}
        shape = self._header["arch"]

        def table(name: str) -> Vectors | Grouped:
            entry, at = tensors[name]
            if entry["group"]:
                return self._grouped(entry, at)
            count = prod(entry["shape"])
            return np.frombuffer(self._data, np.float32, count, at).reshape(entry["shape"])

        def linear(name: str) -> Linear:
            return Linear(table(f"{name}.w"), real(table(f"{name}.b")))

        def norm(name: str) -> Norm:
            return Norm(real(table(f"{name}.w")), real(table(f"{name}.b")))

        def layer(at: str) -> Layer:
            weight, bias = linear(f"{at}.qkv")
            weights = weight.split(3) if isinstance(weight, Grouped) else np.split(weight, 3)
            query, key, value = map(Linear, weights, np.split(bias, 3))
            return Layer(
                query=query,
                key=key,
                value=value,
                mix=linear(f"{at}.ao"),
                mix_norm=norm(f"{at}.aln"),
                widen=linear(f"{at}.f1"),
                narrow=linear(f"{at}.f2"),
                norm=norm(f"{at}.fln"),
            )

        positions = real(table("pos_emb"))[shape["position_offset"] :]
        return Encoder(
            words=table("word_emb"),
            positions=positions + real(table("type_emb"))[0],
            norm=norm("emb_ln"),
            layers=tuple(layer(f"l{number}") for number in range(shape["layers"])),
            heads=shape["heads"],
            epsilon=shape["layer_norm_eps"],
        )

    def _grouped(self, entry: dict[str, Any], at: int) -> Grouped:
        rows, width = entry["shape"]
        group = entry["group"]
        steps = np.frombuffer(self._data, np.int8, rows * width, at)
        scales = np.frombuffer(self._data, np.float32, rows * width // group, at + rows * width)
        # Numbers of four bytes that begin anywhere are not read everywhere.
        return Grouped(
            steps.reshape(rows, -1, group), scales.copy().reshape(rows, width // group, 1)
        )

    def _entries(self) -> Iterator[tuple[dict[str, Any], int]]:
        """What the header says of each tensor, and where that begins."""
        at = self._end
        for entry in self._header["tensors"]:
            yield entry, at
            at += entry["len"]
