"""Notes on parts of a document, put together as far as there is room."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from unchunk.chat.notes import Notes, Part, checked, noted
from unchunk.domain import Chunk
from unchunk.retrieval.evidence import Passage, ReconstructedDocument
from unchunk.retrieval.marking import gap_mark, notes_mark

NOTHING_SAID = "(It says nothing on the question.)"
CUT = notes_mark()
SHORT = "The crew found crate 111. [doc:{}] Then it rained."
# A sentence without an end, such as models write in lists.
LONG = "; ".join(f"crate {number} was found on deck" for number in range(120)) + " [doc:{}]"


def part(number: int, count: int) -> Part:
    at = number - 1
    text = f"chunk {at}"
    chunk = Chunk(at, at * 100, at * 100 + len(text))
    passage = Passage(at, at, chunk.start, chunk.end, text, chunks=(chunk,))
    return Part(
        number,
        count,
        ReconstructedDocument(
            "doc", "log.md", "", "log.md", "text/markdown", count, (), (passage,), text
        ),
    )


def written(texts: Sequence[str]) -> list[Notes]:
    """What a model wrote on the parts, in their order; braces stand for the chunk of a part."""
    parts = [part(number, len(texts)) for number in range(1, len(texts) + 1)]
    return [
        Notes(one, checked(text.replace("{}", str(one.first_chunk)), one))
        for one, text in zip(parts, texts, strict=True)
    ]


def shown(notes: Sequence[Notes], room: int) -> tuple[str, list[str]]:
    """The whole context for so many characters, and what it has of the notes on each part."""
    text = noted((), [one.part for one in notes], notes, lambda it: len(it) <= room).text
    body = text.removeprefix("<<<evidence\n").removesuffix("\nevidence>>>")
    found = re.split(r"(?:^|\n\n)\[Source: [^]]*\]\n", body)[1:]
    assert len(found) == len(notes)
    return text, found


def test_one_long_sentence_does_not_take_the_notes_on_other_parts_away() -> None:
    text, [first, second, third] = shown(written([SHORT, LONG, SHORT]), 1500)
    assert 1400 < len(text) <= 1500
    assert first == "The crew found crate 111. [doc:0] Then it rained."
    assert third == "The crew found crate 111. [doc:2] Then it rained."
    beginning = second.removesuffix(f" [doc:1] {CUT}")
    assert beginning != second
    assert LONG.startswith(f"{beginning} ")
    assert len(beginning) > 800


def test_what_short_notes_leave_is_shared_by_the_long_ones() -> None:
    _, [first, *others] = shown(written(["Rain. [doc:{}]", LONG, LONG, LONG]), 2000)
    assert first == "Rain. [doc:0]"
    lengths = [len(one) for one in others]
    assert all(one.endswith(CUT) for one in others)
    assert max(lengths) - min(lengths) < 10
    assert sum(lengths) > 1500


def test_a_text_without_blanks_is_cut_too() -> None:
    notes = "船员发现了箱子" * 200
    _, found = shown(written([notes, notes]), 1000)
    for one in found:
        beginning = one.removesuffix(f" {CUT}")
        assert notes.startswith(beginning)
        assert 300 < len(beginning) < 450


def test_notes_that_are_little_but_citations_lose_some_of_them() -> None:
    many = "Crates. " + "[doc:{}] and so on. " * 100
    _, [first, second] = shown(written([SHORT, many]), 800)
    assert first == "The crew found crate 111. [doc:0] Then it rained."
    assert second.startswith("Crates. [doc:1] and so on. [doc:1]")
    assert second.endswith(CUT)


def test_notes_that_do_not_fit_are_omitted_and_do_not_say_nothing() -> None:
    _, found = shown(written([SHORT, LONG, "nothing"]), 260)
    assert found == [gap_mark(0, 0), gap_mark(1, 1), NOTHING_SAID]


def test_notes_that_the_provider_cut_end_with_a_mark() -> None:
    [one] = written(["The crew found crate"])
    notes = [Notes(one.part, one.pieces, finish="length", is_cut=True)]
    assert shown(notes, 1000)[1] == [f"The crew found crate {CUT}"]


NOTES = st.lists(
    st.sampled_from(["Rain fell. ", "[doc:{}] ", "crates; more crates; ", "木箱", "A" * 70, "\n"]),
    min_size=1,
    max_size=30,
).map("".join)


@given(st.lists(st.just("nothing") | NOTES, min_size=1, max_size=5), st.integers(0, 3000))
def test_every_part_has_the_beginning_of_its_notes_or_a_mark(texts: list[str], room: int) -> None:
    notes = written(texts)
    _, complete = shown(notes, 1_000_000)
    text, found = shown(notes, room)
    least, _ = shown(notes, 0)
    assert len(text) <= max(room, len(least))
    for one, whole, there in zip(notes, complete, found, strict=True):
        omitted = gap_mark(one.part.first_chunk, one.part.last_chunk)
        assert (there == NOTHING_SAID) == (not one.pieces)
        if there not in (whole, omitted):
            assert there.endswith(CUT)
            beginning, _, cited = there.removesuffix(CUT).rstrip().rpartition(" [doc:")
            beginning = beginning if cited.rstrip("]").isdigit() else there.removesuffix(CUT)
            assert whole.startswith(beginning.rstrip())
