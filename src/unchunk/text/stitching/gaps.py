"""What stood between two chunks that share nothing and were stripped: a guess, named as one.

Splitters that look for paragraphs, lines and sentences drop the white space where they
split. What it was can often be read from how the chunks of the file look inside.
"""

import re
from collections import Counter
from collections.abc import Sequence

_RUN = re.compile(r"([^\S\n]*\n\s*)(\S{1,8})")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»)\]]*\s*$")
_FIRST = re.compile(r"\S{1,8}")
# So many overlaps at least have to begin behind a sentence to call it a splitter of sentences.
_ENOUGH = 2


class Gaps:
    """What the chunks of one file tell of their joints.

    `longest` is the longest overlap seen, and `before` what stands in chunks before their
    overlaps.
    """

    def __init__(self, chunks: Sequence[str], longest: int, before: Sequence[str]) -> None:
        self._chunks = chunks
        self._runs = Counter(found for chunk in chunks for found in _RUN.findall(chunk))
        self._size = max(map(len, chunks))
        self._longest = longest or self._size // 5
        in_line = [text for text in before if "\n" not in text[len(text.rstrip()) :]]
        self._sentences = len(in_line) >= _ENOUGH and all(map(_SENTENCE_END.search, in_line))

    def between(self, left: str, right: str) -> str:
        if self._sentences:
            return self._between_sentences(left, right)
        return self._between_lines(right, "\n\n" if self._ends_paragraph(left, right) else "\n")

    def _ends_paragraph(self, left: str, right: str) -> bool:
        """Whether the splitter was at paragraphs here, and not already at lines."""
        if "\n\n" in left or "\n\n" in right or not self._runs:
            return True
        # Two lines that fit into one chunk, and are not in one, are not of one paragraph.
        if len(left) + 1 + len(right.partition("\n")[0]) <= self._size:
            return True
        # A line that is short enough to be overlap, and is not, ended its paragraph.
        if len(left) - left.rfind("\n") <= self._longest:
            return True
        return "\n" not in left + right and any("\n\n" in run for run, _ in self._runs)

    def _between_lines(self, right: str, least: str) -> str:
        """The commonest run of the kind, before the same word if that is known."""
        word = _FIRST.search(right)
        kind = {
            found: count
            for found, count in self._runs.items()
            if ("\n\n" in found[0]) == (least == "\n\n")
        }
        same = Counter[str]()
        every = Counter[str]()
        for (run, follows), count in kind.items():
            every[run] += count
            if word and follows == word.group():
                same[run] += count
        ranked = (same or every).most_common(1)
        return ranked[0][0] if ranked else least

    def _between_sentences(self, left: str, right: str) -> str:
        """What stands between the same two characters elsewhere, or one blank.

        Scripts that put no blanks between sentences may have none here.
        """
        least = "+" if left[-1:].isascii() and right[:1].isascii() else "*"
        pair = re.compile(f"{re.escape(left[-1:])}(\\s{least}){re.escape(right[:1])}")
        found = Counter(run for chunk in self._chunks for run in pair.findall(chunk))
        return found.most_common(1)[0][0] if found else " "
