"""What a reply asks for, in every form."""

from datetime import UTC, datetime

import pytest

from unchunk.ports.replies import asked_wait

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Sun, 01 Mar 99999999999 12:00:00 GMT"}, None),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
    ],
)
def test_the_wait_that_an_answer_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, NOW) == seconds
