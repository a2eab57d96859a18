"""Contestants take turns: each a process of its own, asked by lines of JSON, waited for in bounds.

A contestant that dies, hangs or talks nonsense leaves the field and says why; the others go on.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bench.figures import OURS, Cell
from bench.peers.qdrant_server import PROGRAM
from bench.running import Run

ROOT = Path(__file__).parents[1]
PATIENCE = 600.0
_TOLD = 2000
_NONE: Mapping[str, str] = {}
QUIET = {
    # Who installs a package has it compiled once; where this forbids it, ours would be each time.
    "PYTHONDONTWRITEBYTECODE": "",
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "TOKENIZERS_PARALLELISM": "false",
}


class TurnError(Exception):
    """A contestant cannot go on; the message says which, at what, and what it said last."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """`environment` names the interpreter that has it; none is ours.

    `ways` are its ways to ask, each with what a table calls it there. `indexed` says that it
    searches vectors by an index, not by looking at all. One that `shares` has no library of its
    own, but that of the module named.
    """

    name: str
    module: str
    variant: str = ""
    environment: str = ""
    ways: Mapping[str, str] = field(default_factory=dict)
    indexed: bool = False
    shares: str = ""

    @property
    def place(self) -> str:
        """Where its library is kept."""
        return self.shares or f"{self.module} {self.variant}".strip().replace(" ", "-")


class Told(NamedTuple):
    """Seconds of CPU and of wall time, and what it said."""

    cpu: float
    wall: float
    value: Any


class Seat:
    """A contestant's process. What it prints and complains of is in `log`."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, more: Mapping[str, str] = _NONE
    ) -> None:
        self.name, self._log = name, log
        log.parent.mkdir(parents=True, exist_ok=True)
        self.begun = time.perf_counter()
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | QUIET | dict(more),
                start_new_session=True,
            )
        self._read = b""

    def do(self, what: str, *, seconds: float = PATIENCE, **arguments: object) -> Told:
        """Have it do something, and wait for it no longer than that."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"do": what, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            # It ended, or was ended by us.
            raise self._failed(what, "is gone") from None
        line = self._line(what, time.monotonic() + seconds, seconds)
        try:
            answer = json.loads(line)
            if "error" in answer:
                # It is still there, and may be asked for something else.
                raise TurnError(f"{self.name}: {what}: {answer['error']}")
            return Told(answer["cpu"], answer["wall"], answer["value"])
        except (ValueError, KeyError, TypeError):
            raise self._failed(what, f"talks nonsense: {line[:80]!r}") from None

    def _line(self, what: str, deadline: float, seconds: float) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._read:
            ready, _, _ = select.select([pipe], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise self._failed(what, f"did not answer within {seconds:.0f} s")
            some = os.read(pipe, 1 << 20)
            if not some:
                code = self._process.wait()
                raise self._failed(what, f"ended with status {code}")
            self._read += some
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _failed(self, what: str, why: str) -> TurnError:
        self.end(patience=0)
        said = self._log.read_text("utf-8", "replace").strip()[-_TOLD:]
        return TurnError(f"{self.name}: {what}: {why}" + (f"\n{said}" if said else ""))

    def dismiss(self) -> None:
        """It may close what it has open, and end."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def end(self, patience: float = 20.0) -> None:
        """It, and all that it started; waited for as long as that."""
        self.dismiss()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        # Also when it is gone: what it started may not be.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def seat(contestant: Contestant, run: Run) -> Seat:
    """Raises `TurnError` where its interpreter is not to be had."""
    python = sys.executable
    if contestant.environment:
        if contestant.environment not in run.pythons:
            why = run.absent.get(contestant.environment, "its environment was not made")
            raise TurnError(f"{contestant.name}: {why}")
        python = run.pythons[contestant.environment]
    command = [python, "-W", "ignore", "-m", "bench.peers.playing"]
    log = run.cache / "logs" / f"{contestant.place}-{contestant.variant}.txt"
    more = {PROGRAM: _qdrant()} if contestant.variant == "qdrant" else {}
    return Seat(contestant.name, [*command, contestant.module, contestant.variant], log, more)


def _qdrant() -> str:
    """The server that the tests use; raises `TurnError` where it is not to be had."""
    script = "import servers; print(servers.qdrant_binary())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TurnError(f"Qdrant's server: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()


class Field:
    """Those who still take part in a measure, and why the others do not."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seats: dict[str, Seat] = {}
        self.contestants: dict[str, Contestant] = {}
        self.missing: dict[str, str] = {}

    def enter(
        self, contestants: Iterable[Contestant], begin: Callable[[Contestant, Seat], object]
    ) -> None:
        """Start their processes all at once, and have one after the other begin."""
        several = list(contestants)
        for one in several:
            with self.leaving(one.name):
                self.seats[one.name] = seat(one, self.run)
                self.contestants[one.name] = one
        for one in several:
            if one.name in self.seats:
                with self.leaving(one.name):
                    begin(one, self.seats[one.name])

    @contextmanager
    def leaving(self, name: str) -> Iterator[None]:
        """Whoever fails meanwhile takes no further part."""
        try:
            yield
        except TurnError as error:
            told = str(error)
            self.run.say(told)
            self.missing[name] = told.splitlines()[0].removeprefix(f"{name}: ")
            if name in self.seats:
                self.seats.pop(name).end()

    def each(self, number: int = 0) -> Iterator[tuple[Contestant, Seat]]:
        """All who are still there; whose turn is first goes round."""
        names = list(self.seats)
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            if name in self.seats:
                yield self.contestants[name], self.seats[name]

    def close(self) -> None:
        for one in self.seats.values():
            one.dismiss()
        for one in self.seats.values():
            one.end()


@contextmanager
def entered(run: Run) -> Iterator[Field]:
    found = Field(run)
    try:
        yield found
    finally:
        found.close()


class Sheet:
    """Figures as they come in, by row and by contestant."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, tuple[list[float], list[float]]]] = {}

    def note(self, row: str, name: str, value: float, wall: float | None = None) -> None:
        values, walls = self._cells.setdefault(row, {}).setdefault(name, ([], []))
        values.append(value)
        if wall is not None:
            walls.append(wall)

    def cells(self, row: str, names: Iterable[str] | None = None) -> dict[str, Cell]:
        """Those of all, or of some; ours first."""
        found = self._cells.get(row, {})
        chosen = [name for name in found if names is None or name in set(names)]
        return {name: Cell(*found[name]) for name in sorted(chosen, key=lambda name: name != OURS)}
