"""Whether what was counted keeps to its budgets, in sentences."""

from collections.abc import Iterator, Mapping

WHERE = "tests/work/budgets.py"


def misfits(
    counted: Mapping[str, float],
    budgets: Mapping[str, float],
    *,
    above: float = 0.0,
    below: float = 0.0,
) -> list[str]:
    """What grew, and what fell so far that its budget no longer holds anything.

    `above` and `below` are the shares of a budget by which a count may be off.
    """
    return [*_misfits(counted, budgets, above, below)]


def _misfits(
    counted: Mapping[str, float], budgets: Mapping[str, float], above: float, below: float
) -> Iterator[str]:
    for what, count in counted.items():
        if what not in budgets:
            yield f"{what}: {count:.4g}, and {WHERE} has no budget for it"
        elif count > budgets[what] * (1 + above):
            yield f"{what}: grew from {budgets[what]:.4g} to {count:.4g}"
        elif count < budgets[what] * (1 - below):
            yield (
                f"{what}: fell from {budgets[what]:.4g} to {count:.4g}; lower its budget in"
                f" {WHERE}, so that it cannot grow again unseen"
            )
    for what in budgets:
        if what not in counted:
            yield f"{what}: {WHERE} has a budget for it, and nothing was counted"
