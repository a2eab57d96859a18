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
        # The white space of each kind, by the word behind it, and "" for any word.
        self._runs: dict[tuple[bool, str], Counter[str]] = {}
        for chunk in chunks:
            for run, word in _RUN.findall(chunk):
                for key in (("\n\n" in run, word), ("\n\n" in run, "")):
                    self._runs.setdefault(key, Counter())[run] += 1
        self._pairs: dict[tuple[str, str], str] = {}
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
        return "\n" not in left + right and (True, "") in self._runs

    def _between_lines(self, right: str, least: str) -> str:
        """The commonest run of the kind, before the same word if that is known."""
        word, kind = _FIRST.match(right), least == "\n\n"
        runs = self._runs.get((kind, word.group())) if word else None
        runs = runs or self._runs.get((kind, ""))
        return runs.most_common(1)[0][0] if runs else least

    def _between_sentences(self, left: str, right: str) -> str:
        """What stands between the same two characters elsewhere, or one blank.

        Scripts that put no blanks between sentences may have none here.
        """
        edges = left[-1:], right[:1]
        if edges not in self._pairs:
            self._pairs[edges] = self._usual_between(*edges)
        return self._pairs[edges]

    def _usual_between(self, left: str, right: str) -> str:
        least = "+" if left.isascii() and right.isascii() else "*"
        pair = re.compile(f"{re.escape(left)}(\\s{least}){re.escape(right)}")
        found = Counter(run for chunk in self._chunks for run in pair.findall(chunk))
        return found.most_common(1)[0][0] if found else " "
