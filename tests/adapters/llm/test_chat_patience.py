"""How long to wait, without waiting."""

from datetime import UTC, datetime

import pytest

from unchunk.adapters.llm.patience import Patience, asked_wait

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:09 GMT"}, 9.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:09 -0000"}, 9.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
    ],
)
def test_what_a_provider_asks_for_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_wait(headers, NOW) == seconds


def test_waits_double_vary_and_stay_below_a_bound() -> None:
    patience = Patience(first_wait=1.0, longest_wait=4.0)
    for failures, bound in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 4.0)):
        waits = [patience.wait(failures, None) for _ in range(50)]
        assert all(bound / 2 <= wait <= bound for wait in waits)
        assert len(set(waits)) > 1
    assert patience.wait(1, 77.0) == 77.0
