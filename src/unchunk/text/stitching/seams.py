"""What stitching says of its result: the text, each joint in it, and how sure it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from unchunk.domain import ChunkingStrategy, Span

Confidence = Literal[
    "verified", "consensus", "exact", "normalized", "assumed", "ambiguous", "lossy", "none"
]
"""From the surest to the least sure.

verified    the text, cut again, gives exactly these chunks, and nothing hints at another origin
consensus   the same, but only the other files of the store settle which strategy it is
exact       the overlap is the same on both sides and too long to be chance
normalized  as exact, but the chunks do not hold all white space, so the text may lack some
assumed     nothing overlaps, or too little to prove anything, and the strategy says so
ambiguous   several joints fit and nothing settles which; or an end may be missing
lossy       a character was cut in two and no chunk holds it whole
none        no joint was found: what stands between the chunks is a guess
"""

Method = Literal["clock", "border", "touch", "newline", "offset"]
"""How a joint was found: where the strategy's stride says, where the chunks share their
text, end to end because the strategy has no overlap there, not at all, or where the offsets say
that the chunks carry."""

_ORDER: tuple[Confidence, ...] = get_args(Confidence)


@dataclass(frozen=True, slots=True)
class Seam:
    """The joint before chunk `index`: it begins at `start` and shares `overlap` characters.

    `missing` is how many chunks the stride shows to be absent here, at the least.
    """

    index: int
    start: int
    overlap: int
    confidence: Confidence
    method: Method
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Stitched:
    """A text put together again.

    `spans` holds where each chunk lies in `text`, in the order of the text; `order` holds
    the positions that those chunks had in the input. `strategy` is the one that was given
    or found, `None` where none fits. `notes` say in words what a person should know.
    """

    text: str
    seams: tuple[Seam, ...]
    confidence: Confidence
    strategy: ChunkingStrategy | None = None
    spans: tuple[Span, ...] = ()
    order: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """How many chunks are known to be absent, at the least."""
        return sum(seam.missing for seam in self.seams)

    @property
    def reordered(self) -> bool:
        return self.order != tuple(sorted(self.order))


def worst(confidences: Iterable[Confidence]) -> Confidence:
    """The least sure of them; `verified` where there is none."""
    return max(confidences, key=_ORDER.index, default="verified")
