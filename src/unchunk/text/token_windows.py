"""Where token windows lie in a text, for whoever wants one of them without making all."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from unchunk.text.tokens import Encoding, safe_blocks


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """The edges of what `Encoding.windows` gives, in characters.

    An edge that lies inside a character is that behind it, and `cut_begins` or `cut_ends` tells
    how many bytes of the character are behind the edge.
    """

    begins: Sequence[int]
    ends: Sequence[int]
    cut_begins: Mapping[int, int]
    cut_ends: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.begins)

    def touching(self, start: int, end: int) -> range:
        """The windows that hold something of `text[start:end]`."""
        return range(bisect_right(self.ends, start), bisect_left(self.begins, end))

    def span(self, window: int) -> tuple[int, int]:
        """What of the text is needed to `show` a window."""
        return self.begins[window] - (window in self.cut_begins), self.ends[window]

    def show(self, window: int, text: str) -> str:
        """A window as `Encoding.windows` gives it; `text` is what stands in its `span`."""
        begin, end = self.cut_begins.get(window, 0), self.cut_ends.get(window, 0)
        if not begin and not end:
            return text
        data = text.encode()
        skipped = len(text[0].encode()) - begin if begin else 0
        return data[skipped : len(data) - end].decode("utf-8", "replace")


def token_windows(encoding: Encoding, text: str, size: int, overlap: int) -> TokenWindows:
    """Linear in the text. Holds two numbers for each window, and for a moment the tokens of
    a block of the text.
    """
    stride = size - overlap
    begins, ends = array("Q"), array("Q")
    cut_begins: dict[int, int] = {}
    cut_ends: dict[int, int] = {}
    tokens = characters = 0
    for block in safe_blocks(text):
        ids = encoding.encode(block)
        bounds = list(accumulate(encoding.lengths(ids), initial=characters))
        for edges, cuts, first in ((begins, cut_begins, 0), (ends, cut_ends, size)):
            here = range(first + len(edges) * stride - tokens, len(ids), stride)
            cuts.update(
                (len(edges) + number, depth)
                for number, at in enumerate(here)
                if (depth := encoding.depth(ids, at))
            )
            edges.extend(islice(bounds, here.start, len(ids), stride))
        tokens, characters = tokens + len(ids), bounds[-1]
    ends.extend([len(text)] * (len(begins) - len(ends)))
    return TokenWindows(begins, ends, cut_begins, cut_ends)
