"""The text as far as it is recovered. Only its tail is looked at, so adding costs one chunk."""

from unchunk.domain import Span
from unchunk.text.stitching.borders import CUT, Border
from unchunk.text.stitching.seams import Confidence, Method, Seam

# How much text stays before the last chunk: enough to find a place where tokens begin anew.
_CONTEXT = 256


class Draft:
    """Grows chunk by chunk. `tail[at:]` is the last chunk that was placed.

    The mark of a character that the last chunk cut is kept out of `tail`: the next chunk
    holds that character whole, or it is lost. Where nothing `cuts` characters, it is no mark.
    """

    def __init__(self, first: str, *, more: bool, cuts: bool = True) -> None:
        self.tail = ""
        self.at = 0
        self.lead = 0
        self.seams: list[Seam] = []
        self.spans: list[Span] = []
        self._done: list[str] = []
        self._base = 0
        self._cuts = cuts
        self._cut = False
        self._take(first, more)
        self._span(len(self.tail) + self._cut)

    @property
    def text(self) -> str:
        return "".join(self._done) + self.tail

    def overlap(self, chunk: str, border: Border, at: int, found: Confidence, method: Method,
                *, more: bool, missing: int = 0) -> None:  # fmt: skip
        """Place `chunk` at `at`, where it repeats `border.length` characters."""
        self._seam(at, border.length, found, method, missing)
        self._move(at, border.lead)
        new = chunk[border.lead + border.length :]
        if new:
            self._take(new, more)
        self.spans.append(
            Span(self._base + self.at, self._base + self.at + border.length + len(new))
        )

    def append(self, chunk: str, glue: str, found: Confidence, method: Method,
               *, more: bool, missing: int = 0) -> None:  # fmt: skip
        """Place `chunk` at the end, where it repeats nothing."""
        lead = 0
        if not glue:
            lead = min(3, len(chunk) - len(chunk.lstrip(CUT))) if self._cuts else 0
            if self._cut or lead:
                found = "lossy"
                glue = CUT
        elif self._cut:
            glue = CUT + glue
        at = len(self.tail) + len(glue)
        self._cut = False
        self._take(glue, more=False)
        self._seam(at, 0, found, method, missing)
        self._move(at, 0)
        self._take(chunk[lead:], more)
        self._span(len(self.tail) + self._cut)

    def overlap_loosely(self, chunk: str, held: int, begun: int, *, more: bool) -> None:
        """Place `chunk`, whose first `begun` characters are the last `held` but for white space.

        The side that has more white space is taken: no chunker adds any.
        """
        at = len(self.tail) - held
        if begun > held:
            self.tail = self.tail[:at] + chunk[:begun]
        self._seam(at, begun, "normalized", "border", 0)
        self._move(at, 0)
        self._take(chunk[begun:], more)
        self._span(len(self.tail) + self._cut)

    def nothing(self, chunk: str, *, more: bool) -> None:
        """Place an empty chunk at the end, or the first that is not behind those that were."""
        at = len(self.tail)
        self._seam(at, 0, "normalized", "touch", 0)
        if chunk:
            self._move(at, 0)
            self._take(chunk, more)
            self._span(len(self.tail) + self._cut)
        else:
            self.spans.append(Span(self._base + at, self._base + at))

    def _seam(self, at: int, overlap: int, found: Confidence, method: Method, missing: int) -> None:
        index = len(self.spans)
        self.seams.append(Seam(index, self._base + at, overlap, found, method, missing))

    def _span(self, end: int) -> None:
        """Remember where the last chunk lies, a character that it cuts included."""
        self.spans.append(Span(self._base + self.at, self._base + end))

    def _move(self, at: int, lead: int) -> None:
        """Make `at` the beginning of the last chunk and let go of what lies far before it."""
        self.lead = lead
        drop = at - _CONTEXT
        if drop > 0:
            self._done.append(self.tail[:drop])
            self.tail = self.tail[drop:]
            self._base += drop
            at -= drop
        self.at = at

    def _take(self, text: str, more: bool) -> None:
        self._cut = self._cuts and more and text.endswith(CUT)
        self.tail += text[:-1] if self._cut else text
