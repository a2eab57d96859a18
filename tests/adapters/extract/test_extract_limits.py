"""What may be set, and what a refusal says."""

import json

import pytest

from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.errors import ExtractionError, InvalidSettingError


@pytest.mark.parametrize("value", [0, -1, "many", True, None, 1.5])
def test_a_limit_is_a_whole_number_above_zero(value: object) -> None:
    with pytest.raises(InvalidSettingError, match="max_pages must be a whole number above 0"):
        Limits(max_pages=value)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("value", [0, -0.5, "long", float("nan")])
def test_seconds_are_a_number_above_zero(value: object) -> None:
    with pytest.raises(InvalidSettingError, match="seconds must be a number above 0"):
        Limits(seconds=value)  # type: ignore[arg-type]  # that is the point


def test_limits_travel_to_a_worker_and_stay_the_same() -> None:
    limits = Limits(seconds=0.25, max_pages=7)
    assert Limits.from_record(json.loads(json.dumps(limits.as_record()))) == limits


def test_a_refusal_names_the_setting_and_both_numbers() -> None:
    with pytest.raises(ExtractionError, match=r"10,000 pages.*max_pages is 5,000") as refused:
        Limits(max_pages=5000).check_pages(10_000)
    assert refused.value.code == "too-many-pages"
    with pytest.raises(ExtractionError, match=r"2,000 bytes, and max_bytes is 1,000"):
        Limits(max_bytes=1000).check_size(2000)


def test_small_files_may_expand_as_they_like_and_large_ones_may_not() -> None:
    limits = Limits(max_expansion=10)
    limits.check_expansion(32 * MiB, 1)
    limits.check_expansion(330 * MiB, 33 * MiB)
    with pytest.raises(ExtractionError, match="more than 10 times") as refused:
        limits.check_expansion(331 * MiB, 33 * MiB)
    assert refused.value.code == "expands-too-far"
