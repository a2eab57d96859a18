"""From stores that hold nothing but chunks to files on the disk."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from time import monotonic
from typing import NamedTuple

from unchunk.ports import LostChunks, LostFiles
from unchunk.recovery import console
from unchunk.recovery.fetching import Progress, StoreList, fetch, list_files, names_of, wanted
from unchunk.recovery.output import RECOVERY
from unchunk.recovery.report import ReportFile, StoreReport
from unchunk.recovery.request import Recovered, Rescue, Result, Wanted
from unchunk.recovery.spool import Spool
from unchunk.recovery.writing import Writer
from unchunk.telemetry import log
from unchunk.text.stitching import ChunkOverlapInfo, detect_chunk_overlap

# Characters of the files that are joined together: what is in memory at once, and how long an
# interrupt may have to wait.
_TOGETHER = 8_000_000

Say = Callable[[str], object]
Group = list[tuple[Wanted, LostChunks | str]]


def silent(*_: object) -> None:
    """Tell nobody."""


async def recover(
    stores: Sequence[LostFiles],
    request: Rescue,
    *,
    say: Say = silent,
    progress: Progress = silent,
    headers: bool = True,
) -> Recovered:
    """Get the files of `stores` back into `request.output`, with `recovery.json` beside them.

    What was fetched is kept there until all of it is done, so that the same call goes on after
    whatever ended this one. Files that are not ready, or cannot be had, are told and stop nobody.
    Raises where no store can be read, or nothing can be written. `say` gets lines for people, and
    `progress` a stage, a name, how many are done and of how many.
    """
    began = monotonic()
    if headers:
        say(console.start(_now()))
    for store in stores:
        say(console.store(store.name))
    lists = await list_files(stores, progress)
    files = list(wanted(lists, request))
    problems = tuple(_problems(lists, request))
    for problem in problems:
        say(console.problem(problem))
    with Spool(request.folder) as spool:
        failures = await fetch(files, spool, request.concurrency, progress)
        fetched = _Spooled(files, failures, spool)
        first = await asyncio.to_thread(fetched.first_pair)
        for line in console.overlap(first):
            say(line)
        overlap = None
        if request.calibrate == "first-pair":
            say(console.ONE_FOR_ALL)
            overlap = first.overlap_chars if first else 0
        say(console.processing(len(files)))
        with closing(ReportFile(request.folder / RECOVERY, spool.folder, _stores(lists))) as report:
            writer = Writer(request, spool, report, overlap)
            results = [done async for done in _written(fetched, writer, say, progress)]
            report.end(_totals(results))
        # What could not be had may be had later, and the rest need not be fetched again then.
        if not failures and all(one.status != "not written" for one in results):
            spool.remove()
    if headers:
        say(console.end(_now(), monotonic() - began))
    say(console.summary(results))
    return Recovered(tuple(results), problems, request.place(RECOVERY))


class _Spooled(NamedTuple):
    """The files that are wanted; `failures` is why chunks did not come, by position."""

    files: Sequence[Wanted]
    failures: Mapping[int, str]
    spool: Spool

    def groups(self) -> Iterator[Group]:
        """The files in order with their chunks, or why there are none, some megabytes at a time.

        Never those of two stores: how one cuts tells nothing of the other.
        """
        group: Group = []
        size = 0
        for at, one in enumerate(self.files):
            chunks = self._chunks(at, one)
            if group and one.store is not group[-1][0].store:
                yield group
                group, size = [], 0
            group.append((one, chunks))
            size += sum(map(len, chunks.texts)) if isinstance(chunks, LostChunks) else 0
            if size >= _TOGETHER:
                yield group
                group, size = [], 0
        if group:
            yield group

    def first_pair(self) -> ChunkOverlapInfo | None:
        """What the first two chunks of the first file that has so many share."""
        for at, one in enumerate(self.files):
            chunks = self._chunks(at, one)
            if isinstance(chunks, LostChunks) and len(chunks.texts) > 1:
                return detect_chunk_overlap(chunks.texts[0], chunks.texts[1])
        return None

    def _chunks(self, at: int, one: Wanted) -> LostChunks | str:
        if one.file.status != "ready":
            return one.file.problem
        if at in self.failures:
            return self.failures[at]
        kept = self.spool.get(one.store.name, one.file)
        return kept or "what was fetched of it is damaged: try again"


async def _written(
    fetched: _Spooled, writer: Writer, say: Say, progress: Progress
) -> AsyncIterator[Result]:
    groups, places, count = fetched.groups(), itertools.count(1), len(fetched.files)
    while group := await asyncio.to_thread(next, groups, None):
        for done in await asyncio.to_thread(writer.write, group):
            at = next(places)
            for line in console.file(at, count, done):
                say(line)
            if done.path:
                name = console.shown(done.name)
                log("Reconstructed %s: %d chunks -> %d bytes", name, done.chunks, done.bytes)
            progress("Joined", console.shown(done.name), at, count)
            yield done


def _stores(lists: Sequence[StoreList]) -> list[StoreReport]:
    return [
        {"name": one.store.name, "files": len(one.files), "problem": str(one.error or "")}
        for one in lists
    ]


def _problems(lists: Sequence[StoreList], request: Rescue) -> Iterator[str]:
    for one in lists:
        if one.error is not None:
            yield f"{one.store.name} told of {len(one.files)} files and no more: {one.error}"
    names = {name for one in lists for file in one.files for name in names_of(file)}
    for name in request.only:
        if name not in names:
            yield f"there is no file {name!r}"


def _totals(results: Sequence[Result]) -> dict[str, object]:
    return {
        "files": len(results),
        "chunks": sum(one.chunks for one in results),
        "bytes": sum(one.bytes for one in results),
        "status": dict(Counter(one.status for one in results)),
        "verdicts": dict(Counter(one.verdict for one in results if one.status == "recovered")),
        "verify": dict(Counter(one.checked for one in results if one.checked)),
    }


def _now() -> datetime:
    return datetime.now().astimezone()
