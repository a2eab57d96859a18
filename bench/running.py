"""What a measure is given: how much to do, where to keep things, and the peers' interpreters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Run:
    """`cache` outlives the run: what takes long to make, such as a library, is made there once.

    `pythons` has, by the names of `bench/environments`, the interpreters that have the peers;
    `absent` says why a peer has none.
    """

    cache: Path
    is_quick: bool = False
    pythons: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = print

    @property
    def repeats(self) -> int:
        return 2 if self.is_quick else 7
