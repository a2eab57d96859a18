"""What was recovered, for machines: JSON-ready values, and the file that they are written to."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypedDict

from unchunk.errors import OutputError
from unchunk.ports import FieldValue
from unchunk.text.stitching import Stitched

SCHEMA = 1


class SeamReport(TypedDict):
    """One joint."""

    index: int
    start: int
    overlap: int
    confidence: str
    method: str
    missing: int


class FileReport(TypedDict):
    """One file. `order` is given only where the chunks were not in the order of the text."""

    file: str
    output: str
    chunks: int
    characters: int
    bytes: int
    confidence: str
    strategy: str | None
    missing: int
    order: list[int] | None
    notes: list[str]
    seams: list[SeamReport]


class StrategyReport(TypedDict):
    """How a file was cut; `origin` is "given" by the store or by who asked, or "inferred"."""

    unit: str
    size: int
    overlap: int
    origin: str


class RecoveredReport(TypedDict):
    """One file of a store. `verify` is None where it was not asked for, or there is no file."""

    store: str
    id: str
    name: str
    output: str | None
    status: str
    chunks: int
    characters: int
    bytes: int
    sha256: str | None
    strategy: StrategyReport | None
    verdict: str
    missing: int
    order: list[int] | None
    notes: list[str]
    attributes: Mapping[str, FieldValue]
    seams: list[SeamReport]
    verify: str | None


class StoreReport(TypedDict):
    """`problem` is why it told of no more files; empty if it told of all."""

    name: str
    files: int
    problem: str


def report(name: str, output: str, written: int, stitched: Stitched) -> FileReport:
    return {
        "file": name,
        "output": output,
        "chunks": len(stitched.order),
        "characters": len(stitched.text),
        "bytes": written,
        "confidence": stitched.confidence,
        "strategy": str(stitched.strategy) if stitched.strategy else None,
        "missing": stitched.missing,
        "order": list(stitched.order) if stitched.reordered else None,
        "notes": list(stitched.notes),
        "seams": seams_of(stitched),
    }


def seams_of(stitched: Stitched) -> list[SeamReport]:
    return [
        {
            "index": seam.index,
            "start": seam.start,
            "overlap": seam.overlap,
            "confidence": seam.confidence,
            "method": seam.method,
            "missing": seam.missing,
        }
        for seam in stitched.seams
    ]


class ReportFile:
    """A report that is written file by file, since a large store has millions of joints.

    It is in its place when `end` returns, and not before.
    """

    def __init__(self, path: Path, aside: Path, stores: Sequence[StoreReport]) -> None:
        self._path, self._aside = path, aside / "report"
        self._file: IO[str] | None = None
        self._count = 0
        head = {"schema": SCHEMA, "stores": stores, "started": _now()}
        self._write(json.dumps(head, indent=1).removesuffix("\n}") + ',\n "files": [')

    def add(self, one: RecoveredReport) -> None:
        self._write(f"{',' if self._count else ''}\n{json.dumps(one, allow_nan=False)}")
        self._count += 1

    def end(self, totals: Mapping[str, object]) -> None:
        tail = {"ended": _now(), "totals": totals}
        self._write("\n ]," + json.dumps(tail, indent=1).removeprefix("{") + "\n")
        try:
            if self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
            self.close()
            self._aside.chmod(0o644)
            self._aside.replace(self._path)
        except OSError as error:
            raise self._unwritten(error) from error

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()

    def _write(self, text: str) -> None:
        try:
            if self._file is None:
                # A link that somebody laid in its place leads nowhere.
                self._aside.unlink(missing_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._file = os.fdopen(os.open(self._aside, flags, 0o600), "w", encoding="utf-8")
            self._file.write(text)
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> OutputError:
        return OutputError(f"cannot write {self._path}: {error.strerror or error}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
