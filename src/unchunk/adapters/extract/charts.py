"""Charts of office documents, as the tables that they were drawn from."""

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.xmlparts import Attributes, Reader, parse

_MOST_POINTS = 10_000
_NAMES = {"cat": 0, "xVal": 0, "val": 1, "yVal": 1}


def write_chart(archive: Archive, part: str, out: Composition) -> None:
    chart = _Chart()
    parse(part, archive.pieces(part), chart)
    out.paragraph(" ".join(["Chart:", *"".join(chart.title).split()]))
    labels: dict[int, str] = {}
    for points in chart.labels:
        labels |= points
    places = sorted(set(labels).union(*chart.values))
    rows = [["", *chart.names]]
    for place in places[:_MOST_POINTS]:
        values = [points.get(place, "") for points in chart.values]
        rows.append([labels.get(place, ""), *values])
    if places:
        out.table(rows)


class _Chart(Reader):
    """The caches that programs keep in a chart of the cells that it shows."""

    def __init__(self) -> None:
        self.title: list[str] = []
        self.names: list[str] = []
        self.labels: list[dict[int, str]] = []
        self.values: list[dict[int, str]] = []
        self._points: dict[int, str] | None = None
        self._place = 0
        self._where = ""
        self._inside = ""

    def start(self, name: str, attributes: Attributes) -> None:
        self._inside = name
        if name == "ser":
            self.names.append("")
            self.labels.append({})
            self.values.append({})
            self._where = ""
        elif name in ("title", "tx"):
            self._where = self._where or name
        elif name in _NAMES and self.values:
            self._points = (self.labels, self.values)[_NAMES[name]][-1]
        elif name == "pt":
            index = attributes.get("idx", "")
            self._place = int(index) if index.isascii() and index.isdigit() else 0

    def end(self, name: str) -> None:
        self._inside = ""
        if name == self._where:
            self._where = ""
        if name == "title":
            self.title.append(" ")
        elif name in _NAMES:
            self._points = None

    def data(self, text: str) -> None:
        if self._where == "title" and self._inside == "t":
            self.title.append(text)
        elif self._inside == "v" and self._points is not None:
            self._points[self._place] = self._points.get(self._place, "") + text
        elif self._inside == "v" and self._where == "tx" and self.names:
            self.names[-1] += text
