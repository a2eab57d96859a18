"""The page says who is ahead and why not, who is missing, and shows it in plots."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bench import page, plots
from bench.__main__ import CACHE, MEASURES, ROOT, place_of
from bench.figures import OURS, Cell, Row, Table
from bench.machine import About, machine

ABOUT = About(
    "2 cores", "3.11", "abc1234", {OURS: {"unchunk": "1.0"}}, {"raglite": "no wheel"},
    measured={"asking": "2026-11-16, 9 s"}, failed={"growth": "ValueError: no room"},
)  # fmt: skip


def cells(ours: float, peer: float) -> dict[str, Cell]:
    return {
        OURS: Cell([ours, ours], [ours * 2]),
        "slow": Cell([peer * 3]),
        "quick": Cell([peer]),
        "bare": Cell([0.5]),
    }


ASKING = Table(
    "Asking",
    "A question.",
    [
        Row("vector", "ms", cells(1, 2), floor="bare", why="Never shown."),
        Row("hybrid", "ms", cells(4, 2), floor="bare", why="It does more."),
    ],
    "python -m bench --only asking",
    ["under 2 ms: 4, missed. It does more.", "no aim, a remark"],
    {"txtai": "it hung"},
)
GROWTH = Table(
    "Growth",
    "More chunks.",
    [Row(f"vector, {size:,} chunks", "ms", cells(size / 1000, 9)) for size in (5_000, 50_000)],
)


@pytest.fixture(name="told")
def _told(tmp_path: Path) -> str:
    return page.write(tmp_path, {"asking": [ASKING], "growth": [GROWTH]}, ABOUT).read_text("utf-8")


def test_the_summary_counts_who_is_ahead(told: str) -> None:
    assert "| [Asking](#asking) | 1 |  | 1 | 0.50x to 2.00x | 0.12x to 0.50x |" in told


def test_a_row_says_why_only_where_ours_is_behind(told: str) -> None:
    assert "| Asking: hybrid | quick | 0.50x | It does more. |" in told
    assert "Never shown." not in told


def test_aims_stand_together_with_their_tables(told: str) -> None:
    _, _, aims = told.partition("### Aims")
    aims, _, _ = aims.partition("##")
    assert aims.strip() == "- [Asking](#asking): under 2 ms: 4, missed. It does more."


def test_a_row_tells_spread_wall_best_peer_and_floor(told: str) -> None:
    assert (
        "| vector | ms | 1.00 ±0% (2.00) | 2.00 quick | 0.500 bare | **2.00x** ahead | 0.50x |"
        in told
    )


def test_all_contestants_stand_in_rows(told: str) -> None:
    assert "| slow | 6.00 | 6.00 |" in told


def test_whoever_is_missing_is_named_with_the_reason(told: str) -> None:
    assert "- not here: txtai: it hung" in told
    assert "- raglite could not be installed: no wheel" in told
    assert "- growth could not be measured: ValueError: no room" in told


def test_every_plot_that_is_named_is_there_and_is_xml(tmp_path: Path, told: str) -> None:
    named = re.findall(r"\]\((benchmarks/[^)]+\.svg)\)", told)

    assert named == ["benchmarks/asking.svg", "benchmarks/growth-vector-by-chunks.svg"]
    for one in named:
        assert ET.fromstring((tmp_path / one).read_text("utf-8")).tag.endswith("svg")  # noqa: S314


def test_plots_of_an_earlier_page_go(tmp_path: Path) -> None:
    old = tmp_path / "benchmarks" / "old.svg"
    old.parent.mkdir()
    old.touch()

    page.write(tmp_path, {"asking": [ASKING]}, ABOUT)

    assert not old.exists()


def test_ours_alone_is_one_table_and_one_plot_of_lines(tmp_path: Path) -> None:
    rows = [
        Row(f"{name}, {size} MB", "ms", {OURS: Cell([size * 2.0])})
        for name in ("words", "tokens")
        for size in (1, 8)
    ]

    told = page.write(tmp_path, {"chunking": [Table("Longer", "x", rows)]}, ABOUT).read_text(
        "utf-8"
    )

    assert "| words, by MB | ms | 2.00 | 16.0 | 8.0x |" in told
    assert [path.name for path in (tmp_path / "benchmarks").iterdir()] == ["longer.svg"]


def test_a_number_in_a_name_alone_makes_no_line() -> None:
    assert not plots.lines_of([Row("samples: 87 files, 272 pages", "pages/s", {})])


@pytest.mark.parametrize(
    ("value", "told"), [(0, "0"), (0.00123, "0.00123"), (1.234, "1.23"), (98765.4, "98,765")]
)
def test_figures_have_three_digits_that_count(value: float, told: str) -> None:
    assert plots.told(value) == told


def test_the_machine_is_told_without_its_name_or_folders() -> None:
    import platform

    assert "cores" in machine()
    assert platform.node() not in machine()
    assert "/home" not in machine()


def test_only_a_whole_run_takes_the_place_of_the_page_in_docs() -> None:
    whole = dict.fromkeys(MEASURES, "2026-11-16, 9 s")
    assert place_of(replace(ABOUT, measured=whole)) == ROOT / "docs"
    assert place_of(ABOUT) == CACHE / "part"
    failed = dict.fromkeys(MEASURES, "it broke")
    assert place_of(replace(ABOUT, measured={}, failed=failed)) == CACHE / "part"
    assert place_of(replace(ABOUT, measured=whole, failed=failed)) == ROOT / "docs"
    assert place_of(replace(ABOUT, measured=whole, is_quick=True)) == CACHE / "quick"
