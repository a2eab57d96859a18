"""Every citation of an extractive answer resolves to text that has the quoted words.

Real questions to real pages. The written answer itself is read, as a person would read it: what
stands in quotation marks, and what the citations behind it lead to.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from corpus import DATA, MISSING
from homes import Home
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.chat.citations import CitationChecker
from unchunk.chat.events import Cited, Token
from unchunk.chat.extractive import extract, write
from unchunk.chat.sent import Sent
from unchunk.engine import Engine
from unchunk.evaluation.layouts import anthropic_docs
from unchunk.evaluation.questions import QuestionSet
from unchunk.evaluation.running import fill

QUESTIONS = 100
PIECE = 7  # characters: models stream tokens
_QUOTE = re.compile(r"^- (?:… )?“(?P<words>[^“”\n]*)”(?: …)? (?P<cited>\[.*\])$", re.MULTILINE)
# How quotation marks within a quote are written, and brackets where they could be taken for ours.
_AS_WRITTEN = str.maketrans("“”[]", "‘’［］")


class Answer(NamedTuple):
    text: str
    cited: list[Cited]


def checked(text: str, sent: Sent) -> Answer:
    """The answer streamed through the checker, as every answer is."""
    checker = CitationChecker(sent)
    pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
    streams = (*(checker.feed(piece) for piece in pieces), checker.finish())
    events = [event for stream in streams for event in stream]
    said = "".join(event.text for event in events if isinstance(event, Token))
    return Answer(said, [event for event in events if isinstance(event, Cited)])


def quoted(answer: Answer) -> Iterator[tuple[str, list[Cited]]]:
    """Each quotation with the citations behind it."""
    for quote in _QUOTE.finditer(answer.text):
        start, end = quote.span("cited")
        yield quote["words"], [one for one in answer.cited if start <= one.at and one.end <= end]


async def holds(engine: Engine, words: str, cited: list[Cited]) -> bool:
    """Whether the ranges that are cited, one behind the other, have the words."""
    [document] = {one.document for one in cited}
    said, end = "", None
    for one in cited:
        assert one.start is not None
        if end is not None and one.start > end:
            return False
        start = one.start if end is None else end
        said += await engine.text(document, start, one.text_end)
        end = one.text_end
    return words.translate(_AS_WRITTEN) in " ".join(said.split()).translate(_AS_WRITTEN)


@pytest.mark.parametrize(
    "options",
    [{}, {"chunk_unit": "words", "chunk_size": 40, "chunk_overlap": 15, "chunk_boundaries": "window"}],
    ids=["as it comes", "cut anywhere with overlaps"],
)  # fmt: skip
def test_every_citation_leads_to_the_quoted_words(
    tmp_path: Path, options: dict[str, str | float]
) -> None:
    folder = DATA / "anthropic_docs"
    if not folder.is_dir():
        pytest.skip(MISSING)
    asked: QuestionSet = anthropic_docs(folder).sample(QUESTIONS)

    async def ask(engine: Engine) -> tuple[int, int, int]:
        await fill(engine, asked)
        answered, total, several = 0, 0, 0
        for question in asked.questions:
            documents = (await engine.retrieve(question.text)).documents
            found = await extract(question.text, documents, Bm25Lexicon())
            sent = Sent(documents)
            answer = checked(write(found, sent), sent)
            quotes = list(quoted(answer))
            assert len(quotes) == len(found)
            assert sum(len(cited) for _, cited in quotes) == len(answer.cited)
            for words, cited in quotes:
                assert {one.state for one in cited} <= {"cited", "context"}
                assert await holds(engine, words, cited), (question.text, words)
                several += len(cited) > 1
            answered += bool(quotes)
            total += len(answer.cited)
        return answered, total, several

    answered, total, several = Home(tmp_path).run(ask, **options)
    assert answered >= QUESTIONS * 0.9
    assert total >= QUESTIONS * 2
    assert several > 0 or not options


def test_a_citation_that_leads_elsewhere_would_be_seen(tmp_path: Path) -> None:
    """The check itself can fail."""
    home = Home(tmp_path)
    home.file("one.md", "The valve leaks oil.\n\n" + "Other words stand here.\n\n" * 80)

    async def ask(engine: Engine) -> None:
        await engine.add(home.files)
        documents = await engine.search_with_context("valve leaks oil")
        found = await extract("valve leaks oil", documents, Bm25Lexicon())
        sent = Sent(documents)
        answer = checked(write(found[:1], sent), sent)
        [(words, cited)] = quoted(answer)
        assert words == "The valve leaks oil."
        assert await holds(engine, words, cited)
        assert not await holds(engine, "The valve leaks water.", cited)
        [document] = await engine.documents()
        moved = checked(answer.text.replace(":0]", ":1]"), sent)
        [(words, cited)] = quoted(moved)
        assert (cited[0].document, cited[0].chunk_index) == (document.id, 1)
        assert not await holds(engine, words, cited)

    home.run(ask)
