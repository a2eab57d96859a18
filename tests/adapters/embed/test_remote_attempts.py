from unchunk.adapters.embed.attempts import Patience


def test_waits_are_spread_between_nothing_and_a_bound_that_doubles() -> None:
    patience = Patience(first_wait=1, longest_wait=5)
    for failures, bound in ((1, 1), (2, 2), (3, 4), (4, 5), (60, 5)):
        waits = [patience.wait(failures, None) for _ in range(300)]
        assert 0 <= min(waits) < bound * 0.2
        assert bound * 0.8 < max(waits) <= bound


def test_a_wait_that_was_asked_for_goes_before() -> None:
    assert Patience(longest_wait=5).wait(1, 77.0) == 77.0
