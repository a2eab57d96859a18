"""Settings into open things. The only place that names adapters, each when it is needed."""

from unchunk.wiring.libraries import (
    open_beside,
    open_engine,
    open_for_program,
    open_keyring,
)
from unchunk.wiring.models import ModelInfo, get_model, local_models, models_folder
from unchunk.wiring.providers import make_embedder
from unchunk.wiring.stores import INCOMING

__all__ = [
    "INCOMING",
    "ModelInfo",
    "get_model",
    "local_models",
    "make_embedder",
    "models_folder",
    "open_beside",
    "open_engine",
    "open_for_program",
    "open_keyring",
]
