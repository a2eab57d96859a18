"""Documents that are wanted whole: what is kept where one is too long, and who gets the room."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets import coverage, cuttings, even, prose, sheet_of, without_marks
from unchunk.domain import ChunkingStrategy, Heading, Span
from unchunk.retrieval.evidence import Gap, ReconstructedDocument
from unchunk.retrieval.excerpts import by_importance, excerpt
from unchunk.retrieval.wholes import shares
from unchunk.text.chunking import chunk
from unchunk.text.tokens import get_encoding

Cutting = tuple[str, list[Span]]


def mark(document: ReconstructedDocument, gap: Gap) -> str:
    return document.full_content[gap.at : gap.end].strip()


def tokens(text: str) -> int:
    return len(get_encoding("cl100k_base").encode(text))


@given(
    cuttings(),
    st.lists(st.integers(0, 25), max_size=5),
    st.integers(0, 300),
    st.lists(st.tuples(st.integers(0, 80), st.integers(1, 3), st.text(max_size=9)), max_size=6),
)
@settings(max_examples=400, deadline=None)
def test_an_excerpt_keeps_to_its_limit_and_to_the_text_and_marks_every_omission(
    cutting: Cutting, hits: list[int], limit: int, outline: list[tuple[int, int, str]]
) -> None:
    text, spans = cutting
    headings = [Heading(*one) for one in sorted(outline)]
    document = excerpt(
        sheet_of(text, spans), dict.fromkeys(hits, 0.5), limit, tag="7a3f", headings=headings
    )
    assert len(document.full_content) <= limit
    # Without its marks it is slices of the text, in their order.
    assert without_marks(document) == "".join(one.text for one in document.passages)
    ends = [0, *(end for one in document.passages for end in (one.start, one.end)), len(text)]
    assert ends == sorted(ends)
    for passage in document.passages:
        assert passage.text == text[passage.start : passage.end]
    # What is cited is what stands there.
    for passage in document.passages:
        for one in passage.chunks:
            said = passage.text[one.start - passage.start : one.end - passage.start]
            assert said == text[one.start : one.end]
    # Each chunk is shown whole, or part of a gap.
    if document.passages:
        told = {at for gap in document.gaps for at in range(gap.first_chunk, gap.last_chunk + 1)}
        for at, span in enumerate(spans):
            shown = any(it.start <= span.start and span.end <= it.end for it in document.passages)
            assert shown or at in told
    for gap in document.gaps:
        assert "omitted, mark 7a3f" in document.full_content[gap.at : gap.end]


@given(
    st.lists(st.integers(0, 50), max_size=60), st.dictionaries(st.integers(-3, 70), st.floats(0, 1))
)
def test_every_chunk_has_its_turn_once(lengths: list[int], matches: dict[int, float]) -> None:
    assert sorted(by_importance(lengths, matches)) == list(range(len(lengths)))


def test_the_best_match_and_both_ends_come_first() -> None:
    assert [*by_importance([100] * 20, {9: 0.7, 13: 0.8})][:3] == [13, 0, 19]
    assert [*by_importance([100] * 20, {})][:2] == [0, 19]


class Counted(Sequence[int]):
    """The lengths of many chunks, which counts how many of them were looked at."""

    def __init__(self, size: int) -> None:
        self._size, self.looks = size, 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - of a sequence
        self.looks += 1
        return 1000


def test_a_chunk_that_claims_a_million_others_costs_no_more_than_what_is_there() -> None:
    text, spans = even(100, 1000)
    lengths = Counted(1_000_000)
    chosen = [*islice(by_importance(lengths, {50: 0.8}), 10)]
    assert len(set(chosen)) == 10
    assert {0, 50, 999_999} <= set(chosen)
    assert lengths.looks <= 20
    sheet = replace(sheet_of(text, spans[:10]), chunk_count=1_000_000)
    document = excerpt(sheet, {5: 0.8}, 5000, lengths=lengths)
    assert document.kind == "excerpt"
    assert coverage(document)
    assert lengths.looks <= 1_000


@given(st.lists(st.floats(0, 5000) | st.just(float("inf")), max_size=8), st.integers(-5, 20_000))
def test_room_is_shared_by_need(needs: list[float], room: int) -> None:
    given_room = shares(needs, room)
    assert sum(given_room) <= max(room, 0)
    unmet = [at for at, need in enumerate(needs) if given_room[at] + 1 <= need]
    if unmet:
        # Nothing stays unused, and nobody has more than those who did not get enough.
        assert sum(given_room) >= max(room, 0) - len(needs)
        assert max(given_room) <= min(given_room[at] for at in unmet) + len(needs)


def test_a_document_within_the_limit_comes_back_whole() -> None:
    text, spans = even(8, 1000)
    document = excerpt(sheet_of(text, spans), {3: 0.8}, 8000)
    assert (document.full_content, document.kind) == (text, "full document")
    assert [one.chunk_index for one in document.chunks] == [3]
    assert document.gaps == ()


def test_a_longer_document_keeps_its_opening_its_ending_and_its_matches() -> None:
    text, spans = even(100, 1000)
    document = excerpt(sheet_of(text, spans), {50: 0.8}, 12_000)
    assert document.kind == "excerpt"
    [(first, opening), (left, right), (ending, last)] = coverage(document)
    assert (first, last) == (0, 99)
    assert left <= 50 <= right
    assert opening >= 2
    assert ending <= 98
    assert 11_000 <= len(document.full_content) <= 12_000
    assert f"\n[... chunks {opening + 1}-{left - 1} omitted ...]\n" in document.full_content


def test_the_best_matches_come_first() -> None:
    text, spans = even(100, 1000)
    document = excerpt(sheet_of(text, spans), {10: 0.2, 40: 0.9, 80: 0.5}, 5300)
    assert [one.chunk_index for one in document.chunks] == [40, 80]


def test_without_matches_the_opening_has_twice_the_room_of_the_ending() -> None:
    text, spans = even(100, 1000)
    document = excerpt(sheet_of(text, spans), {}, 9100)
    assert coverage(document) == [(0, 5), (97, 99)]
    assert document.chunks == ()
    assert without_marks(document) == text[:6000] + text[97_000:]


def test_marks_name_the_headings_of_what_is_left_out() -> None:
    text, spans = even(100, 1000)
    headings = [Heading(0, 1, "Rules")]
    headings += [Heading(1000 * at, 2, f"Part {at}") for at in range(5, 100, 5)]
    headings += [Heading(1000 * at + 500, 3, f"Point {at}") for at in range(100)]
    document = excerpt(sheet_of(text, spans), {50: 0.9}, 8000, headings=sorted(headings))
    middle, later = document.gaps
    parts = [f"Part {at}" for at in range(5, 50, 5)]
    assert [one for one in middle.headings if one.startswith("Part")] == parts
    # Points are named as far as there is room for them, and the others counted.
    assert "headings there: " in document.full_content
    assert middle.more_headings + later.more_headings > 10
    assert f"; and {middle.more_headings} more ...]" in document.full_content


def test_so_many_headings_that_they_do_not_fit_are_named_from_all_over_the_document() -> None:
    text, spans = even(100, 1000)
    headings = [Heading(100 * at, 1, f"Paragraph {at}") for at in range(1000)]
    document = excerpt(sheet_of(text, spans), {}, 8000, headings=headings)
    [gap] = document.gaps
    assert len("; ".join(gap.headings)) <= 1000
    numbers = [int(one.split()[1]) for one in gap.headings]
    assert max(after - before for before, after in pairwise(numbers)) < 50


def test_a_heading_cannot_end_a_mark() -> None:
    text, spans = even(100, 1000)
    headings = [Heading(50_000, 1, "Fees ...]\nevidence>>> [id:3]")]
    document = excerpt(sheet_of(text, spans), {}, 3000, headings=headings)
    [gap] = document.gaps
    mark = document.full_content[gap.at : gap.end].strip()
    assert mark.count("[") == mark.count("]") == 1
    assert "\n" not in mark


def test_a_chunk_longer_than_the_limit_is_cut_and_what_stands_around_it_is_marked() -> None:
    text, spans = even(4, 1000)
    document = excerpt(sheet_of(text, spans), {1: 0.5}, 120)
    assert document.kind == "excerpt"
    assert document.full_content.startswith("[... chunk 0 omitted ...]\n")
    assert document.full_content.endswith("\n[... rest of chunk 1 and chunks 2-3 omitted ...]")
    assert excerpt(sheet_of(text, spans), {1: 0.5}, 3).passages == ()


@pytest.mark.parametrize("limit", [700, 2_500, 4_000, 8_000])
def test_chunks_that_do_not_fit_leave_both_ends_and_the_match(limit: int) -> None:
    text, spans = even(15, 4_000, 400)
    document = excerpt(sheet_of(text, spans), {7: 0.5}, limit)
    opening, match, ending = document.passages
    assert text.startswith(opening.text)
    assert text.endswith(ending.text)
    assert (match.first_chunk, match.last_chunk) == (7, 7)
    assert len(match.text) > len(opening.text) > len(ending.text)
    assert 0.8 * limit <= len(document.full_content) <= limit
    # The mark of a gap says which chunks beside it are shown in part.
    first, second = (mark(document, one) for one in document.gaps)
    assert first == "[... rest of chunk 0 and chunks 1-6 omitted ...]"
    rest = "" if match.end == spans[7].end else "rest of chunk 7, "
    assert second == f"[... {rest}chunks 8-13 and beginning of chunk 14 omitted ...]"
    assert [(one.first_chunk, one.last_chunk) for one in document.gaps] == [
        (0, 6),
        (8 - bool(rest), 14),
    ]
    assert [one.content for one in document.chunks] == [match.text]


@pytest.mark.parametrize(
    ("matches", "shown"),
    [
        ({}, [(0, 1), (14, 14)]),
        ({5: 0.5}, [(0, 0), (5, 6), (14, 14)]),
        ({1: 0.5}, [(0, 2), (14, 14)]),
    ],
)
def test_much_room_that_is_left_is_filled_with_a_part_of_the_next_chunk(
    matches: dict[int, float], shown: list[tuple[int, int]]
) -> None:
    text, spans = even(15, 4_000)
    limit = 4_000 * (2 + bool(matches)) + 3_000
    document = excerpt(sheet_of(text, spans), matches, limit)
    assert 0.9 * limit <= len(document.full_content) <= limit
    assert coverage(document) == shown
    assert [one.first_chunk for one in document.gaps if "rest of" in mark(document, one)]
    assert document.passages[-1].text == spans[14].of(text)


def test_a_part_of_a_chunk_before_what_is_shown_is_its_end() -> None:
    text, spans = even(15, 4_000)
    document = excerpt(sheet_of(text, spans), {}, 19_000)
    assert coverage(document) == [(0, 2), (13, 14)]
    assert document.passages[-1].text == text[document.passages[-1].start :]
    [gap] = document.gaps
    assert mark(document, gap) == "[... chunks 3-12 and beginning of chunk 13 omitted ...]"


def test_the_two_chunks_of_a_document_are_cut_where_they_meet() -> None:
    text, spans = even(2, 4_000)
    document = excerpt(sheet_of(text, spans), {}, 3_000)
    [gap] = document.gaps
    assert mark(document, gap) == "[... rest of chunk 0 and beginning of chunk 1 omitted ...]"
    opening, ending = document.passages
    assert 1.5 * len(ending.text) < len(opening.text) < 2.5 * len(ending.text)


def test_a_match_that_fits_is_not_cut_for_what_would_be_too_short_to_say_anything() -> None:
    text, spans = even(10, 100)
    document = excerpt(sheet_of(text, spans), {5: 0.5}, 160)
    assert coverage(document) == [(5, 5)]
    assert document.passages[0].text == spans[5].of(text)


def test_a_text_without_blanks_is_cut_between_characters() -> None:
    text = "e\u0301" * 4_000
    spans = [Span(at, at + 2_000) for at in range(0, 8_000, 2_000)]
    opening, ending = excerpt(sheet_of(text, spans), {}, 1_000).passages
    assert opening.text == text[: len(opening.text)]
    assert (len(opening.text) % 2, len(ending.text) % 2) == (0, 0)
    assert ending.text.startswith("e")


def test_an_excerpt_can_be_counted_in_tokens() -> None:
    text = prose(60_000)
    spans = chunk(text, ChunkingStrategy("chars", 1000, 150), boundaries="boundary")
    document = excerpt(sheet_of(text, spans), {30: 0.8}, 2000, tokens)
    assert 1600 <= tokens(document.full_content) <= 2000
    assert document.kind == "excerpt"


def test_a_part_of_a_document_is_never_called_the_whole() -> None:
    text, spans = even(10)
    document = excerpt(sheet_of(text, spans, range(1, 9)), {3: 0.5})
    assert document.kind == "excerpt"
    assert document.full_content.startswith("[... chunk 0 omitted ...]\n")
    assert document.full_content.endswith("\n[... chunk 9 omitted ...]")


def test_the_marks_of_an_excerpt_can_be_told_from_its_text() -> None:
    text = "[... chunks 1-2 omitted ...]" + prose(9972)
    spans = [Span(at, at + 100) for at in range(0, 10_000, 100)]
    document = excerpt(sheet_of(text, spans), {0: 0.9, 50: 0.5}, 1000)
    assert f"omitted, mark {document.tag} ...]" in document.full_content
    assert len(document.full_content) <= 1000
