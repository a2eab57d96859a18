"""A recovery in this process, from the scripted server or from any other store."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from recovery.vector_stores import VectorStores
from unchunk.adapters.sources.openai_files import OpenAIFiles
from unchunk.ports import LostFiles
from unchunk.recovery.request import Recovered, Rescue
from unchunk.recovery.rescue import recover

STORE = "vs_1"


def recovered(
    server: VectorStores,
    output: Path,
    *,
    stores: Sequence[str] = (STORE,),
    said: list[str] | None = None,
    **options: Any,  # noqa: ANN401 - those of a rescue
) -> Recovered:
    async def run() -> Recovered:
        opened: list[LostFiles] = [
            OpenAIFiles(AsyncOpenAI(api_key="k", base_url=server.url), name) for name in stores
        ]
        lines = said if said is not None else []
        try:
            return await recover(opened, Rescue(str(output), **options), say=lines.append)
        finally:
            for store in opened:
                await store.close()

    return asyncio.run(run())
