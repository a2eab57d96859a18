"""What a library is made of, handed to everything that works on it."""

from dataclasses import dataclass, field
from pathlib import Path

from unchunk.library.desk import Desk
from unchunk.library.sharing import Sharing
from unchunk.library.spaces import Spaces
from unchunk.ports import Blobs, Catalog, Extractor, Lexicon, Pages, VectorCache
from unchunk.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Parts:
    """`incoming` is a folder of this process for files on their way in."""

    catalog: Catalog
    cache: VectorCache
    blobs: Blobs
    extractor: Extractor
    pages: Pages
    lexicon: Lexicon
    spaces: Spaces
    telemetry: Telemetry
    incoming: Path
    max_bytes: int
    sharing: Sharing
    desk: Desk = field(default_factory=Desk)
