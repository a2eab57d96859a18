"""What parts of a service use of the machine: processor time and memory of processes and all
that they started, by what the kernel tells.
"""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """A process and all below it, as far as they run."""
    found = [pid]
    for one in found:
        try:
            told = Path(f"/proc/{one}/task/{one}/children").read_text("ascii")
        except OSError:
            continue
        found += map(int, told.split())
    return found


def cpu(pids: Sequence[int]) -> float:
    """Seconds that these have used, with all that they started, also what ended meanwhile."""
    total = 0
    for pid in {one for root in pids for one in tree(root)}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICK


def memory(pids: Sequence[int]) -> int:
    """Megabytes that they hold, what they share counted once for each in equal parts."""
    total = 0
    for pid in {one for root in pids for one in tree(root)}:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total // 1024


class Watch:
    """Processor seconds of each part since it began to watch, and of who asks them: this process."""

    def __init__(self, parts: Mapping[str, Sequence[int]]) -> None:
        self._parts = parts
        self._asking = time.process_time()
        self._before = {name: cpu(pids) for name, pids in parts.items()}

    def used(self) -> dict[str, float]:
        used = {
            name: round(cpu(pids) - self._before[name], 2) for name, pids in self._parts.items()
        }
        return used | {"asking": round(time.process_time() - self._asking, 2)}
