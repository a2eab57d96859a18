"""A shard copied and optimized by a process of its own, at the lowest priority.

It says so when the copy is made, from when on the source may change. When it ends well, the
target is on disk to stay.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from unchunk.adapters.index.edge_home import make_sure
from unchunk.adapters.index.edge_shard import Shard
from unchunk.adapters.index.wire import command

_BLOCK = 1 << 20
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, known to Linux only

State = Literal["copying", "working", "done", "failed"]


class Optimizing:
    """The process, as its parent sees it. The thread that makes this must outlive it."""

    def __init__(self, source: Path, target: Path) -> None:
        self.target = target
        self._copied = False
        self._process = subprocess.Popen(  # noqa: S603 our own interpreter and module
            command(__name__, str(source), str(target)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        os.set_blocking(self._output.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def state(self) -> State:
        code = self._process.poll()
        if code is not None:
            self._output.close()
            return "failed" if code else "done"
        self._copied = self._copied or bool(self._output.read())
        return "working" if self._copied else "copying"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()


def main(source: str, target: str) -> None:
    die_with_parent()
    os.nice(19)
    copy(Path(source), Path(target))
    print("copied", flush=True)  # noqa: T201 its parent reads this
    optimize(Path(target))


def optimize(folder: Path) -> None:
    shard = Shard.load(folder)
    shard.optimize()
    shard.flush()
    shard.close()
    for path in (*_walk(folder), folder):
        # What the engine did not touch is only in memory yet.
        make_sure(path)


def copy(source: Path, target: Path) -> None:
    """Copy a folder, holes as holes: the engine reserves much that it does not use yet."""
    target.mkdir()
    for path in _walk(source):
        twin = target / path.relative_to(source)
        if path.is_dir():
            twin.mkdir()
            continue
        with path.open("rb", buffering=0) as read, twin.open("wb") as write:
            while block := read.read(_BLOCK):
                if block.count(0) == len(block):
                    write.seek(len(block), os.SEEK_CUR)
                else:
                    write.write(block)
            write.truncate()


def _walk(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.rglob("*")))


def die_with_parent() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
