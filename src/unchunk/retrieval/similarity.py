"""How near in meaning texts are to a question, by the embedder that a library was built with."""

from collections.abc import Sequence

from unchunk.errors import UnchunkError
from unchunk.ports import OpenSpace
from unchunk.telemetry import log


async def similarity(
    spaces: Sequence[OpenSpace], question: str, texts: Sequence[str]
) -> list[float] | None:
    """Cosines, one for each text; None where no embedder answers."""
    embedder = next((one.embedder for one in spaces if one.embedder is not None), None)
    if embedder is None or not texts:
        return None
    try:
        query = await embedder.embed([question], "query")
        rows = await embedder.embed(texts, "document")
    except UnchunkError as error:
        log("sentences are not compared by meaning: %s", error)
        return None
    return [float(one) for one in rows @ query[0]]
