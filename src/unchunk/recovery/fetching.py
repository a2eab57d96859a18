"""Which files there are, and their chunks into the spool. What fails is told, and the rest goes on."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from unchunk.errors import OutputError, ProviderUnavailableError, UnchunkError
from unchunk.ports import LostFile, LostFiles
from unchunk.recovery.console import shown
from unchunk.recovery.output import named_files
from unchunk.recovery.request import Rescue, Wanted
from unchunk.recovery.spool import Spool

# So many in a row that nobody answers for, and the others are not tried.
_ENOUGH = 3

Progress = Callable[[str, str, int, int], object]


class StoreList(NamedTuple):
    """What a store told of its files; `error` is why it told no more."""

    store: LostFiles
    files: list[LostFile]
    error: UnchunkError | None


async def list_files(stores: Sequence[LostFiles], progress: Progress) -> list[StoreList]:
    """The files of each store. Raises only where no store can be read at all."""
    lists = []
    count = 0
    for store in stores:
        files: list[LostFile] = []
        error = None
        try:
            async for file in store.files():
                files.append(file)
                count += 1
                progress("Listed", shown(file.name), count, count)
        except UnchunkError as raised:
            error = raised
        lists.append(StoreList(store, files, error))
    errors = [one.error for one in lists if one.error is not None and not one.files]
    if errors and len(errors) == len(lists):
        raise errors[0]
    return lists


def wanted(lists: Sequence[StoreList], request: Rescue) -> Iterator[Wanted]:
    """The files that are asked for. What each is called does not depend on what else is."""
    every = [(one.store, file) for one in lists for file in one.files]
    names = named_files(((file.name, file.id) for _, file in every), request.suffix)
    for (store, file), (plain, output) in zip(every, names, strict=True):
        if not request.only or not names_of(file).isdisjoint(request.only):
            yield Wanted(store, file, output, plain)


def names_of(file: LostFile) -> set[object]:
    """All that it may be asked for by."""
    return {file.name, file.id, file.attributes.get("filename")}


class _Trouble:
    """Why chunks did not come, and whether there is any point in going on."""

    def __init__(self, concurrency: int) -> None:
        self.failures: dict[int, str] = {}
        self.given_up = ""
        self._enough = max(_ENOUGH, concurrency)
        self._in_a_row = 0

    def went_well(self) -> None:
        self._in_a_row = 0

    def failed(self, at: int, error: UnchunkError) -> None:
        self.failures[at] = str(error)
        self._in_a_row = self._in_a_row + 1 if isinstance(error, ProviderUnavailableError) else 0
        if self._in_a_row >= self._enough:
            self.given_up = f"it was not tried: {self._in_a_row} before it failed in a row: {error}"


async def fetch(
    files: Sequence[Wanted], spool: Spool, concurrency: int, progress: Progress
) -> dict[int, str]:
    """The chunks of all files that are ready into the spool; why not, by position, of the rest.

    What the spool has is not fetched again.
    """
    queue = iter([(at, one) for at, one in enumerate(files) if one.file.status == "ready"])
    total = sum(one.file.status == "ready" for one in files)
    trouble = _Trouble(concurrency)
    done = 0

    async def work() -> None:
        nonlocal done
        for at, one in queue:
            if not await asyncio.to_thread(spool.has, one.store.name, one.file):
                if trouble.given_up:
                    trouble.failures[at] = trouble.given_up
                else:
                    await _fetched(at, one, spool, trouble)
            done += 1
            progress("Fetched", shown(one.file.name), done, total)

    tasks = [asyncio.ensure_future(work()) for _ in range(min(concurrency, total))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return trouble.failures


async def _fetched(at: int, one: Wanted, spool: Spool, trouble: _Trouble) -> None:
    try:
        chunks = await one.store.chunks(one.file)
        await asyncio.to_thread(spool.put, one.store.name, one.file, chunks)
    except OutputError:
        raise  # Without a place to put them there is no point in any others.
    except UnchunkError as error:
        trouble.failed(at, error)
    else:
        trouble.went_well()
