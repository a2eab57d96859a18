"""Chunks of a Chunkenizer server for a chat that goes on without them, if need be."""

import logging
import os
from time import perf_counter

from unchunk.errors import InvalidSettingError, ProviderRefusedError, ProviderUnavailableError
from unchunk.settings import CHUNKENIZER
from unchunk.telemetry import log


async def retrieve_chunks(
    query: str, top_k: int = 5, base_url: str | None = None, *, within: float = 10.0
) -> list[dict[str, object]]:
    """What a Chunkenizer server finds: chunk_text, document_id, chunk_index, score, metadata.

    Whatever is wrong with the server, its URL or its answer is logged, and there are no chunks.
    Without `base_url` it is that of CHUNKENIZER_API_URL, else http://localhost:8000. Waits at most
    `within` seconds.
    """
    from unchunk.adapters.sources.chunkenizer import ChunkenizerSource, plain_chunk

    url = base_url or os.environ.get("CHUNKENIZER_API_URL") or CHUNKENIZER
    try:
        source = ChunkenizerSource(url, timeout=within)
    except InvalidSettingError as error:
        log("Chunkenizer has no such URL, skipping RAG: %s", error, level=logging.ERROR)
        return []
    began = perf_counter()
    results: list[dict[str, object]] = []
    try:
        if query.strip() and top_k > 0:
            results, asked = await source.results(query, top_k)
            if asked < top_k:
                log(
                    "Chunkenizer refuses large searches: it was asked for %d chunks instead of %d",
                    asked,
                    top_k,
                    level=logging.WARNING,
                )
    except ProviderUnavailableError as error:
        log("Chunkenizer API unavailable, skipping RAG: %s", error, level=logging.WARNING)
        return []
    except ProviderRefusedError as error:
        log("Invalid response from Chunkenizer, skipping RAG: %s", error, level=logging.ERROR)
        return []
    finally:
        await source.close()
    chunks = [one for one in map(plain_chunk, results) if one is not None]
    if len(chunks) < len(results):
        log(
            "Invalid response from Chunkenizer: %d of %d results have no text, document, index or"
            " score and are left out",
            len(results) - len(chunks),
            len(results),
            level=logging.ERROR,
        )
    elif not chunks:
        log("No chunks found for query")
    took = (perf_counter() - began) * 1000
    log("Chunkenizer retrieval top_k=%d retrieval_time_ms=%.2f chunks=%d", top_k, took, len(chunks))
    return chunks[: max(top_k, 0)]
