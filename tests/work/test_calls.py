"""What a library asks of its engine, its catalog and its embedder does not grow."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from unchunk.domain import Scored, Terms, Within
from unchunk.ports import Index, Vectors
from unchunk.retrieval import sighting
from work.budgets import CALLS
from work.calls import asked
from work.holding import misfits


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    return asked(tmp_path_factory.mktemp("calls"))


def test_every_step_has_a_budget(counted: dict[str, dict[str, int]]) -> None:
    assert list(counted) == list(CALLS)


@pytest.mark.parametrize("step", CALLS)
def test_a_step_asks_as_often_as_its_budget_says(
    counted: dict[str, dict[str, int]], step: str
) -> None:
    assert not misfits(counted[step], CALLS[step]), f"of {step}"


def test_a_question_that_asks_more_often_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one_by_one(
        index: Index, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        return await asyncio.gather(*(index.search(one, within, limit) for one in queries))

    monkeypatch.setattr(sighting, "search_many", one_by_one)
    step = "a question"
    assert misfits(asked(tmp_path)[step], CALLS[step]) == ["engine: search: grew from 1 to 2"]
