"""A local model out of its files: checked, then read into something that runs.

A network takes the token ids of one text and gives its vector, of any length. Any number of
threads may call it at once.
"""

from collections.abc import Callable

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]  # carries no types
from tokenizers import Tokenizer

from unchunk.adapters.embed.encoder import IDS, tables, to_onnx
from unchunk.adapters.embed.files import Files
from unchunk.adapters.embed.models import LocalModel
from unchunk.adapters.embed.weights import Pack, bert, read_safetensors
from unchunk.ports import Vectors

Network = Callable[[list[int]], Vectors]


def load_tokenizer(files: Files) -> Tokenizer:
    """A tokenizer that neither cuts nor pads, and takes no text for one of its marks."""
    data = files.tokenizer()
    tokenizer = Tokenizer.from_buffer(Pack(files.weights()).tokenizer() if data is None else data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def load_network(model: LocalModel, files: Files) -> Network:
    data = files.weights()
    if model.format == "static":
        return _static(read_safetensors(data)["embeddings"], model.unknown)
    if model.format == "onnx":
        return _exported(data, model)
    encoder = (
        Pack(data).encoder()
        if model.format == "pack"
        else bert(read_safetensors(data), model.heads)
    )
    words = tables(encoder)
    session = _session(
        to_onnx(encoder, model.pooling, apart=True), ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )

    def network(ids: list[int]) -> Vectors:
        vector: Vectors = session.run(None, {IDS: np.array([ids]), **words})[0][0]
        return vector

    return network


def _exported(data: bytes, model: LocalModel) -> Network:
    session = _session(data, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)

    def network(ids: list[int]) -> Vectors:
        tokens = np.array([ids])
        feeds = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        states: Vectors = session.run(None, feeds)[0][0]
        pooled: Vectors = states[0] if model.pooling == "cls" else states.mean(axis=0)
        return pooled

    return network


def _static(table: Vectors, unknown: int | None) -> Network:
    def network(ids: list[int]) -> Vectors:
        known = [token for token in ids if token != unknown]
        mean: Vectors = table[known or [unknown or 0]].mean(axis=0)
        return mean

    return network


def _session(model: bytes, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    # Texts differ in length, and a plan of memory for each length would only pile up.
    options.enable_mem_pattern = False
    # To plan which result may lie where another one lay takes longer than it ever saves.
    options.enable_mem_reuse = False
    options.log_severity_level = 3
    # Without it, eight-bit weights overflow on processors that cannot multiply them well.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
