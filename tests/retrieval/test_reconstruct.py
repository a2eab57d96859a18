"""Which chunks are asked for, and how they become documents again."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets import coverage, cuttings, even, sheet_of, without_marks
from unchunk.domain import Chunk, ChunkingStrategy, Span
from unchunk.retrieval.reconstruct import assemble, wanted
from unchunk.retrieval.shelf import Piece, Sheet
from unchunk.text.chunking import chunk

Cutting = tuple[str, list[Span]]
some_indices = st.lists(st.integers(0, 25), max_size=12)


@given(cuttings(), some_indices, st.integers(0, 3))
@settings(max_examples=400, deadline=None)
def test_what_comes_back_is_slices_of_the_text_in_order_and_has_every_hit(
    cutting: Cutting, hits: list[int], reach: int
) -> None:
    text, spans = cutting
    found = {hit: 1.0 for hit in hits if hit < len(spans)}
    asked = wanted(found, len(spans), reach)
    document = assemble(sheet_of(text, spans, asked), asked, found)
    covered = 0
    for passage in document.passages:
        assert covered <= passage.start <= passage.end
        assert passage.text == text[passage.start : passage.end]
        covered = passage.end
    assert without_marks(document) == "".join(one.text for one in document.passages)
    for hit in found:
        assert any(
            one.start <= spans[hit].start and spans[hit].end <= one.end for one in document.passages
        )
    assert [one.chunk_index for one in document.chunks] == sorted(found)
    assert [one.content for one in document.chunks] == [spans[i].of(text) for i in sorted(found)]


@given(cuttings(), some_indices)
@settings(max_examples=300, deadline=None)
def test_every_mark_is_where_the_gaps_say_and_stands_on_a_line_of_its_own(
    cutting: Cutting, hits: list[int]
) -> None:
    text, spans = cutting
    document = assemble(sheet_of(text, spans), hits, {})
    assert len(document.gaps) == max(len(document.passages) - 1, 0)
    for gap in document.gaps:
        mark = document.full_content[gap.at : gap.end]
        assert re.fullmatch(r"\n\[\.\.\. [^\n]* omitted(, mark \w+)? \.\.\.\]\n", mark)


@given(cuttings(), some_indices)
@settings(max_examples=200, deadline=None)
def test_passages_do_not_touch_so_that_no_mark_stands_for_nothing(
    cutting: Cutting, hits: list[int]
) -> None:
    text, spans = cutting
    passages = assemble(sheet_of(text, spans), hits, {}).passages
    assert all(a.end < b.start for a, b in pairwise(passages))


def test_hits_all_over_a_document_of_500_chunks_come_back_as_four_passages_in_order() -> None:
    text, spans = even(500, 100, 20)
    hits = dict.fromkeys([85, 411, 420, 86, 7, 6], 0.8)
    asked = wanted(hits, 500)
    document = assemble(sheet_of(text, spans, asked), asked, hits)
    assert coverage(document) == [(5, 8), (84, 87), (410, 412), (419, 421)]
    assert document.chunk_coverage == "chunks 5-8,84-87,410-412,419-421 of 500"
    assert len(document.gaps) <= 4
    assert [(gap.first_chunk, gap.last_chunk) for gap in document.gaps] == [
        (9, 83),
        (88, 409),
        (413, 418),
    ]


def test_a_document_of_a_single_chunk_comes_back_whole() -> None:
    sheet = sheet_of("All of it.", [Span(0, 10)])
    assert wanted([0], 1) == [0]
    document = assemble(sheet, [0], {0: 0.9})
    assert (document.full_content, document.gaps) == ("All of it.", ())
    assert document.chunk_coverage == "chunks 0 of 1"


def test_several_chunks_are_merged_with_what_stands_beside_them() -> None:
    text, spans = even(10, 100, 25)
    assert wanted([2, 5, 7], 10) == [1, 2, 3, 4, 5, 6, 7, 8]
    document = assemble(sheet_of(text, spans), wanted([2, 5, 7], 10), {2: 0.9, 5: 0.8, 7: 0.7})
    assert document.chunk_coverage == "chunks 1-8 of 10"
    assert document.full_content == text[spans[1].start : spans[8].end]
    assert document.max_score == 0.9
    assert document.avg_score == pytest.approx(0.8)


def test_a_gap_says_which_chunks_are_omitted() -> None:
    text, spans = even(12)
    hits = dict.fromkeys([1, 2, 3, 8, 9, 10], 0.7)
    document = assemble(sheet_of(text, spans), wanted(hits, 12, reach=0), hits)
    assert document.full_content == (
        f"{text[100:400]}\n[... chunks 4-7 omitted ...]\n{text[800:1100]}"
    )
    assert document.chunk_coverage == "chunks 1-3,8-10 of 12"


def test_a_gap_of_one_chunk_is_named_as_one() -> None:
    text, spans = even(4)
    document = assemble(sheet_of(text, spans), [0, 2], {})
    assert "\n[... chunk 1 omitted ...]\n" in document.full_content


def test_no_mark_stands_before_the_first_passage_or_behind_the_last() -> None:
    text, spans = even(9)
    document = assemble(sheet_of(text, spans), [4], {4: 1.0})
    assert document.full_content == text[400:500]


def test_a_chunk_that_was_not_chosen_counts_in_where_its_neighbours_have_all_its_text() -> None:
    text, spans = even(3, 100, 50)
    document = assemble(sheet_of(text, spans), [0, 2], {0: 1.0, 1: 0.5, 2: 1.0})
    assert document.chunk_coverage == "chunks 0-2 of 3"
    assert document.full_content == text
    assert [one.chunk_index for one in document.chunks] == [0, 1, 2]


def test_a_chunk_inside_another_adds_nothing() -> None:
    text = "0123456789"
    document = assemble(sheet_of(text, [Span(0, 8), Span(2, 4), Span(6, 10)]), [0, 1, 2], {})
    assert document.full_content == text


def test_text_that_no_chunk_has_is_marked_too() -> None:
    document = assemble(sheet_of("one---two", [Span(0, 3), Span(6, 9)]), [0, 1], {})
    assert document.full_content == "one\n[... text between chunks 0 and 1 omitted ...]\ntwo"


def test_chunks_that_are_not_there_are_left_out() -> None:
    text, spans = even(5)
    document = assemble(sheet_of(text, spans, [1]), [0, 1, 2, 77], {1: 0.5, 2: 0.4})
    assert document.full_content == text[100:200]
    assert [one.chunk_index for one in document.chunks] == [1]


def test_of_nothing_comes_an_empty_document() -> None:
    document = assemble(sheet_of("", []), [], {})
    assert (document.full_content, document.passages, document.chunks) == ("", (), ())


def test_a_passage_knows_its_pages_and_what_all_of_it_stands_under() -> None:
    places = [
        Chunk(0, 0, 2, 1, 1, ("A", "B")),
        Chunk(1, 2, 4, 1, 3, ("A", "C")),
        Chunk(2, 4, 6, 3, 4, ("A", "C", "D")),
        Chunk(4, 8, 10, None, None, ("E",)),
    ]
    pieces = {one.chunk_index: Piece(one, "0123456789"[one.start : one.end]) for one in places}
    sheet = Sheet("id", "a.pdf", "", "", "application/pdf", 5, pieces)
    first, second = assemble(sheet, pieces, {}).passages
    assert (first.first_page, first.last_page, first.heading_path) == (1, 4, ("A",))
    assert (second.first_page, second.last_page, second.heading_path) == (None, None, ("E",))
    (deeper,) = assemble(sheet, [1, 2], {}).passages
    assert deeper.heading_path == ("A", "C")


def test_a_documents_own_mark_is_told_from_ours() -> None:
    text = "[... chunks 1-2 omitted ...]" + "x" * 72 + "y" * 200
    document = assemble(sheet_of(text, [Span(0, 100), Span(100, 200), Span(200, 300)]), [0, 2], {})
    assert document.tag
    assert f"\n[... chunk 1 omitted, mark {document.tag} ...]\n" in document.full_content
    assert document.full_content.startswith("[... chunks 1-2 omitted ...]x")


def test_a_mark_that_is_cut_in_two_by_chunks_is_seen_all_the_same() -> None:
    text = "before [.. . chunks 4-7 omitted ...] behind"
    spans = [Span(0, 8), Span(8, 20), Span(20, len(text))]
    assert assemble(sheet_of(text, spans), [0, 1, 2], {}).tag


def test_what_the_sheet_says_of_the_document_is_kept() -> None:
    sheet = replace(
        sheet_of("text", [Span(0, 4)], title="A title", metadata={"project_name": "P"}),
        folder="plans",
    )
    document = assemble(sheet, [0], {}, "excerpt")
    assert (document.title, document.folder, document.kind) == ("A title", "plans", "excerpt")
    assert document.metadata == {"project_name": "P"}


@pytest.mark.parametrize(
    ("hits", "count", "reach", "expected"),
    [
        ([], 10, 1, []),
        ([0], 10, 1, [0, 1]),
        ([9], 10, 1, [8, 9]),
        ([9], None, 1, [8, 9, 10]),
        ([3, 3], 10, 2, [1, 2, 3, 4, 5]),
        ([2, 6], 10, 1, [1, 2, 3, 4, 5, 6, 7]),
        ([2, 7], 10, 1, [1, 2, 3, 4, 5, 6, 7, 8]),
        ([2, 8], 10, 1, [1, 2, 3, 7, 8, 9]),
        ([2, 4], 10, 0, [2, 4]),
        ([-1, 10, 4], 10, 1, [3, 4, 5]),
    ],
)
def test_what_is_asked_for_is_the_hits_what_is_beside_them_and_short_holes(
    hits: list[int], count: int | None, reach: int, expected: list[int]
) -> None:
    assert wanted(hits, count, reach) == expected


def test_real_chunks_of_a_long_text_join_to_what_the_text_says() -> None:
    text, _ = even(200, 120)
    spans = chunk(text, ChunkingStrategy("chars", 300, 100), boundaries="boundary")
    asked = wanted([3, 9, 40, 41], len(spans))
    document = assemble(sheet_of(text, spans, asked), asked, {3: 1.0})
    for passage in document.passages:
        assert passage.text == text[passage.start : passage.end]
    assert sum(len(one.text) for one in document.passages) == len(without_marks(document))
