"""Functions for scripts that get files out of OpenAI vector stores, as first specified."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from unchunk.errors import IntegrityError, InvalidInputError
from unchunk.ports import FieldValue, LostFile, LostFiles, LostStatus
from unchunk.recovery.request import Calibrate, Rescue
from unchunk.recovery.rescue import recover
from unchunk.text.stitching import Confidence
from unchunk.wiring.rescue import store_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

T = TypeVar("T")
_AT_ONCE = 8
_STATUS: Mapping[LostStatus, str] = {"ready": "completed", "in progress": "in_progress"}


@dataclass
class RAGTextRetrievalParams:
    """What to retrieve, and how; `only_these_filenames` holds names or ids, or is one; empty is all.

    `calibrate="first-pair"` measures the overlap of the first two chunks and removes as much from
    all others, as was first specified; it is wrong for nearly all files that were cut by tokens.
    `verify` reads each file back, cuts it again and compares.
    """

    vector_store_id: str
    only_these_filenames: Sequence[str] | None = field(default_factory=list)
    output_folder: str | PathLike[str] = "./output"
    output_suffix: str = ".reconstructed.md"
    log_headers: bool = True
    calibrate: Calibrate = "each-joint"
    verify: bool = False


@dataclass
class ReconstructionResult:
    """A file that was written. `confidence` is the lowest of all places where chunks meet."""

    filename: str
    original_file_id: str
    chunk_count: int
    reconstructed_bytes: int
    output_path: str
    confidence: Confidence = "none"


@dataclass(frozen=True, slots=True)
class VectorStoreFile:
    """A file of a vector store; `status` is one of OpenAI's, such as "completed".

    If the server does not give its name, `filename` is its id.
    """

    id: str
    filename: str
    status: str
    attributes: Mapping[str, FieldValue] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class VectorStoreChunk:
    """A chunk of a file of a vector store; `index` counts from 0."""

    text: str
    index: int


class VectorStoreFileContents(TypedDict):
    """A file with its chunks; there are none unless its status is "completed"."""

    file: VectorStoreFile
    chunks: list[VectorStoreChunk]


def get_vector_store_file_content(
    client: "OpenAI | AsyncOpenAI", vs_id: str, file_id: str
) -> list[VectorStoreChunk]:
    """Get the chunks of one file, in order, from all pages of its content.

    Blocks until all have arrived. Takes any client that `retrieve_and_reconstruct_files` takes.
    """
    if file_id.strip() in ("", ".", ".."):
        raise InvalidInputError(f"{file_id!r} is not a file id: these look like file-...")
    return _run(_from_store(client, vs_id, lambda it: _chunks(it, LostFile(file_id, file_id))))


def get_all_vector_store_file_contents(
    client: "OpenAI | AsyncOpenAI", vs_id: str
) -> list[VectorStoreFileContents]:
    """Get all files of a vector store, each with its chunks; all of it is held in memory.

    Raises if the content of a file cannot be retrieved; `retrieve_and_reconstruct_files` goes on
    without that file. Blocks until all have arrived.
    """
    return _run(_from_store(client, vs_id, _contents))


def retrieve_and_reconstruct_files(
    client: "OpenAI | AsyncOpenAI", params: RAGTextRetrievalParams
) -> list[ReconstructionResult]:
    """Put the files of a vector store together from their chunks; print the progress.

    `client` is `OpenAI`, `AzureOpenAI`, or one of their asynchronous versions; its settings are used
    with new connections, and its `max_retries` and `timeout` hold for every request. Files that are
    not ready or cannot be retrieved are named, listed in `recovery.json`, and missing in the result.
    Called again after an interruption, it continues.

    Blocks until everything is done, also in a running event loop: call it in a thread there.
    """
    work = partial(_retrieved, params=params)
    return _run(_from_store(client, params.vector_store_id, work))


def get_filename_from_file(file_obj: Any) -> str:  # noqa: ANN401 - an object of any SDK, or JSON
    """The name of a file: its `filename`, else that of its attributes, else its id."""
    for holder in (file_obj, _part(file_obj, "attributes")):
        name = _part(holder, "filename")
        if isinstance(name, str) and name:
            return name
    return str(_part(file_obj, "id") or "")


async def _from_store(
    client: "OpenAI | AsyncOpenAI", vs_id: str, work: Callable[[LostFiles], Awaitable[T]]
) -> T:
    store = store_of(client, vs_id)
    try:
        return await work(store)
    finally:
        await store.close()


async def _contents(store: LostFiles) -> list[VectorStoreFileContents]:
    files = [file async for file in store.files()]
    slots = asyncio.Semaphore(_AT_ONCE)

    async def chunks(file: LostFile) -> list[VectorStoreChunk]:
        async with slots:
            return await _chunks(store, file) if file.status == "ready" else []

    tasks = [asyncio.ensure_future(chunks(file)) for file in files]
    try:
        found = await asyncio.gather(*tasks)
    finally:
        # After the first failure, the others would go on while the store is closed.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [
        {"file": _described(file), "chunks": its} for file, its in zip(files, found, strict=True)
    ]


async def _chunks(store: LostFiles, file: LostFile) -> list[VectorStoreChunk]:
    found = await store.chunks(file)
    if found.complete is False:
        raise IntegrityError(f"the chunks of {file.id} are not complete: {'; '.join(found.notes)}")
    return [VectorStoreChunk(text, index) for index, text in enumerate(found.texts)]


def _described(file: LostFile) -> VectorStoreFile:
    status = _STATUS.get(file.status, file.status)
    return VectorStoreFile(file.id, file.name, status, file.attributes)


async def _retrieved(
    store: LostFiles, params: RAGTextRetrievalParams
) -> list[ReconstructionResult]:
    only = params.only_these_filenames or ()
    request = Rescue(
        output=fspath(params.output_folder),
        suffix=params.output_suffix,
        only=(only,) if isinstance(only, str) else tuple(only),
        calibrate=params.calibrate,
        verify=params.verify,
    )
    done = await recover([store], request, say=_say, headers=params.log_headers)
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
