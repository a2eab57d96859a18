"""The loop of a worker, run in this process over pipes."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from unchunk.adapters.extract import worker
from unchunk.adapters.extract.frames import answer, read_frame, request
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.errors import ExtractionError


class Conversation:
    """A worker that runs in a thread, without the confinement that cannot be undone."""

    def __init__(self, limits: Limits) -> None:
        source, self.ask = os.pipe()
        self.heard, sink = os.pipe()

        def serve() -> None:
            worker.serve(source, sink, limits)
            os.close(sink)
            os.close(source)

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()

    def hear(self) -> tuple[dict[str, object], bytes]:
        return read_frame(lambda count: worker._read(self.heard, count), 10**9)

    def end(self) -> None:
        os.close(self.ask)
        self.thread.join(30)
        assert not self.thread.is_alive()
        os.close(self.heard)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Callable[[Limits], Conversation]:
    # The limit of computing would stay on this process.
    monkeypatch.setattr(worker, "allow_seconds", lambda _: None)
    # And what this process has grown to is not a worker's fault.
    monkeypatch.setattr(worker, "_resident", lambda: 0)
    return Conversation


def test_it_says_that_it_is_there_and_answers_in_turn(
    start: Callable[[Limits], Conversation], tmp_path: Path
) -> None:
    file = tmp_path / "a"
    file.write_text("Words\n")
    talk = start(Limits())
    header, body = talk.hear()
    assert list(header) == ["held"]
    assert not body
    for name in ("a.txt", "a.md"):
        os.write(talk.ask, request(str(file), name))
        header, body = talk.hear()
        assert answer(header, body).text == "Words\n"
        assert header["last"] is False
    os.write(talk.ask, request(str(tmp_path / "missing"), "b.txt"))
    header, body = talk.hear()
    with pytest.raises(ExtractionError, match="No such file") as refused:
        answer(header, body)
    assert refused.value.code == "unreadable"
    talk.end()


def test_it_ends_after_its_share_of_files(
    start: Callable[[Limits], Conversation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_MOST_FILES", 2)
    file = tmp_path / "a"
    file.write_text("Words\n")
    talk = start(Limits())
    talk.hear()
    for last in (False, True):
        os.write(talk.ask, request(str(file), "a.txt"))
        assert talk.hear()[0]["last"] is last
    talk.end()


@pytest.mark.parametrize("data", [b"Words", b""])
def test_it_ends_when_it_has_grown(
    start: Callable[[Limits], Conversation],
    tmp_path: Path,
    data: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "a"
    file.write_bytes(data)
    monkeypatch.setattr(worker, "_resident", lambda: 100 * MiB)
    talk = start(Limits(memory=4 * MiB))
    talk.hear()
    os.write(talk.ask, request(str(file), "a.txt"))
    assert talk.hear()[0]["last"] is True
    talk.end()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ExtractionError("empty", "x"), "empty"),
        (MemoryError(), "too-much-memory"),
        (RecursionError(), "damaged"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "too-much-memory"),
        (PermissionError(13, "Permission denied"), "unreadable"),
        (OSError("odd"), "unreadable"),
        (ZeroDivisionError("division by zero"), "crashed"),
        (type("PanicException", (BaseException,), {})("unwrap on None"), "crashed"),
    ],
)
def test_every_failure_has_a_meaning(error: BaseException, code: str) -> None:
    assert worker.explained(error, Limits()).code == code


def test_a_parser_that_fails_in_its_own_way_costs_the_worker(
    start: Callable[[Limits], Conversation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(worker, "read_file", fail)
    talk = start(Limits())
    talk.hear()
    os.write(talk.ask, request(str(tmp_path), "a"))
    header, body = talk.hear()
    with pytest.raises(ExtractionError, match="failed with ZeroDivisionError: division by zero"):
        answer(header, body)
    assert header["last"] is True
    talk.end()


def test_memory_is_known_where_the_system_does_not_tell_it_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert worker._resident() > MiB

    def missing(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert worker._resident() > 0
