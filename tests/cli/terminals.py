"""The command line as people and scripts run it: a library to ask, on a screen or in a pipe."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import towns
from adapters.extract import making
from chat.rooms import HARBOUR, LIGHTHOUSE
from sheets import prose
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b[31m red \x9b31m \u202e txt.exe \r over"
# What steers a terminal, but for tab, line ends and what we send ourselves.
STEERING = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")
OURS = re.compile(r"\x1b\[(?:0|1|2|31|36)m|\r\n")
SETTINGS = {"UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_CHUNK_SIZE": "200", "UNCHUNK_CHAT_TIMEOUT": "9"}
_PATIENCE = 60.0


def interrupted(process: subprocess.Popen[bytes]) -> bytes:
    """What it complained of, when it ended; where it does not heed, the test fails.

    With PYTHONFAULTHANDLER it tells then where its threads stand.
    """
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=120)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        threads = process.communicate(timeout=30)[1].decode().split("\n\n")
        # The main one is the last, and a long report is cut at its end.
        pytest.fail("not heeded: " + "\n\n".join(reversed(threads)))


def make_library(folder: Path) -> Path:
    """A home with documents of all kinds, one of them hostile in its text, heading and name."""
    files = folder / "files"
    files.mkdir(parents=True)
    (files / "harbour.md").write_text(HARBOUR)
    (files / "lighthouse.md").write_text(LIGHTHOUSE)
    long = [f"{prose(200, seed=at)}\n\n" for at in range(60)]
    long[30] = f"The beacon of Skagen is painted white and red. {long[30]}"
    (files / "long report.txt").write_text("".join(long))
    pages = [f"Cora keeps the ferry timetable of page {at}." for at in range(1, 4)]
    (files / "ferry.pdf").write_bytes(making.pdf(pages))
    (files / "odd.md").write_text(f"# Olga {ESCAPES}\n\nOlga keeps the quayside {ESCAPES}\n")
    settings = load(towns.settle(folder / "home"), {}, embedder="hashing", chunk_size=200)
    with SynchronousEngine(lambda: open_engine(settings)) as engine:
        engine.add(files / "harbour.md", folder="rules")
        engine.add(files / "lighthouse.md", files / "long report.txt", files / "ferry.pdf")
        engine.add_file(files / "odd.md", "odd\u2028[9] forged\u202egpj.md", folder="odd")
    return folder / "home"


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UNCHUNK_")}
    return {**kept, **SETTINGS, "UNCHUNK_HOME": str(home), "TERM": "xterm"}


class Running:
    """A command of ours in a process of its own; what it says is read while it runs."""

    process: subprocess.Popen[bytes]

    def __init__(self, arguments: tuple[str, ...], home: Path, settings: Mapping[str, str]) -> None:
        self.said, self.complained = "", ""
        self._enough = threading.Event()
        self._readers: list[threading.Thread] = []
        self._command = [sys.executable, "-m", "unchunk", *arguments]
        self._environment = environment(home) | dict(settings)

    def wait_for(self, text: str, times: int = 1) -> str:
        """All it said up to now, once that holds this text, so many times."""
        deadline = time.monotonic() + _PATIENCE
        while self.said.count(text) < times:
            assert time.monotonic() < deadline, (text, self.said, self.complained)
            time.sleep(0.005)
        return self.said

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Its exit status; nothing that it started is left."""
        status = self.process.wait(_PATIENCE)
        for reader in self._readers:
            reader.join(_PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 0)
            raise AssertionError("it left a process behind")
        return status

    def _read(self, descriptor: int, name: str) -> None:
        def read() -> None:
            # A screen whose last process is gone cannot be read.
            with suppress(OSError):
                while not self._enough.is_set() and (data := os.read(descriptor, 1 << 16)):
                    setattr(self, name, getattr(self, name) + data.decode(errors="replace"))

        self._readers.append(threading.Thread(target=read, daemon=True))
        self._readers[-1].start()


class Piped(Running):
    def stop_reading(self) -> None:
        """As `head` does when it has enough."""
        assert self.process.stdout
        self._enough.set()
        self._readers[0].join(_PATIENCE)
        self.process.stdout.close()

    def start(self, said: bytes = b"") -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self._read(self.process.stdout.fileno(), "said")
        self._read(self.process.stderr.fileno(), "complained")
        if said:
            self.process.stdin.write(said)
            self.process.stdin.close()


class OnScreen(Running):
    """Standard error is on the screen, too."""

    def start(self) -> None:
        self._screen, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            self._command,
            env=self._environment | {"PROMPT_TOOLKIT_NO_CPR": "1"},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
            # Ctrl-C on a screen is for those whose screen it is.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no locks
        )
        os.close(side)
        self._read(self._screen, "said")

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def ended(self) -> int:
        status = super().ended()
        os.close(self._screen)
        return status


@contextmanager
def piped(
    *arguments: str, home: Path, said: bytes = b"", settings: Mapping[str, str] | None = None
) -> Iterator[Piped]:
    running = Piped(arguments, home, settings or {})
    running.start(said)
    with running.process:
        try:
            yield running
        finally:
            running.process.kill()


@contextmanager
def on_screen(
    *arguments: str, home: Path, settings: Mapping[str, str] | None = None
) -> Iterator[OnScreen]:
    running = OnScreen(arguments, home, settings or {})
    running.start()
    with running.process:
        try:
            yield running
        finally:
            running.process.kill()


def shown(
    *arguments: str, home: Path, status: int = 0, settings: Mapping[str, str] | None = None
) -> str:
    """All that a command says on a screen."""
    with on_screen(*arguments, home=home, settings=settings) as screen:
        assert screen.ended() == status, screen.said
    return screen.said


def json_of(text: str) -> Any:  # noqa: ANN401 - what JSON holds
    [line] = text.splitlines()
    return json.loads(line)
