"""The process that parses: reads requests from its input, answers on its output, one at a time.

Started by `process`, never by hand. What a parser prints goes nowhere near the answers. Ends
when its input ends, which is when its owner is gone.
"""

import errno
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from unchunk.adapters.extract.confinement import allow_seconds, confine
from unchunk.adapters.extract.frames import packed, read_frame, refusal, reply, requested
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.adapters.extract.reading import read_file
from unchunk.errors import ExtractionError

_MOST_FILES = 500
_MOST_REQUEST = 16 * MiB


def main(arguments: list[str]) -> None:  # pragma: no cover  # runs in a process of its own
    limits = Limits.from_record(json.loads(arguments[0]))
    # The pipes get numbers of their own; libraries that print or read find nothing.
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  # as long as it runs
    confine(limits.memory, owner=int(arguments[1]))
    serve(source, sink, limits)


def serve(source: int, sink: int, limits: Limits) -> None:
    """Answer requests until there are no more, or until this process has had its share."""

    def read(count: int) -> bytes:
        return _read(source, count)

    _write(sink, packed({"held": most_held()}))
    for served in range(1, _MOST_FILES + 1):
        try:
            header, body = read_frame(read, _MOST_REQUEST)
        except EOFError:
            return
        allow_seconds(limits.seconds)
        last = served == _MOST_FILES
        frame, last = _answered(header.get("task"), body, limits, last=last)
        _write(sink, frame)
        if last:
            return


def _answered(task: object, asked: bytes, limits: Limits, *, last: bool) -> tuple[bytes, bool]:
    try:
        done = _done(task, asked, limits)
        last = last or _resident() > limits.memory // 4
        return done(last), last
    except BaseException as error:  # noqa: BLE001  # the edge of the process; Rust panics too
        known = explained(error, limits)
    # A parser that failed in a way of its own may have left anything behind.
    last = last or known.code in ("crashed", "too-much-memory") or _resident() > limits.memory // 4
    return refusal(known, last=last), last


def _done(task: object, asked: bytes, limits: Limits) -> Callable[[bool], bytes]:
    """The answer, but for whether it is the last one."""
    if task is None:
        path, name = requested(asked)
        extracted = read_file(Path(path), name, limits)
        return lambda last: reply(extracted, last=last)
    # Only a worker that draws needs what draws.
    from unchunk.adapters.extract import drawing  # noqa: PLC0415

    where, page, *rest = json.loads(asked)
    if task == "draw":
        body = drawing.draw(Path(where), page, *rest)
    else:
        body = json.dumps(drawing.locate(Path(where), page, *rest)).encode()
    return lambda last: packed({"last": last}, body)


def explained(error: BaseException, limits: Limits) -> ExtractionError:
    """What a failure means for the file."""
    match error:
        case ExtractionError():
            return error
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return limits.too_much_memory()
        case RecursionError():
            return ExtractionError("damaged", "its parts are nested too deep")
        case OSError():
            return ExtractionError("unreadable", f"it cannot be read: {error.strerror or error}")
        case _:
            kind = type(error).__name__
            return ExtractionError("crashed", f"its parser failed with {kind}: {error}"[:500])


def most_held() -> int:
    """The most bytes of memory that this process has held.

    On Linux a process inherits this figure from the one that started it, so what a worker says
    before it reads a file is what to compare with.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _resident() -> int:
    """The bytes of memory that this process holds now, or held at most where that is not told."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return most_held()
    return int(pages) * resource.getpagesize()


def _read(source: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = os.read(source, min(count, MiB))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _write(sink: int, frame: bytes) -> None:
    view: memoryview = memoryview(frame)
    while view:
        view = view[os.write(sink, view) :]
