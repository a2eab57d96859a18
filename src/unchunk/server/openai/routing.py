"""All routes of OpenAI's API. Its description is its own, so it is not in ours."""

from fastapi import APIRouter

from unchunk.server.openai import (
    batches,
    completions,
    embeddings,
    files,
    models,
    responses,
    store_files,
    stores,
)
from unchunk.server.openai.faults import PREFIX

# Where files are sent to.
UPLOADS = frozenset({f"{PREFIX}/files"})

_ROUTERS = (
    files.router,
    stores.router,
    store_files.router,
    batches.router,
    models.router,
    embeddings.router,
    completions.router,
    responses.router,
)

router = APIRouter(prefix=PREFIX, include_in_schema=False)
for one in _ROUTERS:
    router.include_router(one)
