"""Parts fail while documents come and go and questions are asked: nothing is lost, half or mixed.

`python -m bench.chaos` does the same for as long as one likes.
"""

import asyncio
from pathlib import Path

import pytest
from bench.chaos import QUERIES, SETTINGS, TROUBLES, chaos, table

import towns
from stacks import stack


def test_whatever_fails_nothing_acknowledged_is_lost_and_nothing_untrue_is_shown(
    tmp_path: Path,
) -> None:
    if not towns.is_on():
        pytest.skip("it takes two minutes and all there is of the machine: pytest --stack cluster")
    with stack(tmp_path, settings=SETTINGS) as whole:
        seen = asyncio.run(chaos(whole))
        assert not seen.wrong, "\n".join([*seen.wrong, table(seen)])
    for trouble in TROUBLES:
        answered = sum(
            seen.counts[trouble.name, kind, outcome]
            for kind in QUERIES
            for outcome in ("good", "degraded")
        )
        assert answered, f"nobody was answered while {trouble.name}: {table(seen)}"
