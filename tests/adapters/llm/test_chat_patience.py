"""How long to wait, without waiting."""

from unchunk.adapters.llm.patience import Patience


def test_waits_double_vary_and_stay_below_a_bound() -> None:
    patience = Patience(first_wait=1.0, longest_wait=4.0)
    for failures, bound in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 4.0)):
        waits = [patience.wait(failures, None) for _ in range(50)]
        assert all(bound / 2 <= wait <= bound for wait in waits)
        assert len(set(waits)) > 1
    assert patience.wait(1, 77.0) == 77.0
