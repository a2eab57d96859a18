"""The guard itself: what it lets pass, and what it says."""

from work.holding import WHERE, misfits

BUDGETS = {"reads": 10.0, "writes": 4.0}


def test_what_is_as_its_budget_says_passes() -> None:
    assert misfits({"reads": 10, "writes": 4}, BUDGETS) == []


def test_what_grew_is_told_from_what_to_what() -> None:
    assert misfits({"reads": 11, "writes": 4}, BUDGETS) == ["reads: grew from 10 to 11"]


def test_a_share_above_and_below_passes_and_no_more() -> None:
    def off_by(share: float) -> list[str]:
        return misfits({"reads": 10 * (1 + share), "writes": 4}, BUDGETS, above=0.1, below=0.4)

    assert off_by(0.09) == off_by(-0.39) == []
    assert off_by(0.11) == ["reads: grew from 10 to 11.1"]
    assert off_by(-0.41)[0].startswith("reads: fell from 10 to 5.9; lower its budget in ")


def test_what_has_no_budget_and_what_is_not_counted_are_told() -> None:
    assert misfits({"reads": 10, "fetches": 1}, BUDGETS) == [
        f"fetches: 1, and {WHERE} has no budget for it",
        f"writes: {WHERE} has a budget for it, and nothing was counted",
    ]
