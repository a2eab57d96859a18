"""One file into its text, in this process: find out what it is, then let its reader read it.

Knows nothing of isolation. A hostile file may take the process down: see `isolated`.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from unchunk.adapters.extract import formats
from unchunk.adapters.extract.decoding import decode
from unchunk.adapters.extract.formats import Format
from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.sniffing import check_name, sniff_binary, sniff_text
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError


class _Reader(Protocol):
    def read(self, source: Source) -> Extracted: ...


def read_file(path: Path, name: str, limits: Limits) -> Extracted:
    """The text of the file at `path`; what goes wrong is an `ExtractionError`.

    The libraries for a format are imported when a file of that format comes.
    """
    size = path.stat().st_size
    limits.check_size(size)
    if not size:
        raise ExtractionError("empty", "it has no bytes")
    found = sniff_binary(path, limits)
    text, notes = "", tuple[str, ...]()
    if found is None:
        found, text, notes = _as_text(path, name)
    check_name(found, name)
    _refuse(found)
    reader = cast("_Reader", import_module(f"unchunk.adapters.extract.{found.reader}"))
    return reader.read(Source(path, name, found.media_type, limits, text, notes))


def _as_text(path: Path, name: str) -> tuple[Format, str, tuple[str, ...]]:
    data = path.read_bytes()
    decoded = decode(data, markup=data[:1024].lstrip(b"\xef\xbb\xbf\0 \t\r\n").startswith(b"<"))
    if decoded is None:
        return formats.BINARY, "", ()
    notes = (decoded.note,) if decoded.note else ()
    return sniff_text(decoded.text, name), decoded.text, notes


def _refuse(found: Format) -> None:
    if found is formats.ENCRYPTED:
        raise ExtractionError("encrypted", "it is encrypted: remove its password")
    if not found.reader:
        advice = f": {found.advice}" if found.advice else ""
        raise ExtractionError("unsupported", f"it is {found.label}, which is not read{advice}")
