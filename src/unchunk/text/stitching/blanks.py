"""White space that a splitter dropped, of which the length is known: a guess, as in `gaps`."""

import re
from collections import Counter
from collections.abc import Sequence

from unchunk.text.stitching.gaps import Gaps

_RUN = re.compile(r"(?<=(\S))(\s+)(?=(\S{1,8}))")
_WORD = re.compile(r"\S{1,8}")
_INDENT = re.compile(r"\n([^\S\n]+)")
_END = r"[.!?。！？…][\"'”’»)\]]*"
_SENTENCE, _SENTENCE_END = re.compile(rf"{_END}(?:\s|$)"), re.compile(f"{_END}$")
# So many joints at least have to lie behind sentences to call it a splitter of sentences, and
# none where a sentence more would have gone into this part of the largest chunk.
_ENOUGH = 3
_ROOM = 0.85


class Blanks:
    """What the chunks of one file tell of their joints; `apart` are those that do not touch."""

    def __init__(self, chunks: Sequence[str], gaps: Gaps, apart: Sequence[tuple[str, str]]) -> None:
        self._gaps = gaps
        # By their length and what stands on both sides, or behind them, or anything.
        self._seen: dict[tuple[int, str, str], Counter[str]] = {}
        for chunk in chunks:
            for before, run, word in _RUN.findall(chunk):
                for key in _keys(before, word):
                    self._seen.setdefault((len(run), *key), Counter())[run] += 1
        self._indents: Counter[str] = Counter(
            indent for chunk in chunks for indent in _INDENT.findall(chunk)
        )
        room = max(map(len, chunks)) * _ROOM
        self._sentences = len(apart) >= _ENOUGH and all(
            _SENTENCE_END.search(left) and len(left) + _first_sentence(right) > room
            for left, right in apart
        )

    def between(self, left: str, right: str, length: int) -> str:
        guess = " " if self._sentences else self._gaps.between(left, right)
        if len(guess) == length and not self._sentences:
            return guess
        word = _WORD.match(right)
        for key in _keys(left[-1:], word.group() if word else ""):
            if runs := self._seen.get((length, *key)):
                if self._sentences:
                    return runs.most_common(1)[0][0]
                same = _lines(guess)
                return max(runs, key=lambda run: (_lines(run) == same, "\n" in run, runs[run]))
        return self._made(length) if "\n" in guess else " " * length

    def _made(self, length: int) -> str:
        """What no chunk shows: empty lines, and indentation if there is any such."""
        for lines in (2, 1):
            fitting = [it for it in self._indents if len(it) == length - lines]
            if fitting:
                return "\n" * lines + max(fitting, key=self._indents.__getitem__)
        return "\n" * length


def _keys(before: str, word: str) -> tuple[tuple[str, str], ...]:
    return (before, word), ("", word), ("", "")


def _lines(run: str) -> int:
    """Within a line, between lines, or between paragraphs."""
    return min(2, run.count("\n"))


def _first_sentence(text: str) -> int:
    """How long it is."""
    end = _SENTENCE.search(text)
    return end.end() if end else len(text)
