"""What several processes share that work on one library: who does what, and what is to be done."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol

from unchunk.domain import Document, DocumentId, OwnerId

JobKind = Literal["upload", "retry", "reindex"]
JobState = Literal["queued", "running", "waiting", "done", "failed"]
JobStage = Literal["read", "extracted", "embedding", "done"]

DUE: Final = "jobs"
"""The topic that the bell rings when a job is to be done."""

OVER: Final = "ended"
"""And when one has ended, or waits for something that is away."""

DISMISSED: Final = "dismissed"
"""The topic that the bell rings when holders of leases are asked to stop."""


class Leases(Protocol):
    """Names that one process at a time holds, among all that share the place.

    What is held may be taken by another when its holder does not `beat` for as long as a lease
    lasts. Time is the place's own, so that clocks need not agree.
    """

    @property
    def holder(self) -> str:
        """This process, as the others know it; no two are alike."""
        ...

    async def take(self, names: Sequence[str]) -> bool:
        """Take all of them, or none where another holds one."""
        ...

    async def beat(self) -> Mapping[str, bool]:
        """Hold on to all that this process has: each, and whether its holder is asked to stop.

        What is missing was lost.
        """
        ...

    async def give_up(self, names: Sequence[str]) -> None: ...

    async def held(self, names: Sequence[str]) -> set[str]:
        """Those that anybody holds."""
        ...

    async def dismiss(self, names: Sequence[str]) -> None:
        """Ask whoever holds them to stop; nothing happens where nobody does."""
        ...


class Taken(NamedTuple):
    """Generations by document, whose caller has them `until` then, by the clock of the place."""

    versions: Mapping[DocumentId, Sequence[int]]
    until: int


class Purged(Protocol):
    """Versions that were taken out of the index, and have to be taken out again.

    A write that its caller gave up may be carried out later than the delete that came after it: a
    node that slept wakes and finds it. So where the index is reached over a network, the catalog
    lists here what it forgets; each version is due after a while, and again after a longer one.
    """

    async def take(self, most: int) -> Taken:
        """Up to so many that are due. Nobody else is given them for two minutes; where they are not
        `done` by then, they are due again. What has come back by a move is not among them.
        """
        ...

    async def done(self, taken: Taken) -> None:
        """They were taken out. Nothing happens to those that another has taken since."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What is done to one document, and how far that is: `done` of `total` chunks.

    `attempts` counts how often it was begun. `forced`: what is there already is written anew.
    """

    id: str
    owner: OwnerId
    kind: JobKind
    document: DocumentId
    name: str
    folder: str
    forced: bool
    state: JobState
    stage: JobStage
    done: int
    total: int
    result: str
    error_code: str
    error: str
    attempts: int
    begun_at: datetime
    ended_at: datetime | None


class Progress(NamedTuple):
    """How far a job is: `done` of `total` chunks while it is embedded."""

    stage: JobStage
    done: int = 0
    total: int = 0


class Queue(Protocol):
    """Work that waits for a process that does it: one job for each thing to do to a document.

    Every method is one transaction, durable when it returns. A job that is claimed belongs to its
    worker while that beats; then another may have it. One that ended its workers too often has
    `failed`, with the code "crashed", and so has the draft of its document. What was deleted ends
    its jobs in the same moment, with the code "deleted"; who works on one is told by `beat`.
    The bell of the place rings for what is `DUE` and what is `OVER`.
    """

    @property
    def lease(self) -> float:
        """For how many seconds a claim lasts without a beat."""
        ...

    async def begin(self, kind: JobKind, document: Document, *, forced: bool = False) -> Job:
        """Have a document worked on. One job does for all that is to be done, but for bytes that
        came after it was claimed. One that waits for a later moment is due now.
        """
        ...

    async def noted(self, document: Document, result: str) -> Job:
        """The job of a file that there was nothing to do for."""
        ...

    async def adopt(self, older_than: float = 0.0) -> int:
        """Give a job to every pending draft that has had none for so many seconds; to how many."""
        ...

    async def claim(self, worker: str, most: int, *, asked_for: bool = False) -> list[Job]:
        """Up to so many that are due, owners in turn, the oldest of each first; now `running`.

        With `asked_for` only such as somebody asked for while they waited. One that has ended two
        workers comes alone, to a worker that has no other: it is known then which one it was.
        """
        ...

    async def beat(self, worker: str, jobs: Collection[str]) -> set[str]:
        """Go on with these; those of them that the worker still has, and is to go on with."""
        ...

    async def reached(self, worker: str, jobs: Mapping[str, Progress]) -> None:
        """How far they are; nothing happens to those that are another worker's by now."""
        ...

    async def put_back(self, worker: str, job: str, why: str = "", seconds: float = 0.0) -> None:
        """It cannot be done now: due again after a while, and `waiting` if there is a reason.

        No attempt is counted.
        """
        ...

    async def end(
        self,
        worker: str,
        job: str,
        *,
        reached: Progress | None = None,
        result: str = "",
        error_code: str = "",
        error: str = "",
    ) -> None:
        """`failed` with an error code, else `done`; nothing happens to another worker's."""
        ...

    async def release(self) -> int:
        """End all claims, for who knows that no worker is left; how many there were."""
        ...

    async def settle(self, documents: Collection[DocumentId]) -> None:
        """They are in by now: jobs of theirs that have failed are done after all."""
        ...

    async def find(self, owner: OwnerId, job: str) -> Job:
        """Another owner's job is not there: `NotFoundError`."""
        ...

    async def of(self, owner: OwnerId, limit: int) -> list[Job]:
        """Those that are to be done, then those that were lately, of both the newest first.

        Of more than `limit` that are to be done, those that were begun first.
        """
        ...

    async def waiting(self, owner: OwnerId | None = None) -> int:
        """How many have yet to be claimed, of one owner or of all."""
        ...

    async def running(self) -> int: ...

    async def forget(self, older_than: float, most: int) -> None:
        """Drop those that ended more than so many seconds ago, and of the rest all but `most`."""
        ...


class Bell(Protocol):
    """Tells all processes that share a place that something there has changed.

    Nobody may rely on it: whoever waits looks again after a while in any case.
    """

    async def wait(self, topic: str, seconds: float) -> bool:
        """Whether it rang for the topic within that time, or since the last wait for it."""
        ...

    async def ring(self, topic: str) -> None: ...

    async def close(self) -> None: ...
