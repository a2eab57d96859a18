"""Files out of OpenAI vector stores, for scripts: under the names of the first specification."""

import asyncio
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from unchunk.recovery.request import Calibrate, Rescue
from unchunk.recovery.rescue import recover
from unchunk.text.stitching import Confidence
from unchunk.wiring.rescue import store_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

T = TypeVar("T")


@dataclass
class RAGTextRetrievalParams:
    """`only_these_filenames` holds names or ids of files; none means all of them.

    `calibrate="first-pair"` measures one overlap on the first two chunks and cuts it off all
    others, as was first specified; with windows of tokens next to no file comes back by it.
    `verify` reads each file back, cuts it again and compares.
    """

    vector_store_id: str
    only_these_filenames: list[str] = field(default_factory=list)
    output_folder: str = "./output"
    output_suffix: str = ".reconstructed.md"
    log_headers: bool = True
    calibrate: Calibrate = "each-joint"
    verify: bool = False


@dataclass
class ReconstructionResult:
    """A file that was written. `confidence` is that of its least sure joint."""

    filename: str
    original_file_id: str
    chunk_count: int
    reconstructed_bytes: int
    output_path: str
    confidence: Confidence = "none"


def retrieve_and_reconstruct_files(
    client: "OpenAI | AsyncOpenAI", params: RAGTextRetrievalParams
) -> list[ReconstructionResult]:
    """Get the files of a vector store back from their chunks, and tell of it on standard output.

    `client` is `OpenAI`, `AzureOpenAI`, or one of their asynchronous twins, whose settings are used
    with connections of their own. Files that are not ready or cannot be had are told of, stand in
    `recovery.json`, and are left out of the result. Called again after an interruption, it goes on.

    It blocks until all is done, in a running event loop, too: call it in a thread there.
    """
    return _run(_retrieved(client, params))


def get_filename_from_file(file_obj: Any) -> str:  # noqa: ANN401 - an object of any SDK, or JSON
    """The name of a file: its `filename`, else that of its attributes, else its id."""
    for holder in (file_obj, _part(file_obj, "attributes")):
        name = _part(holder, "filename")
        if isinstance(name, str) and name:
            return name
    return str(_part(file_obj, "id") or "")


async def _retrieved(
    client: "OpenAI | AsyncOpenAI", params: RAGTextRetrievalParams
) -> list[ReconstructionResult]:
    store = store_of(client, params.vector_store_id)
    request = Rescue(
        output=params.output_folder,
        suffix=params.output_suffix,
        only=tuple(params.only_these_filenames),
        calibrate=params.calibrate,
        verify=params.verify,
    )
    try:
        done = await recover([store], request, say=_say, headers=params.log_headers)
    finally:
        await store.close()
    return [
        ReconstructionResult(one.name, one.id, one.chunks, one.bytes, one.path, one.verdict)
        for one in done.results
        if one.path
    ]


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "unchunk") as beside:
        return beside.submit(asyncio.run, work).result()


def _say(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(line.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()


def _part(whole: object, name: str) -> object:
    return whole.get(name) if isinstance(whole, dict) else getattr(whole, name, None)
