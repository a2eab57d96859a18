"""What is wanted of a rescue, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError
from unchunk.ports import FieldValue, LostFile, LostFiles
from unchunk.recovery.output import LONGEST_SUFFIX
from unchunk.text.stitching import Confidence

# first-pair: one overlap for all joints, measured once. Kept for whoever asks for it by name.
Calibrate = Literal["each-joint", "first-pair"]
# Of those that are not recovered, nothing or nothing but an empty file is written.
Status = Literal[
    "recovered",
    "in progress",
    "failed",
    "cancelled",
    "no chunks",
    "not fetched",
    "not joined",
    "not written",
]


@dataclass(frozen=True, slots=True)
class Rescue:
    """`only` names files by name or id; none means all. `strategy` counts where no store tells one.

    With `verify`, each file is read back from the disk, cut again and held against its chunks.
    """

    output: str = "./output"
    suffix: str = ".reconstructed.md"
    only: tuple[str, ...] = ()
    strategy: ChunkingStrategy | None = None
    calibrate: Calibrate = "each-joint"
    verify: bool = False
    concurrency: int = 8

    def __post_init__(self) -> None:
        if len(self.suffix.encode("utf-8", "surrogatepass")) > LONGEST_SUFFIX:
            raise InvalidInputError(
                f"the suffix {self.suffix[:20]!a}... is too long for the name of a file: at most"
                f" {LONGEST_SUFFIX} bytes"
            )
        if self.concurrency < 1:
            raise InvalidInputError(f"concurrency must be at least 1, not {self.concurrency}")
        if self.calibrate not in ("each-joint", "first-pair"):
            raise InvalidInputError(
                f"calibrate {self.calibrate!r} is unknown: use 'each-joint' or 'first-pair'"
            )

    @property
    def folder(self) -> Path:
        return Path(self.output or ".")

    def place(self, name: str) -> str:
        """Where a file is, said as the folder was said."""
        folder = self.output.rstrip("/") if self.output else "."
        return f"{folder}/{name}"


class Wanted(NamedTuple):
    """A file of a store; `output` is the name that its text is written under.

    `plain` is the same without the suffix, and no other file's either.
    """

    store: LostFiles
    file: LostFile
    output: str
    plain: str


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one file; `path` is where its text is, empty if it is nowhere.

    `checked` says what came of verifying, `is_same` whether that was as it should be.
    """

    store: str
    id: str
    name: str
    plain: str
    status: Status
    path: str = ""
    chunks: int = 0
    bytes: int = 0
    verdict: Confidence = "none"
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, FieldValue] = field(default_factory=dict, hash=False)
    checked: str = ""
    is_same: bool = True

    @property
    def is_back(self) -> bool:
        # A file that has no chunks was empty: there is nothing to get back.
        return self.status in ("recovered", "no chunks") and self.is_same


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of all. `problems` are those of whole stores, and of names that match nothing."""

    results: tuple[Result, ...]
    problems: tuple[str, ...]
    report: str

    @property
    def is_whole(self) -> bool:
        return not self.problems and all(result.is_back for result in self.results)
