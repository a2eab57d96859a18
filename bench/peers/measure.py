"""What a process and all that it started took: processor time, and memory.

Knows nothing of any contestant and needs only the standard library, so that it runs in any
interpreter.
"""

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

DIMENSIONS = 384
SIZE, OVERLAP = 1000, 150
_TICKS = os.sysconf("SC_CLK_TCK")


class _Watching:
    """What it took so far to look at the clocks of other processes: nobody's work."""

    seconds = 0.0


def cpu() -> float:
    """User and system seconds of this process and of all that it started, dead or alive."""
    begun = time.process_time()
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = reaped.ru_utime + reaped.ru_stime + sum(map(cpu_of, descendants()))
    own = begun - _Watching.seconds
    _Watching.seconds += time.process_time() - begun
    return own + others


def cpu_of(process: int) -> float:
    """Seconds of another process, to the nanosecond, and of its children that have ended."""
    try:
        # What clock_getcpuclockid() gives: the clock of all its threads.
        own = time.clock_gettime((~process << 3) | 2)
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) / _TICKS


def memory() -> int:
    """Bytes that this process and all that it started hold, files that they map included.

    What several of them share is counted once, in equal parts.
    """
    return sum(map(_held, (os.getpid(), *descendants())))


def _held(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def on_disk(folder: Path) -> int:
    """Bytes that a folder takes; what is in a file's holes takes nothing."""
    return sum(one.stat().st_blocks * 512 for one in folder.rglob("*") if one.is_file())


def descendants() -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text("utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    waiting = children.get(os.getpid(), [])
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])
