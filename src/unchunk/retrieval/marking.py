"""What keeps a document's own words apart from ours: marks, citations, fences, a tag for them.

A text may contain what looks like one of our marks. It is shown as it is; instead, ours carry
a tag that occurs in none of the texts, and whoever reads them is told the tag. Knows nothing
of chunks or documents.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256

_SHORTEST_TAG = 4

# Signs that pass for ours, to a person or to a model.
_OPEN = "[⁅⌈⌊⎡⎢⎣❲⟦⟬⦋⦍⦏⸢⸤⹕「『【〔〖〘〚︗︹︻﹁﹃﹇﹝［｢"
_CLOSE = "]⁆⌉⌋⎤⎥⎦❳⟧⟭⦌⦎⦐⸣⸥⹖」』】〕〗〙〛︘︺︼﹂﹄﹈﹞］｣"
_LESS = "<«‹˂ᐸ≪⋘〈❬❮❰⟨⟪⦑⧼〈《︽︿﹤＜"
_MORE = ">»›˃ᐳ≫⋙〉❭❯❱⟩⟫⦒⧽〉》︾﹀﹥＞"
_DOT = ".·•․‥…‧∙⋅⋯۔܁܂᛫⸱。・ꞏ︙﹒．｡･"
_SEVERAL_DOTS = "‥…⋯︙"
_COLON = ":ː׃։܃܄⁚∶⸬ꓽ꞉︓︰﹕："
# Digits, and what is read as one: fractions, raised, circled and numbered signs.
_DIGIT = (
    r"\d\xb2\xb3\xb9\xbc-\xbe\u2070\u2074-\u2089\u2150-\u215f\u2189\u2460-\u249b\u24ea"
    r"\u3251-\u325f\u32b1-\u32cb\u3358-\u3370\u33e0-\u33fe\U0001f100-\U0001f10a"
)
_SOURCE = ("Ss", "Oo", "Uu", "Rr", "Cc", "Ee")
_SOURCE_ALIKE = ("ЅѕＳｓ", "ОоΟοＯｏ", "υＵｕ", "Ｒｒ", "СсϹϲＣｃ", "ЕеΕＥｅ")
# What may stand inside a mark without being seen: control characters, characters of no width,
# accents; and white space.
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\u2800\u3164"
    r"\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef"
)


def _forgery(*, ascii_only: bool) -> re.Pattern[str]:
    """What looks like a mark. Most texts are ASCII, and narrow classes are read much faster."""

    def signs(alike: str) -> str:
        return re.escape(alike[0] if ascii_only else alike)

    opening, closing, less, more = map(signs, (_OPEN, _CLOSE, _LESS, _MORE))
    dot = f"[{signs(_DOT)}]"
    unseen = r"[\s\x00-\x1f\x7f]*+" if ascii_only else rf"[\s{_UNSEEN}]*+"
    gap = f"{dot}{unseen}{dot}" if ascii_only else f"{dot}{unseen}{dot}|[{_SEVERAL_DOTS}]"
    digit = r"\d" if ascii_only else f"[{_DIGIT}]"
    citation = rf"[^\n{opening}{closing}]{{0,200}}?[{signs(_COLON)}]{unseen}{digit}"
    alike = ("",) * len(_SOURCE) if ascii_only else _SOURCE_ALIKE
    letters = (f"[{one}{more}]" for one, more in zip(_SOURCE, alike, strict=True))
    source = f"{unseen.join(letters)}{unseen}[{signs(_COLON)}]"
    # One class for all that a mark begins or ends with, so that a text is read once.
    return re.compile(
        rf"[{opening}{closing}{less}{more}]"
        rf"(?:(?<=[{opening}]){unseen}(?:{gap}|{citation}|{source})"
        rf"|(?<=[{less}]){unseen}(?:[{less}]|[Ee][Vv][Ii][Dd][Ee][Nn][Cc][Ee])"
        rf"|(?<=[{more}]){unseen}[{more}]"
        rf"|(?<={dot}{dot}[{closing}])|(?<={dot}{dot}\s[{closing}]))"
    )


_IN_ASCII = _forgery(ascii_only=True)
_SIGNS = _OPEN[0] + _CLOSE[0] + _LESS[0] + _MORE[0]
_IN_ANY = _forgery(ascii_only=False)
# The same in words, whatever stands around them.
_IN_WORDS = (
    (b"omitted", re.compile(rb"chunk.{0,80}?omitted", re.DOTALL)),
    (b"evidence", re.compile(rb"evidence[^\n]{0,40}?>")),
)

# Letters of other alphabets that pass for those of a tag.
_TWINS = dict(zip("аɑαƅьсϲⅽԁⅾеҽєεғϝ", "aaabbcccddeeeeff", strict=True))
_TWIN = re.compile(f"[{''.join(_TWINS)}]")
_CONTROLS = bytes((*range(32), 127))
_UNSEEN_RUN = re.compile(f"[{_UNSEEN}]+")

_LONGEST_NAME = 160
_PLAIN = str.maketrans("[]", "()")
_PLAINER = str.maketrans(dict.fromkeys(_OPEN + _LESS, "(") | dict.fromkeys(_CLOSE + _MORE, ")"))
# What would end a citation before its time, or cannot be sent.
_BREAKING = re.compile(r"[\[\]\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def tag_for(texts: Iterable[str]) -> str:
    """Empty where no text has anything that looks like a mark of ours, however disguised.

    Otherwise a tag that is in none of them, disguised or not: it comes from the texts
    themselves, so that it is the same whenever they are, and whoever wrote one of them could
    not put it in.
    """
    texts = list(texts)
    if not any(map(_has_forgery, texts)):
        return ""
    digest = sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    bare = [_bare(text) for text in texts]
    whole = digest.hexdigest()
    # No text has its own digest in it, so that at the latest the whole of it is free.
    tags = (whole[:length] for length in range(_SHORTEST_TAG, len(whole) + 1))
    return next(tag for tag in tags if not any(tag in text for text in bare))


def gap_mark(
    first: int, last: int, tag: str = "", headings: Sequence[str] = (), more_headings: int = 0
) -> str:
    """What stands for chunks that were left out, with the headings that stand there.

    Where the numbers leave none (`last` is `first` - 1), it is text that no chunk has.
    `more_headings` is how many stand there beside those that are named.
    """
    outline = _outline(headings, more_headings)
    if last < first:
        return _mark(f"text between chunks {last} and {first} omitted", tag, outline)
    return _mark(f"{_chunks(first, last)} omitted", tag, outline)


def cut_mark(
    first: int,
    last: int,
    tag: str = "",
    headings: Sequence[str] = (),
    more_headings: int = 0,
    *,
    rest: bool = False,
    beginning: bool = False,
) -> str:
    """What stands for chunks of which the first or the last is shown in part.

    Of the first, the `rest` is left out; of the last, the `beginning`.
    """
    inner = first + rest, last - beginning
    parts = [f"rest of chunk {first}"] if rest else []
    parts += [_chunks(*inner)] if inner[0] <= inner[1] else []
    parts += [f"beginning of chunk {last}"] if beginning else []
    said = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return _mark(f"{said} omitted", tag, _outline(headings, more_headings))


def rest_mark(chunk: int, tag: str = "") -> str:
    """What stands for the end of a chunk that had to be cut."""
    return cut_mark(chunk, chunk, tag, rest=True)


def notes_mark(tag: str = "") -> str:
    """Mark where notes on a document end before their time."""
    return _mark("rest of these notes omitted", tag)


def source_mark(words: str, tag: str = "") -> str:
    """What stands before a document's text; `words` are such as `named` gives."""
    return f"[Source: {words}, mark {tag}]" if tag else f"[Source: {words}]"


