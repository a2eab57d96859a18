"""Small models in the formats that large ones come in, with weights drawn from a seed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from adapters.embed.reference import words
from unchunk.adapters.embed.encoder import Encoder, Layer, Linear, Norm, Pooling, real
from unchunk.adapters.embed.models import Format, LocalModel, ModelFile
from unchunk.domain import EmbedderIdentity
from unchunk.ports import Vectors

SIZE, HEADS, WIDE, POSITIONS = 64, 4, 128, 24
WORDS = ("[UNK]", "[CLS]", "[SEP]", "the", "ship", "bread", "harbour", "pilot", "yeast", "buoy")


def encoder(seed: int = 1, layers: int = 2) -> Encoder:
    rng = np.random.default_rng(seed)

    def draw(*shape: int, scale: float = 0.15) -> Vectors:
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    def linear(to: int, of: int) -> Linear:
        return Linear(draw(to, of), draw(to))

    def norm() -> Norm:
        return Norm(1 + draw(SIZE), draw(SIZE))

    def layer() -> Layer:
        return Layer(
            query=linear(SIZE, SIZE),
            key=linear(SIZE, SIZE),
            value=linear(SIZE, SIZE),
            mix=linear(SIZE, SIZE),
            mix_norm=norm(),
            widen=linear(WIDE, SIZE),
            narrow=linear(SIZE, WIDE),
            norm=norm(),
        )

    return Encoder(
        words=draw(len(WORDS), SIZE, scale=1),
        positions=draw(POSITIONS, SIZE, scale=0.3),
        norm=norm(),
        layers=tuple(layer() for _ in range(layers)),
        heads=HEADS,
    )


def tokenizer() -> str:
    known = {word: at for at, word in enumerate(WORDS)}
    made = Tokenizer(WordLevel(known, unk_token=WORDS[0]))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    # Real files carry such settings, which would cut and pad what is counted.
    made.enable_truncation(5)
    made.enable_padding(length=5)
    return str(made.to_str())


def safetensors(tensors: Mapping[str, Vectors]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        end = len(data) + tensor.nbytes
        entry = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), end]}
        header[name] = entry
        data += tensor.tobytes()
    end = len(data) + 8
    header["embeddings.position_ids"] = {
        "dtype": "I64",
        "shape": [1],
        "data_offsets": [len(data), end],
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data + bytes(8)


def as_bert(made: Encoder) -> bytes:
    kinds = np.full((2, SIZE), 0.25, np.float32)
    tensors = {
        "embeddings.word_embeddings.weight": words(made),
        "embeddings.position_embeddings.weight": made.positions - kinds[0],
        "embeddings.token_type_embeddings.weight": kinds,
    }

    def put(name: str, part: Linear | Norm) -> None:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = part

    put("embeddings.LayerNorm", made.norm)
    for number, layer in enumerate(made.layers):
        at = f"encoder.layer.{number}"
        put(f"{at}.attention.self.query", layer.query)
        put(f"{at}.attention.self.key", layer.key)
        put(f"{at}.attention.self.value", layer.value)
        put(f"{at}.attention.output.dense", layer.mix)
        put(f"{at}.attention.output.LayerNorm", layer.mix_norm)
        put(f"{at}.intermediate.dense", layer.widen)
        put(f"{at}.output.dense", layer.narrow)
        put(f"{at}.output.LayerNorm", layer.norm)
    return safetensors(tensors)


def as_pack(made: Encoder, group: int = 32) -> bytes:
    entries: list[dict[str, object]] = []
    data = b""

    def put(name: str, tensor: Vectors, *, whole: bool = False) -> None:
        nonlocal data
        packed = tensor.tobytes()
        if whole:
            rows = tensor.reshape(-1, group)
            scales = np.abs(rows).max(axis=1, keepdims=True) / np.float32(127)
            packed = np.rint(rows / scales).astype(np.int8).tobytes() + scales.tobytes()
        kind, grouped = ("i8", group) if whole else ("f32", 0)
        shape = list(tensor.shape)
        entries.append(
            {"name": name, "dtype": kind, "shape": shape, "len": len(packed), "group": grouped}
        )
        data += packed

    def put_both(name: str, part: Linear | Norm) -> None:
        put(f"{name}.w", real(part.weight), whole=isinstance(part, Linear))
        put(f"{name}.b", part.bias)

    kinds = np.full((2, SIZE), 0.25, np.float32)
    put("word_emb", words(made), whole=True)
    # Two positions that no token has.
    put("pos_emb", np.concatenate([kinds, made.positions - kinds[0]]))
    put("type_emb", kinds)
    put_both("emb_ln", made.norm)
    for number, layer in enumerate(made.layers):
        weights, biases = zip(layer.query, layer.key, layer.value, strict=True)
        put_both(f"l{number}.qkv", Linear(np.concatenate(weights), np.concatenate(biases)))
        put_both(f"l{number}.ao", layer.mix)
        put_both(f"l{number}.aln", layer.mix_norm)
        put_both(f"l{number}.f1", layer.widen)
        put_both(f"l{number}.f2", layer.narrow)
        put_both(f"l{number}.fln", layer.norm)
    described = tokenizer().encode()
    shape = {"layers": len(made.layers), "heads": HEADS, "layer_norm_eps": 1e-12}
    header = {
        "arch": {**shape, "position_offset": 2},
        "tokenizer_len": len(described),
        "tensors": entries,
    }
    text = json.dumps(header).encode()
    return b"HMSEMB01" + len(text).to_bytes(8, "little") + text + described + data


def keep(
    folder: Path, kind: Format, weights: bytes, *, pooling: Pooling = "mean"
) -> tuple[LocalModel, dict[str, Path]]:
    """A model of that format with these weights, in files under `folder`."""
    contents = {"weights": weights}
    if kind != "pack":
        contents["tokenizer.json"] = tokenizer().encode()
    described = {}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        described[name] = ModelFile(name, hashlib.sha256(content).hexdigest())
    model = LocalModel(
        identity=EmbedderIdentity(name="small", dimensions=SIZE, max_tokens=POSITIONS),
        requirement="small==1",
        weights=described["weights"],
        tokenizer=described.get("tokenizer.json"),
        format=kind,
        licence="none",
        about="made by the tests",
        pooling=pooling,
        heads=HEADS,
        unknown=0,
    )
    return model, {name: folder / name for name in contents}
