"""Which document somebody means by a file name. Nothing is guessed where several could be meant."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Literal
from unicodedata import normalize

from unchunk.retrieval.words import UNSPACED

_SUGGESTED = 3
_SHORTLIST = 50
_NEAR = 0.6
_COMPARED = 256
_SEPARATORS = re.compile(r"[\W_]+")
# No path that a system allows is longer.
_LONGEST = 4_096
_EXTENSION = re.compile(r"\.[^./\s]{1,10}\Z")
# A name that stands further back in a question is not looked for.
_READ = 10_000
# Letters of a script without blanks go on behind an extension of other letters.
_GOES_ON = rf"(?:(?![^\W_])|(?<=[A-Za-z0-9])(?={UNSPACED.pattern}))"
# Not "e.g.", "3.5" or "U.S.".
_FILE = re.compile(
    rf"(?:[\w)\]]\.(?=[0-9]*[^\W\d_])[^\W_]{{2,10}}|[^\W_]{{2}}\.[^\W\d_]){_GOES_ON}"
)
_TAG_WITH_BLANK = re.compile(r"(?i)\bsource[:：]\s?[^\s\"'“‘„«]+[^\S\n]")
_TAG_BEFORE = re.compile(r"(?i)\b(?P<tag>source[:：])[^\S\n]{0,3}\Z")
# A character with its accents.
_CLUSTER = re.compile(r"(?s).[\u0300-\u036f]*")

_Rule = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """What a name led to. `names` is the one found, or the several candidates, or what is near.

    `how` tells by which rule: the same name, the same but for case, or a part of it.
    """

    wanted: str
    result: Literal["found", "several", "none"]
    names: tuple[str, ...] = ()
    how: Literal["exact", "case", "partial", "near"] = "near"


def match_names(wanted: str, names: Sequence[str]) -> NameMatch:
    """Use the first rule that any name matches, even if several do.

    The rules: the same name; the same apart from case and how accents are written; then a part of
    the name: the end of its path, the name without its extension, the name whatever separates its
    words, and last any part of it. If several names match by a part, prefer the one with exactly
    this ending. A name that is asked for with another extension does not match. Equal names count
    once: whoever has several documents of one name must tell them apart.
    """
    known = tuple(dict.fromkeys(names))
    asked = _folded(wanted)
    if wanted in known:
        return NameMatch(wanted, "found", (wanted,), "exact")
    if not _bare(asked) or len(asked) > _LONGEST:
        return NameMatch(wanted, "none")
    folded = [(name, _folded(name)) for name in known]
    if met := [name for name, plain in folded if plain == asked]:
        return _matched(wanted, met, "case")
    for fits in (_ends_alike(asked), _lacks_extension(asked), _reads_alike(asked), _has(asked)):
        if met := [name for name, plain in folded if fits(plain)]:
            exact = [name for name in met if name.endswith(f"/{wanted}")]
            return _matched(wanted, exact if len(exact) == 1 else met, "partial")
    return NameMatch(wanted, "none", _nearest(asked, folded))


def _matched(wanted: str, met: Sequence[str], how: Literal["case", "partial"]) -> NameMatch:
    return NameMatch(wanted, "found" if len(met) == 1 else "several", tuple(met), how)


def _folded(name: str) -> str:
    plain = name.casefold()
    if not plain.isascii():
        plain = normalize("NFC", normalize("NFD", name).casefold())
    return plain.replace("\\", "/").removeprefix("./").strip("/ \t\n")


def _bare(folded: str) -> str:
    return _SEPARATORS.sub("", folded)


def _ends_alike(asked: str) -> _Rule:
    """One path may know more folders than the other."""
    tail = f"/{asked}"
    return lambda name: name.endswith(tail) or asked.endswith(f"/{name}")


def _lacks_extension(asked: str) -> _Rule:
    def fits(name: str) -> bool:
        return asked in name and f"/{_EXTENSION.sub('', name)}".endswith(f"/{asked}")

    return fits


def _reads_alike(asked: str) -> _Rule:
    """`chapter1` and `Chapter 1.txt`, `annual-report.pdf` and `reports/Annual Report.pdf`."""
    bare = _bare(asked)

    def fits(name: str) -> bool:
        if bare not in _bare(name):
            return False
        forms = (name, name.rpartition("/")[2])
        return any(bare in (_bare(one), _bare(_EXTENSION.sub("", one))) for one in forms)

    return fits


def _has(asked: str) -> _Rule:
    return lambda name: asked in name


def _nearest(asked: str, folded: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What may have been mistyped; compared closely only where the letters are much the same."""
    asked = asked[:_COMPARED]
    letters = set(asked)

    def shared(pair: tuple[str, str]) -> float:
        file = set(pair[1].rpartition("/")[2])
        return len(letters & file) / len(letters | file) if file else 0.0

    matcher = SequenceMatcher(b=asked, autojunk=False)

    def likeness(pair: tuple[str, str]) -> float:
        best = 0.0
        for form in {pair[1], pair[1].rpartition("/")[2]}:
            matcher.set_seq1(form[:_COMPARED])
            best = max(best, matcher.ratio())
        return best

    shortlist = nlargest(_SHORTLIST, folded, key=shared)
    rated = [(likeness(pair), pair[0]) for pair in shortlist]
    best = nlargest(_SUGGESTED, (one for one in rated if one[0] >= _NEAR), key=lambda one: one[0])
    return tuple(name for _, name in best)


