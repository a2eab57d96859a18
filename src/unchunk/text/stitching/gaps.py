"""What stood between two chunks that share nothing and were stripped: a guess, named as one.

Splitters that look for paragraphs, lines and sentences drop the white space where they
split. Which it was can be read, often, from how the chunks look inside.
"""

import re
from collections import Counter
from collections.abc import Sequence

_RUN = re.compile(r"[^\S\n]*\n\s*")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»)\]]*\s*$")


class Gaps:
    """What the chunks of one file tell of their joints.

    `longest` is the longest overlap seen, and `in_line` the parts of chunks before their
    overlaps, so far as those begin inside a line.
    """

    def __init__(self, chunks: Sequence[str], longest: int, in_line: Sequence[str]) -> None:
        runs = Counter(run for chunk in chunks for run in _RUN.findall(chunk))
        self._line = _most_common(runs, lines=1) or "\n"
        self._paragraph = _most_common(runs, lines=2)
        self._lines = any("\n" in run for run in runs)
        self._longest = longest or max(map(len, chunks)) // 5
        ends = [bool(_SENTENCE_END.search(before)) for before in in_line]
        self._sentences = bool(ends) and sum(ends) * 2 > len(ends)

    def between(self, left: str, right: str) -> str:
        if self._sentences:
            return "" if left[-1:] in "。！？" else " "
        paragraph = self._paragraph or "\n\n"
        if "\n\n" in left or "\n\n" in right:
            return paragraph
        # A line that is short enough to be overlap, and is not, ended its paragraph.
        if len(left) - left.rfind("\n") <= self._longest:
            return paragraph
        return self._line if "\n" in left + right or not self._paragraph else paragraph


def _most_common(runs: Counter[str], lines: int) -> str | None:
    fitting = {run: n for run, n in runs.items() if min(run.count("\n"), 2) == lines}
    return max(fitting, key=lambda run: (fitting[run], -len(run)), default=None)
