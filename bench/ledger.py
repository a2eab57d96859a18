"""What a library may show of documents that tell themselves which version they are.

Each document has one place, and what happened to it is a list of acts: a version was sent, or it
was deleted. An act that was acknowledged hides all that had ended before it began; of those that
overlap any may be the last. So for a reader there is at every moment a set of versions that may
be shown; 0 is none at all. Knows nothing of servers.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

NONE = 0
_LINE = re.compile(r"doc (\S+) version (\d+) line (\d+) of (\d+):")
_WORDS = ["harbour", "pilot", "tide", "anchor", "berth", "crane", "storm", "signal", "lantern"]
_CLOCK = count(1)


def now() -> int:
    """Every moment is another one."""
    return next(_CLOCK)


def text_of(place: str, version: int) -> str:
    """The whole document, the same each time; every line says where it belongs."""
    rng = random.Random(f"{place} {version}")
    lines = rng.randint(12, 90)
    return "\n".join(
        f"doc {place} version {version} line {at} of {lines}: {' '.join(rng.choices(_WORDS, k=9))}."
        for at in range(1, lines + 1)
    )


def told_by(text: str) -> set[tuple[str, int]]:
    """The documents and versions that the lines of a passage say they are of."""
    return {(found[1], int(found[2])) for found in _LINE.finditer(text)}


@dataclass(eq=False)
class Act:
    """`settled` is when its effect was known to be there; None as long as it is not."""

    value: int
    began: int
    ended: int | None = None
    settled: int | None = None

    def outlasts(self, other: "Act") -> bool:
        """Whether it may be the later of the two."""
        return self.ended is None or self.ended >= other.began


@dataclass
class Place:
    """One document of one owner, or none: what was done to it."""

    owner: str
    name: str
    document: str = ""
    acts: list[Act] = field(default_factory=lambda: [Act(NONE, 0, 0, 0)])
    last: int = 0

    def begin(self, *, deletes: bool = False) -> Act:
        if not deletes:
            self.last += 1
        act = Act(NONE if deletes else self.last, now())
        self.acts.append(act)
        return act

    def allowed(self, since: int) -> set[int]:
        """What may have been shown by a call that began then and is over now."""
        known = [act for act in self.acts if act.settled is not None and act.settled < since]
        last = max((act.began for act in known), default=0)
        return {act.value for act in self.acts if act.ended is None or act.ended >= last}

    def fault(self, text: str, since: int) -> str:
        """Why this is not the whole of a version that may be shown; nothing, if it is."""
        allowed = self.allowed(since)
        if any(text == text_of(self.name, version) for version in allowed if version):
            return ""
        told = sorted(told_by(text))
        return f"{self.name} shows {told or text[:80]!r} of {len(text)}, not one of {allowed}"

    def passage_fault(self, texts: Iterable[str], since: int) -> str:
        """The same of parts: all must be of one version."""
        parts, allowed = list(texts), self.allowed(since)
        for version in allowed - {NONE}:
            whole = text_of(self.name, version)
            if all(part in whole for part in parts):
                return ""
        told = sorted({one for part in parts for one in told_by(part)})
        return f"{self.name} shows parts of {told}, not of one of {allowed}"


def settle(act: Act) -> None:
    """It was acknowledged, and is there."""
    act.ended = act.ended or now()
    act.settled = now()


def accept(act: Act) -> None:
    """It was acknowledged, and will be there; or nobody knows what became of it."""
    act.ended = now()
