"""`source:name` tags in a question: which documents a person asks for by name."""

import re
from unicodedata import normalize

# Longer than the paths that people write; keeps the end of an open quote from being sought
# through the whole text, once for every tag.
_LONGEST = 512
_QUOTES = (
    *(('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("„", "”"), ("‚", "‘")),
    *(("”", "”"), ("’", "’"), ("«", "»"), ("»", "«"), ("‹", "›"), ("「", "」"), ("『", "』")),
)
_TAG = r"source[:：](?=[^\s:：=])(?!//)"
# With a blank behind the colon, "source: John" is prose; only a name with an extension is a tag.
_APART = r"(?P<apart>source[:：][^\S\n]{1,3})(?=[^\s:：=])(?!//|source[:：])"
_EXTENSION = re.compile(r"(?s)(?!.*://).*[^\W_]\.(?=[0-9]*[^\W\d_])[^\W_]{2,10}\Z")
# Behind a name with an extension, these end it even where no blank follows.
_CLOSING = "，。；、：？！"
# A closing quote of these before a letter is an apostrophe.
_APOSTROPHES = "'’"
_QUOTED = "|".join(
    rf"{opening}(?=\S)(?:[^{closing}\n]|[{_APOSTROPHES}](?=\w)){{1,{_LONGEST}}}+{closing}"
    for opening, closing in _QUOTES
)
_SOURCE = re.compile(
    rf"(?<![^\s(\[,;`\"'“‘„«、，；。])(?:{_TAG}|{_APART})"
    # Two tags with nothing but a comma between them are two.
    rf"(?:(?P<quoted>{_QUOTED})|(?P<bare>(?:(?![,;，；、]{_TAG})\S){{1,{_LONGEST}}}?"
    rf"\.(?=[0-9]*[^\W\d_])[^\W_]{{2,10}}[{_CLOSING}]+(?!{_TAG})"
    rf"|(?:(?![,;，；、]{_TAG})\S)++))",
    re.IGNORECASE,
)
_BARE_TAGS = ("source:", "source：")
_BETWEEN = re.compile(
    r"[\s,;&+、，；]*+(?:(?:and|or|with|to|vs\.?|versus)\b[\s,;&+、，；]*+)?", re.IGNORECASE
)
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<", "`": "`", '"': '"', "'": "'", "”": "“"}
_BRACKETS = ")]}>"
# What ends a sentence stays in it; what only parted the name from the next word goes.
_ENDS = ".!?…。！？｡\"'“”‘’«»」』"
_PARTS = ",;:·、，；：`*"
_WORD = re.compile(r"\w")
_JOINS = re.compile(r"[\w:：]")


def take_tags(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its tags, and the names in them, each once, in their order.

    A name with spaces stands in quotes. Punctuation behind a bare name belongs to the
    sentence. A tag begins a word, and a blank behind its colon is allowed before a name with an
    extension: `source: rules.md` is a tag, while `source: x`, `resource:x`, `--source:x` and what
    stands in an address are text. With a tag, the blank space before it is removed, and so are
    brackets that held nothing else and what only joins it to another tag.
    """
    names: dict[str, None] = {}
    kept: list[str] = []
    done = 0
    for tag in _SOURCE.finditer(text):
        name, tail = _name_and_tail(tag)
        if not _WORD.search(name) or (tag["apart"] and not _EXTENSION.match(name)):
            continue
        before, end = _without_orphan(text[done : tag.start()]), tag.end()
        before = "" if names and _BETWEEN.fullmatch(before) else before.rstrip()
        if not tail and _OPENING.get(text[end : end + 1]) == before[-1:]:
            tail, end = text[end], end + 1
        if tail and before and _OPENING.get(tail[0]) == before[-1]:
            before, tail = before[:-1].rstrip(), tail[1:]
        tail = tail.strip(_PARTS) if kept or before else ""
        # Without a gap, what is left could read as another word, or as another tag.
        gap = " " if _JOINS.match(text, end) or before.endswith((":", "：")) else ""
        kept.append(before + tail + gap)
        names[normalize("NFC", name)] = None
        done = end
    if not names:
        return text.strip(), ()
    rest = ("".join(kept) + text[done:]).strip()
    return (rest if _WORD.search(rest) else ""), tuple(names)


def _without_orphan(before: str) -> str:
    """The text without a "source:" at its end, which would make a tag of what follows the next."""
    end = len(before.rstrip())
    while before[max(0, end - 7) : end].casefold() in _BARE_TAGS:
        if end > 7 and before[end - 8].isalnum():
            break
        end -= 7
        while end and before[end - 1].isspace():
            end -= 1
        before = before[:end]
    return before


def _name_and_tail(tag: re.Match[str]) -> tuple[str, str]:
    """The name, and what stands behind it that belongs to the sentence."""
    if tag["quoted"]:
        return tag["quoted"][1:-1].strip(), ""
    bare: str = tag["bare"]
    length = len(bare.rstrip(_ENDS + _PARTS + _BRACKETS))
    # A bracket that the name itself has opened is its own: report(1).
    for bracket in bare[length:]:
        if bracket not in _BRACKETS or not _is_open(bare, length, bracket):
            break
        length += 1
    return bare[:length].lstrip("\"'“‘„‚«‹「『"), bare[length:]


def _is_open(bare: str, length: int, bracket: str) -> bool:
    # A name that has more of them than this is none, and would cost the square of its length.
    start = max(0, length - _LONGEST)
    return bare.count(_OPENING[bracket], start, length) > bare.count(bracket, start, length)
