"""A result is as sure as its least sure joint, and counts what it lacks."""

from dataclasses import FrozenInstanceError
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.text.stitching.seams import Confidence, Seam, Stitched, worst

FROM_THE_SUREST: tuple[Confidence, ...] = (
    "verified",
    "consensus",
    "exact",
    "normalized",
    "assumed",
    "ambiguous",
    "lossy",
    "none",
)
confidences = st.lists(st.sampled_from(FROM_THE_SUREST))


def test_there_are_eight_confidences() -> None:
    assert get_args(Confidence) == FROM_THE_SUREST


@given(confidences.filter(bool))
def test_the_worst_is_the_one_furthest_from_verified(given_ones: list[Confidence]) -> None:
    assert worst(given_ones) == FROM_THE_SUREST[max(map(FROM_THE_SUREST.index, given_ones))]


@given(confidences, confidences)
def test_more_joints_never_make_a_file_surer(
    some: list[Confidence], more: list[Confidence]
) -> None:
    assert worst([worst(some), worst([*some, *more])]) == worst([*some, *more])


def test_where_nothing_can_be_wrong_the_worst_is_verified() -> None:
    assert worst([]) == "verified"


def test_a_result_counts_the_chunks_missing_at_all_of_its_joints() -> None:
    seams = tuple(Seam(at, at, 0, "assumed", "touch", missing) for at, missing in enumerate([1, 2]))
    assert Stitched("text", seams, "assumed").missing == 3
    assert Stitched("text", (), "exact").missing == 0


@pytest.mark.parametrize(
    ("order", "reordered"),
    [((), False), ((0,), False), ((0, 1, 2), False), ((1, 0), True), ((0, 2, 1), True)],
)
def test_a_result_says_whether_its_chunks_came_in_another_order(
    order: tuple[int, ...], reordered: bool
) -> None:
    assert Stitched("text", (), "exact", order=order).reordered is reordered


def test_results_and_joints_cannot_be_changed() -> None:
    seam = Seam(1, 0, 0, "exact", "border")
    result = Stitched("text", (seam,), "exact")
    with pytest.raises(FrozenInstanceError):
        seam.confidence = "verified"  # type: ignore[misc]  # the point of the test
    with pytest.raises(FrozenInstanceError):
        result.text = "other"  # type: ignore[misc]  # the point of the test
