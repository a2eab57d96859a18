"""unchunk through its `Engine`: files, blobs, isolated extraction, cache, catalog and index."""

import asyncio
import cProfile
import io
import pstats
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

from bench.peers.measure import (
    DIMENSIONS,
    OVERLAP,
    SIZE,
    Model,
    Result,
    Task,
    answer,
    cpu,
    cpu_of,
    descendants,
    read_task,
    texts_of,
)
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_shard import SCANNED_KILOBYTES
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.ports import Embedder, Role, Vectors
from unchunk.settings import Settings
from unchunk.wiring import libraries as wiring

_ROLES = {"edge_process": "index", "edge_optimize": "optimizing", "extract.worker": "extraction"}
_SHOWN = 40


class TableEmbedder:
    """`Embedder` by the table that all contestants use; reads as much as a small model does."""

    def __init__(self, model: Model) -> None:
        self.identity = EmbedderIdentity("table", DIMENSIONS, max_tokens=512)
        self._model = model

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 1 for text in texts]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002 -- one for both
        return self._model.rows(texts)

    async def close(self) -> None:
        """Nothing is held."""


async def ingest(task: Task, model: Model) -> Result:
    result = Result()
    settings = Settings(Path(task.work) / "home", chunk_size=SIZE, chunk_overlap=OVERLAP)
    engine = await open_engine(settings, model)
    await engine.add(task.warm)
    result.start_cpu = cpu()
    before, model.seconds = await engine.counts(), 0.0
    begun, cpu_begun, roles_begun = time.perf_counter(), cpu(), by_role()
    outcomes = await engine.add(task.files)
    await rest(settings.home)
    roles, after = by_role(), await engine.counts()
    await engine.close()
    result.cpu, result.wall = cpu() - cpu_begun, time.perf_counter() - begun
    result.model = model.seconds
    assert {outcome.result for outcome in outcomes} == {"added"}, "all texts are new"
    result.documents = len(outcomes)
    result.chunks = sum(outcome.chunks for outcome in outcomes)
    parts = {role: seconds - roles_begun.get(role, 0.0) for role, seconds in roles.items()}
    parts["closing"] = result.cpu - sum(parts.values())
    result.cpu_by_process = parts
    result.stage_seconds = {
        name: seconds - before.seconds.get(name, 0.0) for name, seconds in after.seconds.items()
    }
    engine = await open_engine(settings, model)
    assert (await engine.search("Which ship did the captain sail in?")).hits, "all is there"
    await change(task, engine, result)
    await engine.close()
    return result


async def change(task: Task, engine: Engine, result: Result) -> None:
    # Starts the processes, which do not come with opening.
    await engine.delete("warm.txt")
    await engine.add(task.warm)
    names = [path.name for path in texts_of(task.files)]
    for at in range(task.operations):
        gone, other = names[at], names[-1 - at]
        await timed(partial(engine.delete, gone), result.delete_cpu, result.delete_wall)
        await engine.add(Path(task.files) / gone)
        newer = Path(task.changed) / other
        await timed(partial(engine.add, newer), result.replace_cpu, result.replace_wall)
    assert (await engine.counts()).documents == len(names) + 1, "as many as before"


async def timed(
    work: Callable[[], Awaitable[object]], cpus: list[float], walls: list[float]
) -> None:
    begun, cpu_begun = time.perf_counter(), cpu()
    await work()
    walls.append(time.perf_counter() - begun)
    await asyncio.sleep(0.1)
    cpus.append(cpu() - cpu_begun)


async def open_engine(settings: Settings, model: Model) -> Engine:
    async def make(
        settings: Settings,  # noqa: ARG001 -- as the wiring calls it
        spec: str,  # noqa: ARG001
        known: EmbedderIdentity | None,  # noqa: ARG001
    ) -> Embedder:
        return TableEmbedder(model)

    wiring.make_embedder = make  # type: ignore[attr-defined]  # it is imported there
    return await wiring.open_engine(settings)


async def rest(home: Path) -> None:
    """Wait until nothing is left to optimize, or is worth it."""
    enough = SCANNED_KILOBYTES * 1000 // (4 * DIMENSIONS)
    spaces = [Home(path) for path in (home / "index").iterdir() if path.is_dir()]
    due = {space: space.shard for space in spaces if (space.changes() or 0) >= enough}
    # Another process does it, and tells only its own parent.
    while any(space.shard == shard for space, shard in due.items()):  # noqa: ASYNC110
        await asyncio.sleep(0.2)


def by_role() -> dict[str, float]:
    found = {"main": time.process_time()}
    for process in descendants():
        command = Path(f"/proc/{process}/cmdline").read_text("utf-8", "replace")
        role = next((role for word, role in _ROLES.items() if word in command), "other")
        found[role] = found.get(role, 0.0) + cpu_of(process)
    return found


class Profiles:
    """cProfile of this process, by CPU time, one for each thread: it sees no more than its own."""

    def __init__(self) -> None:
        self._each = [cProfile.Profile(time.thread_time)]

    def start(self) -> None:
        threading.setprofile(self._enter)
        self._each[0].enable()

    def table(self) -> str:
        self._each[0].disable()
        threading.setprofile(None)
        out = io.StringIO()
        stats = pstats.Stats(*self._each, stream=out)
        stats.sort_stats("tottime").print_stats(_SHOWN)
        stats.sort_stats("cumulative").print_stats("src/unchunk/", _SHOWN)
        return out.getvalue()

    def _enter(self, _frame: FrameType, _event: str, _argument: object) -> None:
        sys.setprofile(None)
        profile = cProfile.Profile(time.thread_time)
        self._each.append(profile)
        profile.enable()


def main() -> None:
    task, model, profiles = read_task(), Model(), Profiles()
    if task.profile:
        profiles.start()
    result = asyncio.run(ingest(task, model))
    if task.profile:
        result.profile = profiles.table()
    answer(result)


if __name__ == "__main__":
    main()
