"""Recovered texts as files: under safe names, all of a file or nothing of it."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from unchunk.errors import OutputError

# Control characters steer terminals, and no file system has lone surrogates.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\ud800-\udfff]+")
_UNSAFE_ON_WINDOWS = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\ud800-\udfff]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
# Bytes: a name with its id, a number and the suffix is at most 255.
_LONGEST = 180
_LONGEST_ID = 40
_WITH_SUFFIX = 206
LONGEST_SUFFIX = 100

REPORT = "report.json"
RECOVERY = "recovery.json"
FOLDER = ".unchunk-recovery"
"""What tells of the recovered texts and what was fetched of them; none of them has these names."""


def safe_names(names: Iterable[str], suffix: str) -> Iterator[tuple[str, str]]:
    """Each name with a file name for it that stays in its folder and that no other has.

    Folders become part of the name, and what the system does not allow in names becomes "_". Names
    that differ only in case are told apart too: some systems take them for one.
    """
    taken = {REPORT}
    suffix = _allowed(suffix)
    for name in names:
        yield name, _free(_plain(name, suffix), suffix, taken)


def named_files(files: Iterable[tuple[str, str]], suffix: str) -> Iterator[tuple[str, str]]:
    """For each name and id a file name as `safe_names` makes it, without the suffix and with it.

    The first of several files of one name keeps it; the others have their ids behind it.
    """
    taken = {REPORT, RECOVERY, FOLDER}
    suffix = _allowed(suffix)
    for name, identity in files:
        plain = _plain(name, suffix)
        if (plain + suffix).casefold() in taken:
            own = _allowed(identity).encode()[:_LONGEST_ID].decode("utf-8", "ignore")
            plain = f"{plain}~{own}"
        output = _free(plain, suffix, taken)
        yield output[: len(output) - len(suffix)] if suffix else output, output


def _allowed(name: str, *, windows: bool = os.name == "nt") -> str:
    return (_UNSAFE_ON_WINDOWS if windows else _UNSAFE).sub("_", name)


def _plain(name: str, suffix: str, *, windows: bool = os.name == "nt") -> str:
    plain = _allowed(name, windows=windows)
    if windows or plain in {".", ".."}:
        plain = plain.strip(". ")
    if windows and _RESERVED.match(plain):
        plain = f"_{plain}"
    plain = plain or "unnamed"
    longest = min(_LONGEST, max(1, _WITH_SUFFIX - len(suffix.encode())))
    return plain.encode()[:longest].decode("utf-8", "ignore") or "unnamed"


def _free(plain: str, suffix: str, taken: set[str]) -> str:
    candidate, number = plain + suffix, 1
    while candidate.casefold() in taken:
        number += 1
        candidate = f"{plain}~{number}{suffix}"
    taken.add(candidate.casefold())
    return candidate


def write_whole(
    path: Path, text: str | bytes, *, aside: Path | None = None, sync: bool = True
) -> int:
    """Write `text` and return its bytes; what was there before stays until all is written.

    A link in its place is replaced and not followed. It is made in `aside`, where that is given.
    With `sync` it is on the disk when this returns.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place = aside or path.parent
        with tempfile.NamedTemporaryFile(dir=place, prefix=".unchunk-", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    return len(data)
