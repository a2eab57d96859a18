"""Plots as small SVG files, readable on light and on dark pages: bars, and lines of growth."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from bench.figures import OURS, Row

WIDTH = 760
_BAR, _GAP, _LEFT, _RIGHT = 15, 12, 190, 150
_HEIGHT, _MARGIN = 260, 60
_PEERS = 3
_POINT = re.compile(r"^(?P<line>.+), (?P<at>\d[\d,]*) (?P<along>\D+)$")
# Ours is strong, the floor is hollow, and the peers are told apart by hue; all hold on both pages.
_STYLE = """
 text { font: 12px system-ui, sans-serif; fill: #57606a }
 .name { font-weight: 600; fill: #24292f }
 .ours { fill: #0a7d4f; stroke: #0a7d4f } .floor { fill: none; stroke: #8c959f }
 .peer0 { fill: #5b8def; stroke: #5b8def } .peer1 { fill: #b06fd8; stroke: #b06fd8 }
 .peer2 { fill: #d9822b; stroke: #d9822b } .peer3 { fill: #c94f7c; stroke: #c94f7c }
 .peer4 { fill: #3aa6a6; stroke: #3aa6a6 } .peer5 { fill: #a08a2c; stroke: #a08a2c }
 text.floor { fill: #8c959f } text { stroke: none !important }
 path { fill: none !important; stroke-width: 2 } path.ours { stroke-width: 3 }
 path.floor { stroke-dasharray: 5 4 } .axis { stroke: #8c959f; stroke-width: 1 }
 @media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .name { fill: #e6edf3 } .ours { fill: #3fb950; stroke: #3fb950 }
 }
"""
_HUES = 6


def lines_of(rows: Sequence[Row]) -> dict[str, list[tuple[float, Row]]]:
    """Rows that are points of one line, by its name and what it grows along."""
    found: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        if point := _POINT.match(row.what):
            name = f"{point['line']}, by {point['along']}"
            found.setdefault(name, []).append((float(point["at"].replace(",", "")), row))
    return {
        name: sorted(points, key=lambda point: point[0])
        for name, points in found.items()
        if len({at for at, _ in points}) > 1
    }


def bars(rows: Sequence[Row]) -> str:
    """For each row, ours, the best few peers and the floor, to the scale of the row."""
    parts, top = list[str](), 8
    for row in rows:
        shown = _shown(row)
        most = max((abs(row.cells[name].median) for name in shown), default=0) or 1
        top += 16
        aim = "less is better" if row.better == "less" else "more is better"
        parts.append(_text(8, top, f"{row.what} ({row.unit}, {aim})", "name"))
        top += 6
        for number, name in enumerate(shown):
            median = row.cells[name].median
            length = max(abs(median) / most * (WIDTH - _LEFT - _RIGHT), 1)
            kind = _kind(name, row.floor, number)
            parts.append(_text(_LEFT - 8, top + 12, name, anchor="end"))
            parts.append(
                f'<rect class="{kind}" x="{_LEFT}" y="{top + 2}" width="{length:.1f}"'
                f' height="{_BAR - 4}"/>'
            )
            parts.append(_text(_LEFT + length + 6, top + 12, told(median)))
            top += _BAR
        top += _GAP
    return _svg(top, parts)


def growth(name: str, points: Sequence[tuple[float, Row]]) -> str:
    """A line for each contestant, both axes by powers of ten."""
    series: dict[str, list[tuple[float, float]]] = {}
    for at, row in points:
        for who, cell in row.cells.items():
            if cell.median > 0:
                series.setdefault(who, []).append((at, cell.median))
    across = _Scale([at for at, _ in points], _MARGIN, WIDTH - 200)
    values = [value for line in series.values() for _, value in line]
    up = _Scale(values or [1.0], _HEIGHT - 40, 40)
    right, bottom = WIDTH - 200, _HEIGHT - 40
    axis = f'<line class="axis" x1="{_MARGIN}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    parts = [_text(8, 20, f"{name} ({points[0][1].unit})", "name"), axis]
    parts += [
        _text(across.at(at), _HEIGHT - 22, f"{at:,g}", anchor="middle")
        for at in dict.fromkeys(at for at, _ in points)
    ]
    parts += [_text(_MARGIN - 8, up.at(value) + 4, told(value), anchor="end") for value in up.ends]
    floor = points[0][1].floor
    last = -math.inf
    ranked = sorted(series.items(), key=lambda one: -one[1][-1][1])
    peers = [who for who, _ in ranked if who not in (OURS, floor)]
    for who, line in ranked:
        kind = _kind(who, floor, peers.index(who) if who in peers else 0)
        path = " L".join(f"{across.at(at):.1f} {up.at(value):.1f}" for at, value in line)
        dots = (
            f'<circle class="{kind}" cx="{across.at(at):.1f}" cy="{up.at(value):.1f}" r="3"/>'
            for at, value in line
        )
        parts += [f'<path class="{kind}" d="M{path}"/>', *dots]
        last = max(up.at(line[-1][1]) + 4, last + 14)
        parts.append(_text(WIDTH - 190, last, who, f"name {kind}" if who == OURS else kind))
    return _svg(max(_HEIGHT, int(last) + 10), parts)


class _Scale:
    """Places by powers of ten."""

    def __init__(self, values: Iterable[float], first: float, last: float) -> None:
        held = sorted(values)
        self.ends = tuple(dict.fromkeys((held[0], held[-1])))
        self._low = math.log10(held[0])
        self._range = math.log10(held[-1]) - self._low or 1.0
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / self._range
        return self._first + share * (self._last - self._first)


def told(value: float) -> str:
    """Three digits that count, without powers of ten."""
    if not value or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(digits, 0), 5)}f}"


def _shown(row: Row) -> list[str]:
    sign = 1 if row.better == "less" else -1
    peers: Mapping[str, object] = row.peers
    best = sorted(peers, key=lambda name: sign * row.cells[name].median)[:_PEERS]
    return [name for name in (OURS, *best, row.floor) if name in row.cells]


def _kind(name: str, floor: str, number: int) -> str:
    if name == OURS:
        return "ours"
    return "floor" if name == floor else f"peer{number % _HUES}"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: int, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" role="img"><style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
