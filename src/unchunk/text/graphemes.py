r"""Where a text may be cut without cutting what a reader sees as one character.

A grapheme cluster is what `regex` matches as `\X`: a letter with its accents, a flag, a
family of emoji, CR LF. Each question is answered by a look at the place in question, back
to a border that is already known, so a caller that walks forward pays for each character once.
"""

import re

import regex  # ships no types

# Any two of these that meet have a border between them: Latin, Greek, Cyrillic, general
# punctuation, kana, Han, Hangul syllables. Most cuts in most texts are settled by this class alone.
_PLAIN = (
    r"\x00-\x0c\x0e-\u02ff\u0370-\u0482\u048a-\u0529\u2010-\u2027\u2030-\u205e"
    r"\u3000-\u3029\u3041-\u3096\u30a0-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
)
_TWO_PLAIN = re.compile(f"[{_PLAIN}]{{2}}")
# Tried where most of the time goes: a match at `offset - 1` means that `offset` is a border.
two_plain = _TWO_PLAIN.match
_NOT_PLAIN = re.compile(f"[^{_PLAIN}]")

_EXTENDERS = r"\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}"
# The first may be joined to what follows it, or what follows it to what precedes it.
_JOINERS = (
    r"\r\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=Prepend}\p{GCB=Regional_Indicator}"
    r"\p{GCB=L}\p{GCB=V}\p{GCB=T}\p{GCB=LV}\p{GCB=LVT}"
)
# Read backwards: the last two characters with a border between them, whatever stands before.
_SURE_BORDER = regex.compile(rf"(?r)[^{_JOINERS}][^{_EXTENDERS}]")
# `\X` alone counts back over all regional indicators at each of them: quadratic on flags.
_CLUSTER = regex.compile(rf"\p{{GCB=Regional_Indicator}}{{2}}[{_EXTENDERS}]*+|\X")


def always_whole(text: str) -> bool:
    """Whether any cut of `text` is a border; False means only that one has to look."""
    return text.isascii() and "\r" not in text


def surely_apart(before: str, after: str) -> bool:
    """Whether each character of `before` has a border between itself and any of `after`.

    It judges many cuts at once. False means only that one has to look at each.
    """
    return not (_NOT_PLAIN.search(before) or _NOT_PLAIN.search(after))


def border_before(text: str, offset: int, known: int = 0) -> int:
    """The last border at or before `offset`; `known` is a border at or before it."""
    if offset <= known:
        return known
    if _TWO_PLAIN.match(text, offset - 1):
        return offset
    if offset >= len(text):
        return len(text)
    sure = _SURE_BORDER.search(text, known, offset + 1)
    border: int = sure.start() + 1 if sure else known
    while (following := _cluster_end(text, border)) <= offset:
        border = following
    return border


def border_after(text: str, offset: int, known: int = 0) -> int:
    """The first border at or after `offset`; `known` is a border at or before it."""
    border = border_before(text, offset, known)
    return border if border >= offset else _cluster_end(text, border)


def _cluster_end(text: str, start: int) -> int:
    end: int = _CLUSTER.match(text, start).end()
    return end
