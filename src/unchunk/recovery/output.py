"""Recovered texts as files: under safe names, all of a file or nothing of it."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from unchunk.errors import OutputError

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_LONGEST = 180

REPORT = "report.json"
"""The one file that is no recovered text; no text is written under its name."""


def safe_names(names: Iterable[str], suffix: str) -> Iterator[tuple[str, str]]:
    """Each name with a file name for it that stays in its folder and that no other has.

    Folders become part of the name. Names that differ only in case are told apart too: some
    systems take them for one.
    """
    taken = {REPORT}
    suffix = _UNSAFE.sub("_", suffix)
    for name in names:
        plain = _UNSAFE.sub("_", name).strip(". ") or "unnamed"
        if _RESERVED.match(plain):
            plain = f"_{plain}"
        plain = plain.encode()[:_LONGEST].decode("utf-8", "ignore")
        candidate, number = plain + suffix, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{plain}~{number}{suffix}"
        taken.add(candidate.casefold())
        yield name, candidate


def write_whole(path: Path, text: str) -> int:
    """Write `text` and return its bytes; what was there before stays until all is written."""
    data = text.encode("utf-8", "surrogatepass")
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".unchunk-", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    return len(data)
