"""Bars for long work, on the screen only: never in a pipe or a log."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from unchunk.library.ingest import Event


@contextmanager
def bars(*, hidden: bool) -> Iterator["Bars"]:
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        console=console,
        transient=True,
        disable=hidden or not console.is_terminal,
    )
    with progress:
        yield Bars(progress)


class Bars:
    """One bar for each stage that files go through, and others as they are needed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        self._files = 0
        self._chunks: dict[str, tuple[int, int]] = {}
        self._done = self._total = 0

    def found(self, files: int) -> None:
        self._files = files
        for stage in ("Read", "Extracted", "Embedded", "Done"):
            total = None if stage == "Embedded" else files
            self._bars[stage] = self._progress.add_task(stage, total=total, now="")

    def event(self, event: Event) -> None:
        if event.stage == "embedding":
            done, total = self._chunks.get(event.name, (0, 0))
            self._chunks[event.name] = (event.done, event.total)
            self._done += event.done - done
            self._total += event.total - total
            self._progress.update(self._bars["Embedded"], completed=self._done, total=self._total)
        else:
            stage = {"read": "Read", "extracted": "Extracted"}.get(event.stage, "Done")
            self._progress.update(self._bars[stage], advance=1, now=event.name[-40:])

    def step(self, title: str, name: str, done: int, total: int) -> None:
        """Move the one bar of simple work."""
        if title not in self._bars:
            self._bars[title] = self._progress.add_task(title, total=total, now="")
        self._progress.update(self._bars[title], completed=done, total=total, now=name[-40:])
