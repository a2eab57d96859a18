"""The notice that a server leaves in the home of its library."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unchunk.beside.running import FILE, Notice, find
from unchunk.errors import LibraryInUseError

HOLD = """
import sys, time
from pathlib import Path
from unchunk.beside.running import Notice
notice = Notice(Path(sys.argv[1]), "ada", "1.0")
notice.tell("http://127.0.0.1:7")
print("told", flush=True)
time.sleep(600)
"""


def told(home: Path, address: str = "http://127.0.0.1:8000") -> Notice:
    notice = Notice(home, "ada", "1.0", "chunkenizer:")
    notice.tell(address)
    return notice


def test_a_server_is_found_while_it_runs_and_no_longer(tmp_path: Path) -> None:
    assert find(tmp_path) is None
    notice = told(tmp_path)
    running = find(tmp_path)
    assert running is not None
    assert running.url == "http://127.0.0.1:8000"
    assert (running.pid, running.owner, running.version) == (os.getpid(), "ada", "1.0")
    assert running.secret == notice.secret
    assert running.source == "chunkenizer:"
    assert notice.secret not in repr(running)
    notice.take_back()
    notice.take_back()
    assert find(tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_nobody_else_may_read_it_and_every_run_has_its_own_secret(tmp_path: Path) -> None:
    notice = told(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert len(notice.secret) > 40
    assert notice.secret != Notice(tmp_path, "ada", "1.0").secret
    notice.take_back()


def test_one_that_was_killed_is_none(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == "told\n"
            running = find(tmp_path)
            assert running is not None
            assert running.pid == server.pid
        finally:
            server.send_signal(signal.SIGKILL)
    assert (tmp_path / FILE).exists()
    assert find(tmp_path) is None
    # The next one takes its place.
    notice = told(tmp_path)
    assert find(tmp_path) is not None
    notice.take_back()


def test_of_two_servers_the_last_is_told_and_the_first_takes_only_its_own(tmp_path: Path) -> None:
    first, last = told(tmp_path, "http://127.0.0.1:1"), told(tmp_path, "http://127.0.0.1:2")
    running = find(tmp_path)
    assert running is not None
    assert running.secret == last.secret
    first.take_back()
    assert find(tmp_path) == running
    last.take_back()
    assert find(tmp_path) is None


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000"),
        ("http://[::]:8000", "http://[::1]:8000"),
        ("http://192.168.1.7:80", "http://192.168.1.7:80"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_what_listens_everywhere_is_reached_here(tmp_path: Path, address: str, near: str) -> None:
    notice = told(tmp_path, address)
    running = find(tmp_path)
    assert running is not None
    assert running.url == near
    notice.take_back()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("nonsense"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text(json.dumps({"url": "http://127.0.0.1:1"})),
        lambda path: path.write_text(""),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_what_is_no_notice_is_none(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    notice = told(tmp_path)
    spoil(tmp_path / FILE)
    assert find(tmp_path) is None
    notice.take_back()


def test_a_home_that_cannot_be_written_keeps_no_server_from_running(tmp_path: Path) -> None:
    notice = Notice(tmp_path / "missing", "ada", "1.0")
    notice.tell("http://127.0.0.1:1")
    notice.take_back()
    assert find(tmp_path / "missing") is None


def test_a_server_for_others_or_of_another_version_is_not_asked(tmp_path: Path) -> None:
    notice = told(tmp_path)
    running = find(tmp_path)
    assert running is not None
    running.check("ada", "1.0")
    with pytest.raises(LibraryInUseError, match=r"pid \d+\) is using .* owner 'ada'.*'ben'"):
        running.check("ben", "1.0")
    with pytest.raises(LibraryInUseError, match=r"is of version 1\.0, and this is 2\.0"):
        running.check("ada", "2.0")
    notice.take_back()
