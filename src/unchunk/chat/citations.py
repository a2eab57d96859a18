"""Finds the citations of an answer while it streams, and checks them against what was sent.

What counts as a citation is a bracket with parts such as `id:3`, `id:3-5` or, behind another
part, `4` alone, with `,`, `;` or `&` between them:

- if one of its ids is that of a document that was sent, whatever signs that id is made of;
- if one of its ids looks like one that was made by us or by another program (16 of our letters,
  a UUID, other hex), sent or not;
- otherwise only if it is written exactly as we ask for, `[word:3]` with no blank before the
  number. Then somebody invented it, or it is something else: the word needs a letter, and the
  bracket may stand neither directly behind a name (`x[i:1]` is code) nor before `(` (a link).

So `[note: 5 items]`, `[10:30]`, `[1:2]` and `[^1]` are prose, unless a document is called so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from unchunk.chat.events import Cited, Token
from unchunk.chat.sent import Sent, looks_made

# A longer bracket is none of ours; only long ids make this larger.
_LONGEST = 1000
_LONGEST_WORD = 200
_B = r"[^\S\n]{0,3}+"
_DASH = r"[-\u2010-\u2015]"
_NUMBER = "[0-9]{1,15}+"
_NUMBERS = rf"(?P<first>{_NUMBER})(?:{_B}{_DASH}{_B}(?P<last>{_NUMBER}))?+(?={_B}[],;&])"
_WORD = re.compile(rf"\w[^][\s(){{}}<>\"'`“”,;:&|*^]{{0,{_LONGEST_WORD - 1}}}+")
_BEHIND_ID = re.compile(rf"(?P<colon>{_B}:{_B}){_NUMBERS}")
_ALONE = re.compile(_NUMBERS)
_BLANKS = re.compile(_B)
_BETWEEN = re.compile(rf"{_B}(?:(?P<close>])|[,;&])")
# The same where the text ends before they do.
_NUMBERS_BEGUN = rf"(?:{_NUMBER}{_B}(?:{_DASH}{_B}(?:{_NUMBER}{_B})?+)?+)?+\Z"
_BEHIND_ID_BEGUN = re.compile(rf"{_B}(?::{_B}{_NUMBERS_BEGUN}|\Z)")
_ALONE_BEGUN = re.compile(_NUMBERS_BEGUN)
_LETTER = re.compile(r"[^\W\d_]")
_NAME_END = re.compile(r"[A-Za-z0-9_)\]]")

# yes and no do not change, whatever follows; more: it depends on that.
_Verdict = Literal["yes", "no", "more"]


class _Part(NamedTuple):
    """`[at, end)` of its bracket; `first` is `last` where it is no range."""

    at: int
    end: int
    document: str
    first: int
    last: int
    is_tight: bool


@dataclass(slots=True)
class _Bracket:
    """A bracket as far as it was read, which is up to `at`; offsets begin where it does."""

    at: int = 1
    is_closed: bool = False
    parts: list[_Part] = field(default_factory=list)


class CitationChecker:
    """Takes an answer in pieces, cut anywhere, and gives all of it back with its citations.

    The tokens, joined, are what was fed so far, less what may yet turn out to be a citation:
    that is at most 1000 characters, or a little more than the longest id. The time is linear.

    A `Cited` follows the token that holds its last character. In a bracket of one part it is the
    whole bracket, in one of several it is its own part without brackets. Of a range, each chunk
    that was sent is one of its own, at the same place, and one stands for all that were not.
    """

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        # Ids with signs in them that no word has, by their first sign, the longest first.
        odd = sorted((one for one in sent.ids if not _WORD.fullmatch(one)), key=len, reverse=True)
        self._longest = max([_LONGEST, *(len(one) + 100 for one in odd[:1])])
        self._odd: dict[str, list[str]] = {}
        for one in odd:
            self._odd.setdefault(one[:1], []).append(one)
        # What is held back begins with this bracket, and is `answer[self._at:]`.
        self._held, self._bracket, self._at = "", _Bracket(), 0
        self._before = ""
        self._last_end = -1

    def feed(self, text: str) -> Iterator[Token | Cited]:
        return iter(self._take(text, is_over=False))

    def finish(self) -> Iterator[Token | Cited]:
        """What was held back, now that nothing follows it."""
        return iter(self._take("", is_over=True))

    def _take(self, new: str, *, is_over: bool) -> list[Token | Cited]:
        text, bracket = self._held + new, self._bracket
        out: list[Token | Cited] = []
        told = 0
        place = text.find("[")
        while place >= 0:
            verdict = self._judge(bracket, text, place, is_over=is_over)
            if verdict == "more":
                break
            behind = place + (bracket.at if verdict == "yes" else 1)
            if verdict == "yes":
                out.append(Token(text[told:behind]))
                out += self._cited(bracket, text, place)
                told, self._last_end = behind, self._at + behind
            bracket, place = _Bracket(), text.find("[", behind)
        rest = len(text) if place < 0 else place
        if told < rest:
            out.append(Token(text[told:rest]))
        self._held, self._bracket = text[rest:], bracket
        self._before = text[rest - 1] if rest else self._before
        self._at += rest
        return out

    def _cited(self, bracket: _Bracket, text: str, place: int) -> Iterator[Cited]:
        for part in bracket.parts:
            at, end = (0, bracket.at) if len(bracket.parts) == 1 else part[:2]
            written = text[place + at : place + end]
            for one in self._sent.resolve_range(part.document, part.first, part.last):
                yield Cited(
                    written,
                    self._at + place + at,
                    self._at + place + end,
                    one.state,
                    one.document,
                    one.chunk_index,
                    one.name,
                    one.start,
                    one.end,
                    one.first_page,
                    one.last_page,
                    one.heading_path,
                )

    def _judge(self, bracket: _Bracket, text: str, place: int, *, is_over: bool) -> _Verdict:
        """Whether the bracket at `place` is a citation."""
        verdict = self._read(bracket, text, place, is_over=is_over)
        if verdict != "yes":
            return verdict
        for part in bracket.parts:
            if self._sent.identify(part.document) is not None or looks_made(part.document):
                return "yes"
        if not all(part.is_tight and _LETTER.search(part.document) for part in bracket.parts):
            return "no"
        before = text[place - 1] if place else self._before
        if _NAME_END.match(before) and self._last_end != self._at + place:
            return "no"
        behind = place + bracket.at
        if behind == len(text):
            return "yes" if is_over else "more"
        return "no" if text[behind] == "(" else "yes"

    def _read(self, bracket: _Bracket, text: str, place: int, *, is_over: bool) -> _Verdict:
        """Read on to the bracket's end. What was read once is not read again."""
        stop = min(place + self._longest, len(text))
        is_over = is_over or stop == place + self._longest
        while not bracket.is_closed:
            part = self._part(bracket, text, place, stop, is_over=is_over)
            if part is None or isinstance(part, str):
                return part or "no"
            between = _BETWEEN.match(text, place + part.end, stop)
            assert between, "a part ends before one of these"
            bracket.parts.append(part)
            bracket.at = between.end() - place
            bracket.is_closed = bool(between["close"])
        return "yes"

    def _part(
        self, bracket: _Bracket, text: str, place: int, stop: int, *, is_over: bool
    ) -> _Part | Literal["more"] | None:
        """The part behind what was read, as far as `stop`; the longest id that fits is meant."""
        begin = place + bracket.at
        start = _end(_BLANKS, text, begin, stop)
        for at, end in self._ids(text, begin, start, stop):
            if end >= stop:
                if not is_over:
                    return "more"
            elif found := _BEHIND_ID.match(text, end, stop):
                is_tight = found["colon"] == ":"
                return _part_of(found, place, at, text[at:end], is_tight=is_tight)
            elif not is_over and _BEHIND_ID_BEGUN.match(text, end, stop):
                return "more"
        if bracket.parts:
            if found := _ALONE.match(text, start, stop):
                document = bracket.parts[-1].document
                return _part_of(found, place, start, document, is_tight=True)
            if not is_over and _ALONE_BEGUN.match(text, start, stop):
                return "more"
        return None

    def _ids(self, text: str, begin: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Where an id may stand, behind blanks or with them; one that is not all there ends later."""
        for at in (begin, start) if begin < start else (start,):
            for one in self._odd.get(text[at : at + 1], ()):
                end = at + len(one)
                if one.startswith(text[at:stop]) if end > stop else text.startswith(one, at):
                    yield at, end
        if start == stop:
            yield start, stop
        elif word := _WORD.match(text, start, stop):
            yield word.span()


def citations(text: str, sent: Sent) -> list[Cited]:
    """All citations of a whole text."""
    checker = CitationChecker(sent)
    events = (*checker.feed(text), *checker.finish())
    return [event for event in events if isinstance(event, Cited)]


def _end(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return found.end() if found else start


def _part_of(
    numbers: re.Match[str], place: int, at: int, document: str, *, is_tight: bool
) -> _Part:
    first = int(numbers["first"])
    last = int(numbers["last"] or first)
    return _Part(
        at - place, numbers.end() - place, document, min(first, last), max(first, last), is_tight
    )