def note_mark(words: str, tag: str = "") -> str:
    """What is said of the documents that are shown; `words` are such as `named` gives."""
    return f"[Note: {words}, mark {tag}]" if tag else f"[Note: {words}]"


def citation(document: str, chunk_index: int, tag: str = "") -> str:
    """Where the text before it comes from. In an answer it stands without the tag."""
    written = f"[{cited_id(document)}:{chunk_index}]"
    return f"{written} (mark {tag})" if tag else written


def cited_id(document: str) -> str:
    """The id as it stands in citations: what would break one is written as in a URL."""
    return _BREAKING.sub(
        lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode("utf-8", "surrogatepass")),
        document,
    )


def named(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name as it may stand in a mark: on one line, without brackets, and not too long."""
    name = "".join(sign if sign.isprintable() else " " for sign in name)
    name = " ".join(name.split()).translate(_PLAIN)
    if _has_forgery(name):
        name = name.translate(_PLAINER)
    return name if len(name) <= longest else f"{name[: longest - 3]}..."


def fence(text: str, tag: str = "") -> str:
    """`text` as data between two lines of ours; with the tag for it, it cannot close the fence."""
    name = f"evidence {tag}" if tag else "evidence"
    return f"<<<{name}\n{text}\n{name}>>>"


def _chunks(first: int, last: int) -> str:
    return f"chunk {first}" if first == last else f"chunks {first}-{last}"


def _outline(headings: Sequence[str], more: int) -> str:
    named_here = [words for one in headings if (words := named(one))]
    if not named_here:
        return ""
    others = f"; and {more} more" if more else ""
    return f"; headings there: {'; '.join(named_here)}{others}"


def _mark(words: str, tag: str, more: str = "") -> str:
    return f"[... {words}, mark {tag}{more} ...]" if tag else f"[... {words}{more} ...]"


def _has_forgery(text: str) -> bool:
    if text.isascii():
        # Most texts have none of the signs, and to tell that takes a tenth of the time.
        if any(sign in text for sign in _SIGNS) and _IN_ASCII.search(text):
            return True
    elif _IN_ANY.search(text):
        return True
    small = text.encode("utf-8", "surrogatepass").lower()
    return any(word in small and bool(pattern.search(small)) for word, pattern in _IN_WORDS)


def _bare(text: str) -> str:
    """The text without its disguises: case, accents, unseen characters, letters' twins."""
    if text.isascii():
        return text.lower().encode("ascii").translate(None, _CONTROLS).decode("ascii")
    text = _UNSEEN_RUN.sub("", unicodedata.normalize("NFKD", text).casefold())
    return _TWIN.sub(lambda twin: _TWINS[twin[0]], text)