@dataclass(frozen=True, slots=True)
class Mention:
    """A file name in a question, as it stands there from `start`, with the paths that it may mean."""

    text: str
    paths: tuple[str, ...]
    start: int


def mentions(question: str, paths: Sequence[str]) -> list[Mention]:
    """The names with an extension that stand in a question, quoted or not, in their order.

    A path is meant by itself, by its last part, or by any parts of its end. Case and how accents
    are written do not count. Where one name is the end of another, the longer one is meant.
    """
    if not may_mention(question):
        return []
    plain, places = _folded_places(question[:_READ])
    found: dict[tuple[int, int], list[str]] = {}
    for path in dict.fromkeys(paths):
        form = _folded(path)
        while _EXTENSION.search(form) and (form := form.strip("/ ")):
            at = plain.find(form)
            while at >= 0:
                if _stands_alone(plain, at, at + len(form)):
                    found.setdefault((at, at + len(form)), []).append(path)
                at = plain.find(form, at + 1)
            form = form.partition("/")[2]
    kept: list[Mention] = []
    behind = 0
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= behind:
            behind = end
            first = places[start].start
            text = question[first : places[end - 1].stop]
            kept.append(Mention(text, tuple(dict.fromkeys(found[start, end])), first))
    return kept


def with_quoted_tags(question: str, paths: Sequence[str]) -> str:
    """The question with quotes around names that have blanks and stand behind `source:`.

    In `source:Chapter 1.txt`, only the names of documents tell where the name ends.
    """
    if not may_have_blanks(question):
        return question
    done, parts = 0, []
    for mention in mentions(question, [path for path in paths if " " in path]):
        tag = _TAG_BEFORE.search(question, done, mention.start)
        if tag is not None:
            parts += [question[done : tag.end("tag")], f'"{mention.text}"']
            done = mention.start + len(mention.text)
    return "".join([*parts, question[done:]])


def may_have_blanks(question: str) -> bool:
    """Whether a `source:` tag without quotes may stand before a name with blanks in it."""
    return bool(_TAG_WITH_BLANK.search(question) and may_mention(question))


def may_mention(question: str) -> bool:
    """Whether anything in it has the form of a file name. Cheap, unlike listing all names."""
    return bool(_FILE.search(question))


def _folded_places(text: str) -> tuple[str, list[range]]:
    """The text as names are compared, and for each of its characters where it comes from."""
    signs: list[str] = []
    places: list[range] = []
    for cluster in _CLUSTER.finditer(text):
        plain = cluster[0].casefold()
        if not plain.isascii():
            plain = normalize("NFC", normalize("NFD", cluster[0]).casefold())
        plain = plain.replace("\\", "/")
        signs.append(plain)
        places += [range(*cluster.span())] * len(plain)
    return "".join(signs), places


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    if before.isalnum() and not UNSPACED.match(before):
        return False
    if before in "_/.-@" or (before == ":" and text[end : end + 1] == "/"):
        return False
    if text[end - 1].isascii() and UNSPACED.match(text, end):
        return True
    return not re.match(r"[\w/@-]|\.\w", text[end : end + 2])
