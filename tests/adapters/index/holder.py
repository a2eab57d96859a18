"""A process that opens an index, writes to it and waits to be killed.

    python holder.py edge|chroma FOLDER flush|no-flush

It says the ids of the processes that hold the files, its own first.
"""

import asyncio
import sys
from pathlib import Path

from unchunk.adapters.index.edge import EdgeIndex, EdgeIndexes
from unchunk.ports import Index
from unchunk.testing.indexes import SPACE, point


async def main(kind: str, folder: str, flush: str) -> None:
    index: Index
    if kind == "edge":
        index = await EdgeIndexes(Path(folder)).open(SPACE)
    else:
        from unchunk.adapters.index.chroma import ChromaIndexes

        index = await ChromaIndexes(Path(folder)).open(SPACE)
    await index.upsert([point("kept", at) for at in range(20)])
    await index.upsert([point("gone")])
    await index.delete("gone")
    if flush == "flush":
        await index.flush()
    child = index.pid if isinstance(index, EdgeIndex) else None
    print(child or 0, flush=True)  # noqa: T201 whoever started it reads this
    await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
