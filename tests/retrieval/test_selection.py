"""What is worth its place, and what stays when there is not room for all."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sheets import coverage, cuttings, even, prose, sheet_of, without_marks
from unchunk.domain import Span
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.reconstruct import merge, wanted
from unchunk.retrieval.selection import GONE, NO_ROOM, NO_ROOM_BESIDE, Draft, select
from unchunk.text.tokens import get_encoding

Cutting = tuple[str, list[Span]]


def draft_of(
    cutting: Cutting,
    scores: dict[int, float],
    values: dict[int, float] | None = None,
    name: str = "a.txt",
    reach: int = 1,
) -> Draft:
    text, spans = cutting
    asked = wanted(scores, len(spans), reach)
    return Draft(sheet_of(text, spans, asked, name=name), scores, values or {})


def hits_of(document: ReconstructedDocument) -> set[int]:
    return {one.chunk_index for one in document.chunks}


def tokens(text: str) -> int:
    return len(get_encoding("cl100k_base").encode(text))


# ---- what comes along


def test_a_hit_brings_what_stands_beside_it() -> None:
    (document,) = select([draft_of(even(10), {4: 0.8})]).documents
    assert coverage(document) == [(3, 5)]
    assert hits_of(document) == {4}


def test_a_hit_that_is_weak_beside_the_best_one_brings_its_neighbours_too() -> None:
    drafts = [
        draft_of(even(10), {4: 0.8}, {4: 1.0}),
        draft_of(even(10, seed=1), {4: 0.3, 5: 0.3}, {4: 0.2, 5: 0.1}, name="b.txt"),
    ]
    strong, weak = select(drafts).documents
    assert coverage(strong) == [(3, 5)]
    assert coverage(weak) == [(3, 6)]


def test_of_two_neighbours_the_one_that_is_known_to_be_relevant_stays_longer() -> None:
    draft = draft_of(even(10), {4: 0.3}, {4: 0.1, 5: 0.6})
    (document,) = select([draft], budget=250).documents
    assert coverage(document) == [(4, 5)]


def test_without_reach_there_are_hits_and_nothing_else() -> None:
    (document,) = select([draft_of(even(10), {4: 0.8, 6: 0.8})], reach=0).documents
    assert coverage(document) == [(4, 4), (6, 6)]


def test_a_longer_reach_brings_more() -> None:
    (document,) = select([draft_of(even(20), {9: 0.8, 11: 0.1}, reach=3)], reach=3).documents
    assert coverage(document) == [(6, 14)]


def test_near_hits_come_back_as_one_passage() -> None:
    (document,) = select([draft_of(even(12), {2: 0.9, 6: 0.8})]).documents
    assert coverage(document) == [(1, 7)]


def test_a_hole_as_long_as_two_chunks_stays_open() -> None:
    (document,) = select([draft_of(even(12), {2: 0.9, 7: 0.8})]).documents
    assert coverage(document) == [(1, 3), (6, 8)]
    assert "[... chunks 4-5 omitted ...]" in document.full_content


def test_a_hole_of_two_short_chunks_is_filled() -> None:
    text = prose(900)
    ends = [0, 100, 200, 300, 400, 430, 460, 560, 660, 760]
    spans = [Span(*pair) for pair in pairwise(ends)]
    (document,) = select([draft_of((text, spans), {2: 0.9, 7: 0.8})]).documents
    assert coverage(document) == [(1, 8)]


def test_a_hole_is_not_filled_for_what_is_worth_less_than_it() -> None:
    values = {2: 1.0, 6: 0.2}
    (document,) = select([draft_of(even(12), values, values)]).documents
    assert coverage(document) == [(1, 3), (5, 7)]


def test_hits_on_both_sides_of_a_hole_count_together() -> None:
    values = {2: 1.0, 6: 0.2, 7: 0.2}
    (document,) = select([draft_of(even(12), values, values)]).documents
    assert coverage(document) == [(1, 8)]


def test_what_was_joined_counts_together_at_the_next_hole() -> None:
    ends = [0, 100, 150, 250, 350, 450, 550, 650]
    spans = [Span(*pair) for pair in pairwise(ends)]
    values = {0: 0.2, 2: 0.2, 5: 1.0}
    (document,) = select([draft_of((prose(700), spans), values, values)]).documents
    assert coverage(document) == [(0, 6)]


def test_hits_all_over_a_document_of_500_chunks_come_back_as_four_passages_in_order() -> None:
    hits = dict.fromkeys([85, 411, 420, 86, 7, 6], 0.8)
    (document,) = select([draft_of(even(500, 100, 20), hits)]).documents
    assert coverage(document) == [(5, 8), (84, 87), (410, 412), (419, 421)]
    assert len(document.gaps) <= 4


def test_a_document_that_is_shown_whole_is_called_so() -> None:
    single, several, part = select(
        [
            draft_of(even(1), {0: 0.9}),
            draft_of(even(3), {1: 0.9}),
            draft_of(even(4), {1: 0.9}),
        ]
    ).documents
    assert [one.kind for one in (single, several, part)] == [
        "full document",
        "full document",
        "passages",
    ]


def test_a_hit_that_is_no_longer_there_is_said_to_be_gone() -> None:
    text, spans = even(10)
    draft = Draft(sheet_of(text, spans, [2, 3]), {2: 0.5, 7: 0.9}, {})
    selected = select([draft])
    assert coverage(selected.documents[0]) == [(2, 3)]
    (omission,) = selected.omitted
    assert (omission.chunks, omission.score, omission.reason) == (((7, 7),), 0.9, GONE)
    nothing = select([Draft(sheet_of(text, spans, []), {2: 0.5}, {})], budget=10)
    assert nothing.documents == ()
    assert nothing.omitted[0].chunks == ((2, 2),)


def test_of_nothing_comes_nothing() -> None:
    assert select([], budget=0).documents == ()
    assert select([draft_of(even(3), {})], budget=-1).documents == ()


def test_one_tag_is_on_the_marks_of_all_documents() -> None:
    text = "[... chunks 1-2 omitted ...]" + prose(972)
    spans = [Span(at, at + 100) for at in range(0, 1000, 100)]
    drafts = [
        draft_of((text, spans), {0: 0.9, 7: 0.5}),
        draft_of(even(12), {0: 0.9, 9: 0.5}, name="b.txt"),
    ]
    first, second = select(drafts).documents
    assert first.tag == second.tag
    assert f"omitted, mark {first.tag} ...]" in first.full_content
    assert f"omitted, mark {first.tag} ...]" in second.full_content


# ---- what stays where there is little room


@st.composite
def searches(draw: st.DrawFn) -> list[Draft]:
    drafts = []
    for place in range(draw(st.integers(1, 4))):
        cutting = draw(cuttings())
        hits = draw(st.lists(st.integers(0, 25), max_size=6))
        share = st.floats(0, 1)
        values = {hit: draw(share) for hit in hits}
        scores = {hit: values[hit] / 2 for hit in hits if hit < len(cutting[1])}
        drafts.append(draft_of(cutting, scores, values, name=f"{place}.txt"))
    return drafts


def awkward(text: str) -> int:
    """As a tokenizer: not additive, and not in proportion to the length."""
    return len(text.split()) + len(text) // 3 + 2


MEASURES: list[Callable[[str], int]] = [len, awkward]


@given(searches(), st.integers(0, 400), st.sampled_from(MEASURES))
@settings(max_examples=400, deadline=None)
def test_what_is_shown_never_exceeds_the_budget(
    drafts: list[Draft], budget: int, measure: Callable[[str], int]
) -> None:
    def size(one: ReconstructedDocument) -> int:
        return measure(one.full_content)

    shown = select(drafts, budget=budget, size=size).documents
    assert sum(map(size, shown)) <= budget or not shown


@given(searches(), st.integers(0, 400))
@settings(max_examples=400, deadline=None)
def test_every_hit_is_shown_or_listed(drafts: list[Draft], budget: int) -> None:
    selected = select(drafts, budget=budget)
    shown = {one.document: hits_of(one) for one in selected.documents}
    left, cut = set(), set()
    for omission in selected.omitted:
        chunks = {i for first, last in omission.chunks for i in range(first, last + 1)}
        if omission.reason.startswith("cut short"):
            cut |= {(omission.document, index) for index in chunks}
        elif omission.score is not None:
            left |= {(omission.document, index) for index in chunks}
    assert len(cut) <= 1
    for draft in drafts:
        for hit in draft.scores:
            is_shown = hit in shown.get(draft.sheet.document, ())
            assert is_shown != ((draft.sheet.document, hit) in left)


@given(
    st.lists(
        st.dictionaries(st.integers(0, 19), st.floats(0, 1), min_size=1), min_size=1, max_size=4
    ),
    st.integers(100, 2500),
)
@settings(max_examples=300, deadline=None)
def test_no_better_hit_leaves_while_a_worse_one_stays(
    values: list[dict[int, float]], budget: int
) -> None:
    drafts = [draft_of(even(20), one, one, name=f"{at}.txt") for at, one in enumerate(values)]
    shown = {one.document: hits_of(one) for one in select(drafts, budget=budget).documents}
    kept = [d.values[h] for d in drafts for h in shown.get(d.sheet.document, ())]
    gone = [d.values[h] for d in drafts for h in d.scores.keys() - shown.get(d.sheet.document, ())]
    assert min(kept) >= max(gone, default=0.0)


def long_hit_beside_short_context() -> list[Draft]:
    text = prose(400)[:400] + "Fee: 5 euros per night."
    sheet = sheet_of(text, [Span(0, 400), Span(400, len(text))])
    return [Draft(sheet, {0: 0.9}, {0: 1.0, 1: 0.9})]


@given(searches(), st.integers(0, 400))
@example(long_hit_beside_short_context(), 40)
@settings(max_examples=300, deadline=None)
def test_no_hit_leaves_while_context_stays(drafts: list[Draft], budget: int) -> None:
    selected = select(drafts, budget=budget)
    reasons = [one.reason for one in selected.omitted]
    if NO_ROOM not in reasons or any(one.startswith("cut short") for one in reasons):
        return
    sheets = {draft.sheet.document: draft.sheet for draft in drafts}
    for document in selected.documents:
        alone = merge(sheets[document.document], hits_of(document))
        assert [one.text for one in document.passages] == [one.text for one in alone]


@given(searches())
@settings(max_examples=300, deadline=None)
def test_with_room_for_all_every_hit_is_there_and_no_character_twice(drafts: list[Draft]) -> None:
    selected = select(drafts)
    assert not selected.omitted
    shown = {one.document: one for one in selected.documents}
    for draft in drafts:
        assert (draft.sheet.document in shown) == bool(draft.scores)
        if draft.scores:
            document = shown[draft.sheet.document]
            assert hits_of(document) == set(draft.scores)
            ends = [0, *(end for one in document.passages for end in (one.start, one.end))]
            assert ends == sorted(ends)
            assert without_marks(document) == "".join(one.text for one in document.passages)


def test_context_leaves_before_any_hit_and_the_weakest_hit_before_others() -> None:
    drafts = [
        draft_of(even(10), {2: 0.9, 7: 0.5}, {2: 1.0, 7: 0.5}),
        draft_of(even(10, seed=1), {4: 0.7}, {4: 0.8}, name="b.txt"),
    ]
    whole = sum(len(one.full_content) for one in select(drafts).documents)
    less = select(drafts, budget=whole - 1)
    assert [hits_of(one) for one in less.documents] == [{2, 7}, {4}]
    assert {one.reason for one in less.omitted} == {NO_ROOM_BESIDE}
    assert all(one.score is None for one in less.omitted)
    few = select(drafts, budget=250)
    assert [hits_of(one) for one in few.documents] == [{2}, {4}]
    hit, *rest = few.omitted
    assert (hit.name, hit.chunks, hit.score, hit.reason) == ("a.txt", ((7, 7),), 0.5, NO_ROOM)
    assert [one.chunks for one in rest] == [((1, 1), (3, 3), (6, 6), (8, 8)), ((3, 3), (5, 5))]
    one = select(drafts, budget=100)
    assert [hits_of(document) for document in one.documents] == [{2}]
    assert ("b.txt", ((4, 4),)) in {(omission.name, omission.chunks) for omission in one.omitted}


def test_the_context_of_the_best_hit_stays_longest() -> None:
    drafts = [
        draft_of(even(10), {4: 0.9}, {4: 1.0}),
        draft_of(even(10, seed=1), {4: 0.7}, {4: 0.5}, name="b.txt"),
    ]
    first, second = select(drafts, budget=400).documents
    assert (coverage(first), coverage(second)) == ([(3, 5)], [(4, 4)])


def test_a_bridge_leaves_with_what_it_stands_on() -> None:
    draft = draft_of(even(12), {2: 0.9, 6: 0.8})
    sizes = []
    for budget in range(200, 800, 20):
        (document,) = select([draft], budget=budget).documents
        assert all(a <= 2 and b >= 6 for a, b in coverage(document) if a <= 4 <= b)
        sizes.append(len(document.full_content))
    assert sizes == sorted(sizes)


def test_a_best_hit_that_does_not_fit_is_cut_behind_a_sentence_and_it_is_said() -> None:
    text = "One sentence stands here. Another one follows it. " * 4
    selected = select([draft_of((text, [Span(0, len(text))]), {0: 0.9})], budget=100)
    (document,) = selected.documents
    assert document.full_content == (
        "One sentence stands here. Another one follows it. \n[... rest of chunk 0 omitted ...]"
    )
    (gap,) = document.gaps
    assert document.full_content[gap.at : gap.end] == "\n[... rest of chunk 0 omitted ...]"
    assert without_marks(document) == document.passages[0].text == text[:50]
    assert document.kind == "passages"
    (omission,) = selected.omitted
    assert (omission.chunks, omission.score) == (((0, 0),), 0.9)
    assert omission.reason == f"cut short: 50 of its {len(text)} characters fit the budget"


def test_where_no_sentence_fits_it_is_cut_behind_a_word() -> None:
    text = "a sentence without any end that goes on and on and on and on and on"
    draft = draft_of((text, [Span(0, len(text))]), {0: 0.9})
    (document,) = select([draft], budget=60).documents
    assert document.passages[0].text == "a sentence without any end"
    # A word or two say nothing.
    assert select([draft], budget=50).documents == ()


@pytest.mark.parametrize(
    "text",
    [
        "Fees. " + "berth by berth, " * 40,
        "Fees of the year. " + "x" * 600,
        "港口每晚的费用是二十二欧元，" * 40,
        "ค่าธรรมเนียมท่าเรือ" * 40,
        "1,2,3;" * 100,
    ],
    ids=["sentence", "base64", "Chinese", "Thai", "CSV"],
)
def test_a_cut_hit_uses_most_of_the_room_whatever_its_text_is_like(text: str) -> None:
    drafts = [
        draft_of((text, [Span(0, len(text))]), {0: 0.9}),
        draft_of(even(1, 40), {0: 0.5}, {0: 0.5}, name="b.txt"),
    ]
    selected = select(drafts, budget=300)
    (document,) = selected.documents
    assert document.name == "a.txt"
    assert 240 < len(document.full_content) <= 300
    assert [one.name for one in selected.omitted] == ["a.txt", "b.txt"]


def test_where_the_best_hit_cannot_even_be_cut_the_next_one_that_fits_is_shown() -> None:
    drafts = [
        draft_of(even(1, 400), {0: 0.9}),
        draft_of(even(1, 40), {0: 0.5}, {0: 0.5}, name="b.txt"),
    ]
    selected = select(drafts, budget=45)
    assert [one.name for one in selected.documents] == ["b.txt"]
    assert [(one.name, one.reason) for one in selected.omitted] == [("a.txt", NO_ROOM)]


def test_where_nothing_fits_nothing_is_shown_and_all_is_listed() -> None:
    selected = select([draft_of(even(4), {1: 0.9, 2: 0.4})], budget=20)
    assert selected.documents == ()
    assert [(one.chunks, one.reason) for one in selected.omitted] == [
        (((1, 2),), NO_ROOM),
        (((0, 0), (3, 3)), NO_ROOM_BESIDE),
    ]


def test_others_that_did_not_fit_beside_a_cut_hit_are_listed_too() -> None:
    drafts = [
        draft_of(even(4, 400), {1: 0.9}),
        draft_of(even(4, 400, seed=1), {1: 0.4}, {1: 0.4}, name="b.txt"),
    ]
    selected = select(drafts, budget=300)
    assert [one.name for one in selected.documents] == ["a.txt"]
    assert [(one.name, one.chunks) for one in selected.omitted] == [
        ("a.txt", ((1, 1),)),
        ("b.txt", ((1, 1),)),
        ("a.txt", ((0, 0), (2, 2))),
        ("b.txt", ((0, 0), (2, 2))),
    ]


def test_a_hit_whose_text_is_there_anyway_is_not_listed() -> None:
    drafts = [
        draft_of(even(3, 100, 50), {0: 0.9, 1: 0.1, 2: 0.8}, {0: 1.0, 1: 0.1, 2: 0.9}),
        draft_of(even(3), {1: 0.5}, {1: 0.5}, name="b.txt"),
    ]
    selected = select(drafts, budget=200)
    assert [hits_of(one) for one in selected.documents] == [{0, 1, 2}]
    assert {one.name for one in selected.omitted} == {"b.txt"}


def library(documents: int, hits: Iterable[int], length: int = 1000) -> list[Draft]:
    drafts = []
    for place in range(documents):
        cutting = even(60, length, length // 7, seed=place)
        values = {hit: 1 / (1 + place + at) for at, hit in enumerate(hits)}
        drafts.append(draft_of(cutting, values, values, name=f"{place}.txt"))
    return drafts


@pytest.mark.parametrize("share", [0.02, 0.1, 0.37, 0.5, 0.9, 0.99])
def test_tokens_are_counted_a_few_times_per_document_and_the_budget_is_used(share: float) -> None:
    drafts = library(10, [3, 4, 9, 20, 40])
    whole = sum(tokens(one.full_content) for one in select(drafts).documents)
    calls = 0

    def counting(document: ReconstructedDocument) -> int:
        nonlocal calls
        calls += 1
        return tokens(document.full_content)

    budget = int(whole * share)
    shown = select(drafts, budget=budget, size=counting).documents
    used = sum(tokens(one.full_content) for one in shown)
    assert calls <= 40
    # At most about one chunk, which is what did not fit, is left of the budget.
    assert budget - 350 <= used <= budget
