"""A sample of `bench.fuzz`: files cut at random and damaged at random; none is falsely sure."""

import pytest
from bench import fuzz


@pytest.mark.parametrize("seed", [1, 4])
def test_no_file_of_a_random_store_is_falsely_sure(seed: int) -> None:
    counts, false = fuzz.run(1500, seed, seconds=float("inf"))
    assert false == []
    assert sum(right for right, _ in counts.values()) > 100
    assert counts["verified"][1] == 0
