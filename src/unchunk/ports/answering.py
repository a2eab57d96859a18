"""What servers of one library share while they answer: answers on their way, and who asks how often."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from unchunk.domain import OwnerId


@dataclass(frozen=True, slots=True)
class News:
    """What is new of an answer: its events from number `first` on, counted from 1, in order.

    Without events it only says that somebody is still writing it. What is over and not `is_kept`
    was stopped, and is for nobody who has not begun to read it.
    """

    owner: OwnerId
    stream: str
    first: int
    events: tuple[bytes, ...] = ()
    is_over: bool = False
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Logged:
    """`is_over`: these are the last ones. `is_lost`: whoever wrote it has not been heard of lately.
    `is_stopped`: somebody asked for its end, or it was not to be kept.
    """

    events: tuple[bytes, ...]
    is_over: bool = False
    is_lost: bool = False
    is_stopped: bool = False


class StreamLog(Protocol):
    """Answers while they are written, for readers that another process serves.

    Whoever writes one says so again and again, news or not: else it counts as lost. Nothing in
    here is needed for long, so it need not outlive the place's own machine.
    """

    async def note(self, news: Sequence[News]) -> tuple[set[str], set[str]]:
        """Note news of several answers; the same again is no harm.

        Those of them that somebody asked to stop, and those that somebody else reads just now.
        """
        ...

    async def read(self, owner: OwnerId, stream: str, after: int) -> Logged:
        """Some of what follows event `after`; `NotFoundError` for another owner's, as for none.

        Who reads is noted, for whoever writes it.
        """
        ...

    async def stop(self, owner: OwnerId, stream: str) -> None:
        """Ask whoever writes it to end it; it is not kept. `NotFoundError` as above."""
        ...

    async def forget(self, older_than: float) -> None:
        """Drop what nobody wrote at for so many seconds."""
        ...


class Rates(Protocol):
    """How much of something each name has left, among all processes that share the place."""

    async def take(self, name: str, per_minute: int) -> float:
        """Take one of `per_minute`, which come back evenly: 0, or in how many seconds to come again."""
        ...

    async def forget(self) -> None:
        """Drop names that have all of it again."""
        ...
