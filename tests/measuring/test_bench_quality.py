import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench import known, rivals
from bench.contexts import NOTHING, Outcome, as_many, outcome
from bench.figures import OURS, Table
from bench.measures import quality
from bench.paired import behind, difference, differences
from bench.peers.quality_asked import FEW, grown, located
from bench.running import Run
from bench.vectors import KeptVectors

from evaluation import small_sets
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.evaluation.questions import Range
from unchunk.ports import Role, Vectors


def test_the_same_figures_differ_by_nothing() -> None:
    assert difference([0.2, 0.9, 0.5], [0.2, 0.9, 0.5]) == (0.0, 0.0, 0.0, 1.0)


def test_the_gain_is_ours_less_theirs_and_p_is_exact_where_few_questions_differ() -> None:
    found = difference([1.0] * 5, [0.0] * 5)
    assert found[:3] == (1.0, 1.0, 1.0)
    # Of the 32 ways to give the signs, two are as far from nothing.
    assert found.p == 2 / 32


def test_one_question_among_many_is_not_sure() -> None:
    found = difference([1.0] + [0.5] * 9, [0.0] + [0.5] * 9)
    assert found.gain == pytest.approx(0.1)
    assert found.low == 0.0
    assert found.p == 1.0


def test_questions_are_paired() -> None:
    """Their spread is large, but on each question ours is a little better."""
    theirs = [at / 40 for at in range(40)]
    found = difference([one + 0.01 for one in theirs], theirs)
    assert found.low == pytest.approx(found.high) == pytest.approx(0.01)
    assert found.p < 0.001


def test_the_nearest_rival_comes_first() -> None:
    every = {OURS: [0.5, 0.5], "far": [0.1, 0.1], "ahead": [0.9, 0.9], "near": [0.4, 0.4]}
    assert list(differences(every)) == ["ahead", "near", "far"]


def test_a_peer_that_is_ahead_is_told_with_its_interval_the_right_way_round() -> None:
    chance = behind("Peer", difference([0.0, 0.5], [1.0, 0.5]).turned)
    assert chance.startswith("Peer is ahead by +0.500 [+0.000, +1.000] p=1.000, which")
    sure = behind("Peer", difference([0.0] * 10, [1.0] * 10).turned)
    assert sure == "Peer is ahead by +1.000 [+1.000, +1.000] p=0.002."


def test_where_less_is_better_who_has_less_is_ahead() -> None:
    found = quality.Found()
    found.add("twice", "%", {OURS: [3.0] * 10, "Peer": [1.0] * 10}, "less")
    assert found.rows[0].why == "Peer is ahead by +2.000 [+2.000, +2.000] p=0.002."


def test_a_context_has_as_many_tokens_in_the_mean() -> None:
    growing = [Outcome(100, 0.0, 0.0), Outcome(300, 1.0, 0.5)]
    assert as_many(growing, 150) == Outcome(150, 0.25, 0.125)
    assert as_many(growing, 50) == Outcome(50, 0.0, 0.0)
    assert as_many(growing, 300) == growing[1]


def test_what_stops_by_itself_shows_less() -> None:
    growing = [Outcome(100, 0.4, 0.0)]
    assert as_many(growing, 500) == growing[0]
    assert as_many(growing, 0) == NOTHING


def test_what_is_shown_twice_is_a_share_of_all_that_is_shown() -> None:
    found = outcome([Range("a", 0, 30), Range("a", 20, 30)], 9, [Range("a", 0, 60)])
    assert found == Outcome(9, 0.5, 0.25)


def test_a_context_grows_by_what_is_found_until_it_is_enough() -> None:
    spans = [("a", at * 10_000, (at + 1) * 10_000) for at in range(9)]
    assert grown(spans) == [spans[:number] for number in range(1, FEW + 1)]
    assert len(grown([("a", at, at + 1) for at in range(9)])) == 9


def test_pieces_that_overlap_are_found_in_their_order() -> None:
    text = "one two one two three"
    pieces = ["one two ", "two one", "one two three"]
    assert located("a", text, pieces) == [("a", 0, 8), ("a", 4, 11), ("a", 8, 21)]
    with pytest.raises(SystemExit, match="four"):
        located("a", text, ["four"])


def test_the_scan_is_exact_and_the_best_come_first() -> None:
    rows = np.eye(3, dtype=np.float32)
    [near] = rivals.nearest(rows, np.array([[0.1, 0.7, 0.2]], np.float32))
    assert [at for at, _ in near] == [1, 2, 0]


class Counted(HashingEmbedder):
    asked = 0

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.asked += len(texts)
        return await super().embed(texts, role)


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    async def run() -> int:
        for _ in range(2):
            embedder = Counted()
            kept = KeptVectors(tmp_path / "vectors.sqlite", embedder, print)
            rows = await kept.embed(["a tide", "a lamp", "a tide"], "document")
            assert np.array_equal(
                rows, await HashingEmbedder().embed(["a tide", "a lamp", "a tide"], "document")
            )
            await kept.end()
        return embedder.asked

    assert asyncio.run(run()) == 0


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Two small sets; of the peers, one is there, one cannot be imported, and the rest are absent."""
    data = tmp_path_factory.mktemp("data")
    small_sets.anthropic_docs(data / "anthropic_docs")
    small_sets.chunking_evaluation(data / "chunking_evaluation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "DATA", data)
        patch.setattr(known, "DATA", data)
        pythons = {"chunkers": sys.executable, "dsrag": sys.executable}
        return quality.measure(
            Run(
                tmp_path_factory.mktemp("cache"),
                is_quick=True,
                pythons=pythons,
                absent={"haystack": "no such version"},
                say=lambda _: None,
            )
        )


def test_a_small_run_gives_rows_with_ours_the_scan_and_the_ideal(tables: list[Table]) -> None:
    documents, spans, twice = tables
    assert [row.what for row in documents.rows] == [
        "anthropic_docs, nDCG@10",
        "anthropic_docs, recall@3",
    ]
    assert all({OURS, "exact scan", "ideal"} <= row.cells.keys() for row in documents.rows)
    assert len(spans.rows) == len(quality.BUDGETS) + 1
    assert all(row.floor == "ideal" and row.better == "more" for row in spans.rows)
    [row] = twice.rows
    assert row.cells[OURS].median == 0
    assert row.better == "less"


def test_a_peer_takes_part_by_its_own_code(tables: list[Table]) -> None:
    _, spans, twice = tables
    assert "LangChain recursive 200/0" in twice.rows[0].cells
    assert any("LangChain recursive 200/0 " in line for line in spans.targets)


def test_who_cannot_take_part_is_named_with_the_reason(tables: list[Table]) -> None:
    missing = tables[1].missing
    assert missing["Haystack"] == "no such version"
    assert "dsrag" in missing["dsRAG"]
    assert "quick" in missing["txtai"]
    assert {"LangChain", "LlamaIndex", "RAGLite", "haiku.rag"} <= missing.keys()


def test_each_row_is_told_with_its_differences(tables: list[Table]) -> None:
    for table in tables:
        for row in table.rows:
            [line] = [it for it in table.targets if it.startswith(f"{row.what}, ")]
            assert "ours less theirs: " in line
            assert line.count(" p") >= len(row.cells) - 2
