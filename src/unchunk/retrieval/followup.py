"""Which questions lean on the conversation before them, and on what in it. No model.

English. A question in another language leans on nothing here and is searched as it stands.
"""

import re
from collections import Counter
from collections.abc import Container, Sequence
from typing import NamedTuple

from unchunk.retrieval.english import (
    BEFORE_THAT,
    DETERMINERS,
    EMPTY,
    PEOPLE,
    PERSONS,
    POINTERS,
    SPANS_OF_TIME,
    THINGS,
    root,
    roots,
    says_something,
)
from unchunk.retrieval.words import Word, words_of

# How far back a conversation is read, and how much of each of its texts.
_EXCHANGES = 12
_READ = 600
# What is longer than this says what it is about.
_LONG = 60
# So few words with a meaning may leave the subject out.
_FEW = 2
# How many words complete a question: more of them find less.
_ADDED = 3

# 'Is it possible to ...', 'how long does it take to ...': this 'it' stands for nothing.
_NO_THING = re.compile(
    r"\bit\s+(?:\w+\s+)?(?:possible|true|safe|legal|illegal|worth|better|best|good|bad|hard|easy"
    r"|difficult|important|necessary|normal|common|takes?|costs?|means?|matters?|wise|useful)\b"
    r"[^.?!]*\b(?:to|that|if|for)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(
    r"\s*(?:(?:that|it|this)(?:['’]s|\s+(?:is|was|sounds?|seems?|looks?|makes?))\b|(?:ok|okay|wow"
    r"|oh|cool|great|thanks?|awesome|interesting|yes|yeah|no|sure|hmm|nice)\b)[^.!?]*+[.!]\s+"
    r"(?=\S)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"\W*(?:(?:ok|okay|yes|no|yeah|cool|well)\W+)?(?:(what about|how about)|(and|but|or|why not))\b",
    re.IGNORECASE,
)
# With a capital it belongs to a name: 'the Xbox One'.
_ONE = re.compile(
    r"\b(?i:which|the \w+|an? \w+|other|another|any|some) ones?\b"
    r"(?! (?i:of|hundred|thousand|million|day|year)\b)"
)
_SAID = re.compile(
    r"\byou (?:just )?(?:mentioned|said|described|told|listed|recommended|suggested)\b"
    r"|\bthe (?:former|latter|others?)\b(?! \w)"
    r"|\bthe (?:first|second|third|last|two|three)(?=\W*\Z)",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\W*(?:what|who)(?:['’]s|\s+(?:is|are|was|were))\s+(?:an?\s+)?(?!the\b)[\w\-'’]+"
    r"(?:\s+[\w\-'’]+)?\W*\Z|\W*(?:tell me (?:more )?about|define|describe)\b",
    re.IGNORECASE,
)
# What these are said of has been spoken of.
_OTHERS = frozenset({"else", "other", "others", "another"})
_STOPS = '.?!:;"“•\n'


class Exchange(NamedTuple):
    """A question without its tags, and its answer, if it has one."""

    question: str
    answer: str


def leaning(question: str, earlier: Sequence[str]) -> str:
    """Why the question cannot be understood without the ones before it; empty if it can.

    A pronoun leans only where nothing before it in the question can be what it stands for: a
    name, something introduced with 'a', or a word that the conversation is about. A short
    question leans where it neither names anything nor repeats a word of the conversation.
    """
    if not earlier or len(question) > _READ:
        return ""
    while comment := _COMMENT.match(question):
        question = question[comment.end() :]
    words = words_of(question)
    if len(words) > _LONG:
        return ""
    topic = {one for text in earlier[-_EXCHANGES:] for one in roots(text[:_READ])}
    names = _names(question, words)
    return _reference(question, words, names, topic) or _brevity(question, words, names, topic)


def opens_topic(
    words: Sequence[Word], asking: Container[int], exchanges: Sequence[Exchange]
) -> bool:
    """Whether a question for more names a matter, and none that the conversation has mentioned.

    `asking` are the places of the words that ask for more. 'What else ...' goes on in any case, and
    so does what is not English: which of its words name a matter is not known.
    """
    if any(word.plain in _OTHERS for word in words):
        return False
    rest = [word for at, word in enumerate(words) if at not in asking]
    named = {root(word.plain) for word in rest if says_something(word)}
    if not named or not any(word.plain in EMPTY for word in rest):
        return False
    return not any(
        named & (roots(one.question) | roots(one.answer)) for one in exchanges[-_EXCHANGES:]
    )


def is_empty(question: str) -> bool:
    """Whether it has no word that could be searched for."""
    return not any(map(says_something, words_of(question[:_READ])))


def subject(question: str, exchanges: Sequence[Exchange]) -> list[str]:
    """The few words that say what the conversation is about and that the question lacks.

    A word counts once for each question of this topic that has it, once more in the question
    that opened the topic, once more where it is a name, and once more if the last answer
    repeats it. Of equals, the later one is nearer.
    """
    exchanges = _topic([Exchange(q[:_READ], a[:_READ]) for q, a in exchanges[-_EXCHANGES:]])
    scores: Counter[str] = Counter()
    written: dict[str, str] = {}
    for at, (asked, _) in enumerate(exchanges):
        words = words_of(asked)
        names = _names(asked, words)
        for word in filter(says_something, words):
            written.setdefault(root(word.plain), word.text)
        for one in roots(asked):
            scores[one] += 1 + (at == 0) + (one in names)
    answer = exchanges[-1].answer if exchanges else ""
    words = words_of(answer)
    names = _names(answer, words)
    for word in filter(says_something, words):
        if (one := root(word.plain)) in names:
            written.setdefault(one, word.text)
    for one in roots(answer):
        if one in scores or one in names:
            scores[one] += 1
    order = {one: at for at, one in enumerate(written)}
    lacking = scores.keys() - roots(question)
    best = sorted(lacking, key=lambda one: (-scores[one], -order[one]))[:_ADDED]
    return [written[one] for one in sorted(best, key=order.__getitem__)]


def _topic(exchanges: list[Exchange]) -> list[Exchange]:
    """The exchanges from the last question that shares nothing with what was said before it."""
    asked = [roots(one.question) for one in exchanges]
    said = [roots(one.answer) for one in exchanges]
    for at in range(len(exchanges) - 1, 0, -1):
        if any(asked[at] & (asked[earlier] | said[earlier]) for earlier in range(at)):
            continue
        if not leaning(exchanges[at].question, [one.question for one in exchanges[:at]]):
            return exchanges[at:]
    return exchanges


def _reference(question: str, words: list[Word], names: set[str], topic: set[str]) -> str:
    for at, word in enumerate(words):
        refers = _refers_back(question, words, at)
        if refers and not _has_antecedent(words[:at], word, names, topic):
            return f'"{word.text}" refers back to the question before'
    match = _ONE.search(question) or _SAID.search(question)
    return f'"{match[0]}" refers back to the question before' if match else ""


def _brevity(question: str, words: list[Word], names: set[str], topic: set[str]) -> str:
    content = {root(word.plain) for word in words if says_something(word)}
    match = _OPENS.match(question)
    if match and (match[1] or len(content) <= _FEW):
        return f'"{match[1] or match[2]}" continues the question before'
    if not any(word.plain in EMPTY for word in words):
        return ""  # bare words to search for, or another language
    if not content:
        return "the question names nothing by itself"
    stands = names or content & topic or _DEFINES.match(question)
    return "" if stands or len(content) > _FEW else "the question is too short to stand alone"


def _refers_back(question: str, words: list[Word], at: int) -> bool:
    word = words[at].plain
    if word == "it" or word.startswith("it'"):
        return not _NO_THING.match(question, words[at].start)
    if word in PERSONS or word in THINGS:
        return True
    if word not in POINTERS:
        return False
    following = words[at + 1].plain if at + 1 < len(words) else ""
    if word in ("this", "these"):
        return following not in SPANS_OF_TIME
    if word == "those":
        return following not in ("who", "of", "that", "with")
    # 'The book that ...', 'I heard that the ...': this one joins two clauses.
    joins = at > 0 and words[at - 1].plain not in BEFORE_THAT
    return not joins and following not in DETERMINERS


def _has_antecedent(before: Sequence[Word], word: Word, names: set[str], topic: set[str]) -> bool:
    if word.plain in POINTERS:
        return False
    person = word.plain in PERSONS
    for at, one in enumerate(before):
        if root(one.plain) in names or one.plain in PEOPLE:
            return True
        if not person and says_something(one) and root(one.plain) in topic:
            return True
        if one.plain in ("a", "an") and at + 1 < len(before):
            return True
    return False


def _names(text: str, words: list[Word]) -> set[str]:
    """Capitalised words that do not begin a sentence."""
    found = set()
    for word in words:
        if word.text[0].isupper() and says_something(word):
            before = text[max(0, word.start - 8) : word.start].rstrip()
            if before and before[-1] not in _STOPS:
                found.add(root(word.plain))
    return found
