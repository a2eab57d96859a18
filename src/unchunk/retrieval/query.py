"""What a question asks for: which documents, how much of them, and what to search for.

Knows the question and its own conversation, nothing of the library; decides by rules whose
reasons people can read. A mode is a hint for how much is fetched: a wrong one costs context,
never truth.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from unchunk.domain import DocumentId
from unchunk.retrieval.coverage import NameWords, asks_elsewhere, asks_for_summary, is_narrow
from unchunk.retrieval.english import COMPARING, DOCUMENTS, says_something
from unchunk.retrieval.followup import Exchange, is_empty, leaning, opens_topic, subject
from unchunk.retrieval.tags import take_tags
from unchunk.retrieval.wording import Words
from unchunk.retrieval.words import Listed, Word, WordList, words_of

Mode = Literal["sources", "full documents", "passages"]

# How much of a conversation is read: so many turns, and so much of each.
READ_TURNS = 24
_READ = 4_000
_ABOUT = re.compile(r"(?i)\b(what(?:['’]s|\s+(?:is|are|was|were)))\b[^.?!]*\babout\W*\Z")
# No more of a question's end than this is read for it: each "what is" is followed to the end.
_ABOUT_READ = 400
_FILE_NAME = re.compile(r"\.[^\W_]{1,10}\Z")
_CLAUSE_ENDS = frozenset(".,;:!?()\n—–。、，；：！？")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said; `cited` is the evidence of an answer: documents and chunk indices."""

    role: Literal["user", "assistant"]
    content: str
    cited: tuple[tuple[DocumentId, int], ...] = ()

    def __post_init__(self) -> None:
        """Lists are taken, too, such as come out of JSON."""
        object.__setattr__(self, "cited", tuple((one, at) for one, at in self.cited))


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a question is to be answered.

    `question` is as asked, without tags. `search_text` is the same, or for a question that
    leans on the ones before it, completed with the words that it lacks: what to search for
    beside the question, for either alone finds less. `carried` is the evidence of the answer
    that a follow-up follows. `reasons` say why, for people. The plan of an `Evidence` tells what
    was really searched for, and of `carried` what the library has.
    """

    question: str
    search_text: str
    mode: Mode
    sources: tuple[str, ...] = ()
    follow_up: bool = False
    carried: tuple[tuple[DocumentId, int], ...] = ()
    reasons: tuple[str, ...] = ()


class QueryAnalyzer:
    """Plans questions. Holds the word lists; all else it knows comes with each call."""

    def __init__(self, words: Words | None = None) -> None:
        words = words or Words()
        self._indicators = (
            (WordList(words.detail), "asks for detail"),
            (WordList(words.temporal), "asks what happens over time"),
            (WordList(words.scope), "asks about the whole"),
            (WordList(words.analytical), "asks for analysis"),
        )
        # What these ask for is how an answer should be, and nothing that a text would say.
        self._forms = WordList((*words.detail, *words.temporal, *words.scope))
        self._follow_up = WordList(words.follow_up)
        self._idioms = WordList(words.idioms)

    def analyze(self, question: str, history: Sequence[Turn] = ()) -> QueryPlan:
        """Any text is a question; one of tags alone asks for those documents.

        Named sources come first. Then a word that asks for detail, time, scope or analysis
        calls for full documents, and so does a follow-up that asks for more of what was
        answered; where it asks for more of something that was not talked about, what the last
        answer cited is not carried. A follow-up that only refers back by a pronoun, or is cut short, asks a
        new thing about the same matter: passages, with the evidence carried. That a question
        shares words with those before it does not make it a follow-up, nor does the length
        of the conversation: what stands alone is searched for as it stands.
        """
        asked, sources = take_tags(question)
        words = words_of(asked)
        exchanges = _exchanges(history)
        reasons = [f'"source:{name}" names a document' for name in sources]
        escalating = [*self._asks_for_whole(asked, words)]
        reasons += escalating
        leans = leaning(asked, [one.question for one in exchanges])
        more = next(self._asks_for_more(asked, words), "") if exchanges else ""
        is_new = bool(more) and not leans and self._opens_topic(asked, words, exchanges)
        follows = bool(leans or more) and not is_new
        carried = _evidence(history) if follows else ()
        reasons += filter(None, (leans, more))
        if is_new:
            reasons.append("opens a new topic, so the search chooses the documents")
        if more and (carried or exchanges[-1].answer):
            escalating.append(more)
        added = subject(asked, exchanges) if leans else []
        if added:
            reasons.append(f"searched for with {', '.join(added)}, from the conversation")
        return QueryPlan(
            question=asked,
            search_text=" ".join([asked, *added]),
            mode="sources" if sources else "full documents" if escalating else "passages",
            sources=sources,
            follow_up=follows,
            carried=carried,
            reasons=tuple(reasons),
        )

    def topic(self, text: str, names: Sequence[str] = ()) -> str:
        """The text without the words that only say how much is wanted, to search for.

        Empty where nothing else is asked: "summarise this document", or "what is X about?" of the
        document X. `names` are what documents are called in the text and in the library. In another
        language than English, a summary of a named document is one of all of it.
        """
        if names and asks_elsewhere(text):
            return ""
        for name in names:
            text = text.replace(name, " ") if _FILE_NAME.search(name) else text
        words = words_of(text)
        own = NameWords(names, words)
        asking = {
            at
            for listed, _ in self._indicators
            for it in listed.find(text, words)
            for at in it.words
        }
        rest = [one for at, one in enumerate(words) if at not in asking and says_something(one)]
        if all(one.plain in DOCUMENTS or one.plain in COMPARING or one in own for one in rest):
            return ""
        kept, done = [], 0
        for found in self._forms.find(text, words):
            if found.words and (start := words[found.words.start].start) >= done:
                kept.append(text[done:start])
                done = start + len(found.text)
        return " ".join("".join([*kept, text[done:]]).split()).lstrip(",;:.!? ")

    def needs_all(self, plan: QueryPlan, names: Sequence[str] = ()) -> bool:
        """Whether the question is about all of a document, so that no passage can answer it.

        `names` are what the document is called: its name and its title. Such a question is a
        summary that is not of another matter, one about time or analysis ('how does she change
        throughout the story'), and one about 'all' or 'every' if the document is carried or in
        `sources`. So is a question that only names a document, by its file name or by words of it.
        """
        if plan.mode == "passages":
            return False
        words = words_of(plan.question)
        _, temporal, scope, analytical = self._indicated(plan.question, words)
        if temporal or analytical or (scope and (plan.sources or plan.carried)):
            return True
        asked = plan.question
        for name in plan.sources:
            asked = asked.replace(name, " ")
        own = NameWords(names, words)
        if is_narrow(asked, own):
            return False
        # "The report" names none, whatever it is called.
        is_named = any(
            says_something(one) and one.plain not in DOCUMENTS and one in own for one in words
        )
        return asks_for_summary(plan.question) or (
            bool(plan.sources or is_named) and not plan.follow_up
        )

    def _asks_for_whole(self, asked: str, words: list[Word]) -> Iterator[str]:
        indicated = self._indicated(asked, words)
        for (_, what), found in zip(self._indicators, indicated, strict=True):
            for word in dict.fromkeys(one.text.casefold() for one in found):
                yield f"{_quoted(word)} {what}"
        if found_about := _ABOUT.search(asked[-_ABOUT_READ:]):
            yield f'"{found_about[1]} ... about" asks what it is about'

    def _indicated(self, asked: str, words: list[Word]) -> list[list[Listed]]:
        """The listed words of each kind, without those that an idiom has."""
        idle = {at for idiom in self._idioms.find(asked, words) for at in idiom.words}
        return [
            [one for one in listed.find(asked, words) if not one.words or {*one.words} - idle]
            for listed, _ in self._indicators
        ]

    def _opens_topic(self, asked: str, words: list[Word], exchanges: Sequence[Exchange]) -> bool:
        asking = {at for one in self._follow_up.find(asked, words) for at in one.words}
        return opens_topic(words, asking, exchanges)

    def _asks_for_more(self, asked: str, words: list[Word]) -> Iterator[str]:
        """Only where nothing stands before it in its clause that it could be said of.

        'Tell me more' and 'can you expand on that' ask us; 'did sales continue to grow' and
        'more than five' do not.
        """
        for found in self._follow_up.find(asked, words):
            following = words[found.words.stop].plain if found.words.stop < len(words) else ""
            if following != "than" and is_empty(_clause_before(asked, words, found)):
                yield f"{_quoted(found.text)} asks for more"


def _clause_before(asked: str, words: list[Word], found: Listed) -> str:
    start = words[found.words.start].start if found.words else 0
    # A clause that is longer has something to say.
    before = asked[max(0, start - 200) : start]
    return "".join(takewhile(lambda one: one not in _CLAUSE_ENDS, reversed(before)))[::-1]


def _quoted(word: str) -> str:
    word = " ".join(word.split())
    return f'the {"phrase" if " " in word else "word"} "{word}"'


def _exchanges(history: Sequence[Turn]) -> list[Exchange]:
    """The last questions, with their answers."""
    made: list[Exchange] = []
    for turn in history[-READ_TURNS:]:
        if turn.role == "user":
            made.append(Exchange(take_tags(turn.content[:_READ])[0], ""))
        elif made:
            made[-1] = Exchange(made[-1].question, turn.content[:_READ])
    return made


def last_answers(history: Sequence[Turn]) -> Iterator[int]:
    """Where the answers to the last question stand, the latest first; small talk is passed over."""
    for at in reversed(range(len(history))):
        if history[at].role == "assistant":
            yield at
        elif not is_empty(history[at].content):
            return


def _evidence(history: Sequence[Turn]) -> tuple[tuple[DocumentId, int], ...]:
    """What the last answer cited."""
    cited = (history[at].cited for at in last_answers(history))
    return tuple(dict.fromkeys(next(filter(None, cited), ())))
