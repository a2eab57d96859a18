"""Rows of figures: who is ahead, and that all comes back from the file."""

from pathlib import Path

import pytest
from bench.figures import OURS, Cell, Row, Table, read, write


def row(ours: list[float], peer: list[float], better: str = "less") -> Row:
    cells = {OURS: Cell(ours, []), "peer": Cell(peer, []), "floor": Cell([1.0], [])}
    return Row("asking", "ms", cells, "less" if better == "less" else "more", "floor")


def test_less_time_than_the_best_peer_is_ahead() -> None:
    assert row([2.0, 2.0], [4.0, 4.0]).verdict == "ahead"
    assert row([2.0, 2.0], [4.0, 4.0]).times("peer") == 2


def test_more_is_ahead_where_more_is_better() -> None:
    assert row([2.0], [4.0], "more").verdict == "behind"
    assert row([4.0], [2.0], "more").times("peer") == 2


def test_what_the_spreads_cover_is_level() -> None:
    assert row([9.0, 10.0, 11.0], [9.5, 10.2, 10.9]).verdict == "level"


def test_nothing_beside_nothing_is_level() -> None:
    assert row([0.0], [0.0]).times("peer") == 1
    assert row([0.0], [0.0]).verdict == "level"


def test_the_floor_is_no_peer() -> None:
    assert row([2.0], [4.0]).best_peer == "peer"
    assert Row("x", "ms", {OURS: Cell([1.0]), "f": Cell([0.1])}, floor="f").verdict == "alone"


def test_the_spread_is_half_of_the_middle_half() -> None:
    assert Cell([1.0, 2.0, 3.0, 4.0, 5.0]).spread == pytest.approx(1 / 3)
    assert Cell([7.0]).spread == 0


def test_tables_come_back_from_their_file(tmp_path: Path) -> None:
    table = Table("Asking", "How long.", [row([2.0, 3.0], [4.0])], "run", ["met"], {"x": "gone"})

    write(tmp_path / "deep" / "asking.json", [table])

    assert read(tmp_path / "deep" / "asking.json") == [table]


def test_what_a_paired_test_cannot_tell_apart_is_level() -> None:
    cells = {OURS: Cell([0.742]), "fusion": Cell([0.743]), "scan": Cell([0.722])}
    assert Row("found", "nDCG", cells, "more").verdict == "behind"
    assert Row("found", "nDCG", cells, "more", level_with=["fusion"]).verdict == "level"
    assert Row("found", "nDCG", cells, "more", level_with=["scan"]).verdict == "behind"


def test_a_verdict_is_the_same_from_either_side() -> None:
    slow, fast = [1.0, 1.5, 2.3], [0.7, 1.0, 1.4]
    verdicts = {row(slow, fast).verdict, row(fast, slow).verdict}
    assert verdicts in ({"level"}, {"ahead", "behind"})
