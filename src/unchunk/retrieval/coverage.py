"""Whether a question is about all of a document, so that no passage of it can answer.

A summary needs all of it, unless it is asked for something that stands in a part: 'summarise the
chapter on fees'. What is listed here counts where a document is already known to be meant.
"""

import re
from collections.abc import Iterable

from unchunk.retrieval.english import COMPARING, DOCUMENTS, root, roots, says_something
from unchunk.retrieval.words import Word, WordList, words_of


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What asks for a short form of the whole.
_SUMMARY = WordList(
    (
        "summarize",
        "summary",
        "overview",
        "recap",
        "gist",
        "sum up",
        "synopsis",
        "outline",
        "key point",
        "main point",
        "main idea",
        "takeaway",
        "tldr",
    )
)
_SUMMARY_ELSEWHERE = WordList(
    (
        "fasse",
        "zusammenfassen",
        "zusammenfassung",
        "überblick",
        "worum geht es",
        "wovon handelt",
        "résume",
        "résumer",
        "résumé",
        "de quoi parle",
        "de quoi traite",
        "resumir",
        "resumen",
        "resúmeme",
        "resumo",
        "de qué trata",
        "do que trata",
        "riassumi",
        "riassumere",
        "riassunto",
        "di cosa parla",
        "samenvatten",
        "samenvatting",
        "总结",
        "概述",
        "概括",
        "摘要",
        "總結",
        "要約",
        "概要",
        "まとめ",
        "요약",
    )
)
# A part of a document, or a place in it, is narrower than all of it.
_PARTS = _set("chapter chapters section sections page pages part parts")
_PLACES = _set("first last beginning opening start end ending closing final")
# Words that say how the answer should look or what kind of thing the document is, and nothing of
# its content.
_FORM = (
    DOCUMENTS.difference(_PARTS)
    | COMPARING
    | _set(
        """
    summary summaries summarize summarise summarized summarised summarizing summarising overview
    recap gist sum synopsis tl dr briefly shortly concisely simply english bulleted half source
    sources attached attachment full complete whole entire entirety comprehensive thorough
    thoroughly depth deep dive walk step elaborate explanation explained provide write read reading
    understand quickly high level general generally basically discuss discusses speech contract
    transcript
    """
    )
)
# Before what is counted in these, a number is about the answer.
_COUNTED = _set(
    "word words sentence sentences paragraph paragraphs bullet bullets line lines point points"
    " takeaway takeaways idea ideas topic topics"
)
_NUMBERS = _set("four five six seven eight nine ten twenty fifty hundred")
_NAME_PARTS = re.compile(r"[\W_]+")
_EXTENSION = re.compile(r"\.[a-z0-9]{1,5}\Z")


class NameWords:
    """The words of those names and titles of which a question has at least half.

    One word of a long title ("laws", of "A History of the Empire and Its Laws") is a subject.
    """

    def __init__(self, names: Iterable[str], question: Iterable[Word]) -> None:
        asked = {root(it) for word in question for it in _NAME_PARTS.split(word.plain)}
        self._roots = set[str]()
        for name in names:
            parts = _NAME_PARTS.split(_EXTENSION.sub("", name.casefold()))
            telling = roots(" ".join(it for it in parts if it not in DOCUMENTS))
            if 2 * len(telling & asked) >= len(telling):
                self._roots |= {root(it) for it in _NAME_PARTS.split(name.casefold())}

    def __contains__(self, word: Word) -> bool:
        return all(root(part) in self._roots for part in _NAME_PARTS.split(word.plain))


def asks_for_summary(question: str) -> bool:
    """Whether it asks for a summary of something, be that a whole document or a part of one."""
    words = words_of(question)
    return any(next(one.find(question, words), None) for one in (_SUMMARY, _SUMMARY_ELSEWHERE))


def asks_elsewhere(question: str) -> bool:
    """Whether it asks for a summary in another language than English."""
    return next(_SUMMARY_ELSEWHERE.find(question, words_of(question)), None) is not None


def is_narrow(question: str, named: NameWords) -> bool:
    """Whether it says which matter it is about; tags of sources were taken out of it before.

    Words of the document's own name (`named`) do not count as a subject. Only English can be told so far: in another
    language a summary is one of the whole.
    """
    if asks_elsewhere(question):
        return False
    words = words_of(question)
    counts = any(word.plain in _COUNTED for word in words)
    return any(_is_matter(word, counts=counts) and word not in named for word in words)


def _is_matter(word: Word, *, counts: bool) -> bool:
    if counts and (word.plain.isdigit() or word.plain in _NUMBERS):
        return False
    if word.plain in _PLACES:
        return True
    return says_something(word) and word.plain not in _FORM
