"""What all contestants share: the task, the clock, and vectors that cost nothing to make.

Knows nothing of any of them and needs only numpy, so that it runs in any interpreter.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

DIMENSIONS = 384
SIZE, OVERLAP = 1000, 150
_ROWS = 4096
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Task:
    """`files` are added, `warm` before them to load what is loaded late.

    Then `operations` of the files are deleted, and as many others are replaced by the one of
    the same name in `changed`, of which every chunk is new. `work` is an empty folder.
    """

    warm: str
    files: str
    changed: str
    work: str
    operations: int = 0
    variant: str = ""
    profile: bool = False


@dataclass(slots=True)
class Result:
    """Seconds. `cpu` is all of it with `model` included, from warm to closed and at rest.

    `words_cpu` is for search by words, where that is a part of its own beside the rest.
    """

    documents: int = 0
    chunks: int = 0
    start_cpu: float = 0.0
    cpu: float = 0.0
    wall: float = 0.0
    model: float = 0.0
    words_cpu: float = 0.0
    delete_cpu: list[float] = field(default_factory=list)
    replace_cpu: list[float] = field(default_factory=list)
    delete_wall: list[float] = field(default_factory=list)
    replace_wall: list[float] = field(default_factory=list)
    cpu_by_process: dict[str, float] = field(default_factory=dict)
    stage_seconds: dict[str, float] = field(default_factory=dict)
    profile: str = ""


class Model:
    """A text's vector is the sum of two rows of a fixed table, chosen by its checksum."""

    def __init__(self) -> None:
        table = np.random.default_rng(20).standard_normal((_ROWS, DIMENSIONS), np.float32)
        self._table = table / np.linalg.norm(table, axis=1, keepdims=True)
        self.seconds = 0.0

    def rows(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        begun = time.thread_time()
        marks = np.array([crc32(text.encode()) for text in texts], np.uint32)
        rows: npt.NDArray[np.float32] = (
            self._table[marks % _ROWS] + self._table[marks // _ROWS % _ROWS]
        )
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.seconds += time.thread_time() - begun
        return rows

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """As LangChain and LlamaIndex take them; to make lists counts as the model's time."""
        rows = self.rows(texts)
        begun = time.thread_time()
        lists: list[list[float]] = rows.tolist()
        self.seconds += time.thread_time() - begun
        return lists


def read_task() -> Task:
    return Task(**json.loads(sys.argv[1]))


def answer(result: Result) -> None:
    sys.stdout.flush()
    print("\n" + json.dumps(asdict(result)))


def texts_of(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.txt"))


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


def timed(work: Callable[[], object], cpus: list[float], walls: list[float]) -> None:
    """One operation; what it leaves to the background in the next moment counts too."""
    begun, cpu_begun = time.perf_counter(), cpu()
    work()
    walls.append(time.perf_counter() - begun)
    time.sleep(0.1)
    cpus.append(cpu() - cpu_begun)
