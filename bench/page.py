"""The page of tables and plots, made of what the measures wrote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench import plots
from bench.figures import OURS, Cell, Row, Table
from bench.machine import About

_COLUMNS = 4
_AIM = re.compile(r", (met|missed)\b")
_INTRO = """# Measured against the field

Everything here was measured by `make bench`, each table side by side in one run: contestants take
turns, each library in a process and an environment of its own, the same texts for all, and the same
chunks and vectors where those are not what is measured. A figure is the median of its repetitions, with
half of the distance between the quartiles as its spread (±); one without a spread was measured once.
Times, and megabytes or pages in a second, are by CPU time of the process and of all that it started,
and in brackets by wall time; questions in a second are by wall time. *The floor* does the least that
ours must do, such as a bare call of its engine. A ratio above 1 says that ours is better. *Level* is
what differs by less than the two spreads. Read the ratios: the figures are of one machine.
"""


def write(folder: Path, tables: Mapping[str, Sequence[Table]], about: About) -> Path:
    """`folder`/benchmarks.md, and the plots beside it in `folder`/benchmarks."""
    pictures = folder / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.svg"):
        old.unlink()
    for table in _all(tables):
        for name, svg in _plots(table).items():
            (pictures / name).write_text(svg, "utf-8")
    page = folder / "benchmarks.md"
    page.write_text("\n".join(_page(tables, about)) + "\n", "utf-8")
    return page


def _all(tables: Mapping[str, Sequence[Table]]) -> list[Table]:
    return [table for some in tables.values() for table in some if table.rows]


def _page(tables: Mapping[str, Sequence[Table]], about: About) -> Iterator[str]:
    yield _INTRO
    if about.is_quick:
        yield "**A quick run**: small sets, few repetitions, not all peers. It shows that it works, no more.\n"
    yield from _about(about)
    yield from _summary(_all(tables))
    for table in _all(tables):
        yield from _section(table)


def _about(about: About) -> Iterator[str]:
    commit = f" at {about.commit}" if about.commit else ""
    yield f"- Machine: {about.machine}; Python {about.python}"
    for name, versions in about.versions.items():
        where = f"unchunk{commit}" if name == OURS else name
        yield f"- {where}: " + ", ".join(f"{one} {it}" for one, it in versions.items() if it)
    for name, why in about.absent.items():
        yield f"- {name} could not be installed: {why}"
    days = "; ".join(f"{name} {day}" for name, day in about.measured.items())
    yield f"- Measured: {days}" if days else ""
    for name, why in about.failed.items():
        yield f"- {name} could not be measured: {why}"
    yield ""


def _summary(tables: Sequence[Table]) -> Iterator[str]:
    yield "## At a glance\n"
    yield "| table | ahead | level | behind | beside the best peer | beside the floor |"
    yield "|---|---|---|---|---|---|"
    for table in tables:
        if _is_alone(table):
            continue
        verdicts = [row.verdict for row in table.rows if OURS in row.cells]
        counts = " | ".join(str(verdicts.count(one) or "") for one in ("ahead", "level", "behind"))
        peers = _range([row.times(row.best_peer) for row in _ours(table) if row.best_peer])
        floors = _range([row.times(row.floor) for row in _ours(table) if row.floor in row.cells])
        yield f"| [{table.title}](#{_anchor(table.title)}) | {counts} | {peers} | {floors} |"
    behind = [(table, row) for table in tables for row in _ours(table) if row.verdict == "behind"]
    yield "\n### Where ours is behind\n"
    yield "Nowhere." if not behind else "| row | best peer | ratio | why, and what it would take |"
    if behind:
        yield "|---|---|---|---|"
    for table, row in behind:
        ratio = _ratio(row, row.best_peer)
        why = row.why or "Not looked into yet."
        yield f"| {table.title}: {row.what} | {row.best_peer} | {ratio} | {why} |"
    yield "\n### Aims\n"
    for table in tables:
        link = f"[{table.title}](#{_anchor(table.title)})"
        yield from (f"- {link}: {aim}" for aim in table.targets if _AIM.search(aim))
    yield ""


def _ours(table: Table) -> list[Row]:
    return [row for row in table.rows if OURS in row.cells]


def _range(ratios: Sequence[float]) -> str:
    told = [_times(one) for one in sorted(ratios)]
    return " to ".join(dict.fromkeys((told[0], told[-1]))) if told else ""


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.title}\n\n{table.intro}\n"
    if table.command:
        yield f"`{table.command}`\n"
    yield from _beside(table)
    yield from _everyone(table)
    for target in table.targets:
        yield f"- {target}"
    for name, why in table.missing.items():
        yield f"- not here: {name}: {why}"
    yield ""
    for name in _plots(table):
        yield f"![{table.title}](benchmarks/{name})\n"


def _beside(table: Table) -> Iterator[str]:
    """Ours, the best of the others, and the floor; ours alone as it grows, where nobody is by."""
    lines = plots.lines_of(table.rows)
    if lines and _is_alone(table):
        yield from _grown(lines)
        return
    yield "| | unit | unchunk | best peer | floor | to best peer | to floor |"
    yield "|---|---|---|---|---|---|---|"
    for row in _ours(table):
        best, floor = row.best_peer, row.floor if row.floor in row.cells else ""
        yield (
            f"| {row.what} | {row.unit} | {_cell(row.cells[OURS])}"
            f" | {f'{_cell(row.cells[best])} {best}' if best else ''}"
            f" | {f'{_cell(row.cells[floor])} {floor}' if floor else ''}"
            f" | {f'**{_ratio(row, best)}** {row.verdict}' if best else ''}"
            f" | {_ratio(row, floor) if floor else ''} |"
        )
    yield ""


def _is_alone(table: Table) -> bool:
    return all(len(row.cells) == 1 for row in _ours(table))


def _grown(lines: Mapping[str, Sequence[tuple[float, Row]]]) -> Iterator[str]:
    sizes = sorted({at for points in lines.values() for at, _ in points})
    yield "| | unit | " + " | ".join(f"{at:,g}" for at in sizes) + " | last to first |"
    yield "|---|---|" + "---|" * (len(sizes) + 1)
    for name, points in lines.items():
        found = {at: row.cells[OURS] for at, row in points if OURS in row.cells}
        cells = (_cell(found[at]) if at in found else "" for at in sizes)
        grown = found[max(found)].median / (found[min(found)].median or 1)
        yield f"| {name} | {points[0][1].unit} | " + " | ".join(cells) + f" | {grown:.1f}x |"
    yield ""


def _everyone(table: Table) -> Iterator[str]:
    """Who took part in rows, the measures in columns, some at a time; nothing if all is told."""
    shown = [row for row in table.rows if len(row.peers) > 1]
    for first in range(0, len(shown), _COLUMNS):
        rows = shown[first : first + _COLUMNS]
        names = dict.fromkeys(name for row in rows for name in row.cells)
        yield "| | " + " | ".join(f"{row.what}, {row.unit}" for row in rows) + " |"
        yield "|---|" + "---|" * len(rows)
        for name in names:
            label = f"**{name}**" if name == OURS else name
            cells = (_cell(row.cells[name]) if name in row.cells else "" for row in rows)
            yield f"| {label} | " + " | ".join(cells) + " |"
        yield ""


def _plots(table: Table) -> dict[str, str]:
    """Lines where it has lines, else bars, by the name of the file."""
    stem = _anchor(table.title)
    if lines := plots.lines_of(table.rows):
        if _is_alone(table):
            return {f"{stem}.svg": plots.growth(table.title, _together(lines))}
        return {
            f"{stem}-{_anchor(name)}.svg": plots.growth(name, points)
            for name, points in lines.items()
        }
    return {f"{stem}.svg": plots.bars(_ours(table))} if _ours(table) else {}


def _together(lines: Mapping[str, Sequence[tuple[float, Row]]]) -> list[tuple[float, Row]]:
    """Lines of ours as lines of one plot, each by its own name."""
    return [
        (at, replace(row, cells={name.rpartition(", by ")[0]: row.cells[OURS]}, floor=""))
        for name, points in lines.items()
        for at, row in points
    ]


def _cell(cell: Cell) -> str:
    spread = f" ±{100 * cell.spread:.0f}%" if len(cell.values) > 1 else ""
    wall = f" ({plots.told(Cell(cell.wall).median)})" if cell.wall else ""
    return f"{plots.told(cell.median)}{spread}{wall}"


def _ratio(row: Row, name: str) -> str:
    return _times(row.times(name))


def _times(ratio: float) -> str:
    if ratio == float("inf"):
        return "∞"
    if ratio < 0.1:
        return f"{ratio:.4f}x"
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
