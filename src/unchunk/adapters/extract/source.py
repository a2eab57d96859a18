"""What a reader is given: a file on disk, and how far it may go."""

from dataclasses import dataclass
from pathlib import Path

from unchunk.adapters.extract.limits import Limits


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is a label and never a path. `text` is there where the content is text."""

    path: Path
    name: str
    media_type: str
    limits: Limits
    text: str = ""
    notes: tuple[str, ...] = ()
