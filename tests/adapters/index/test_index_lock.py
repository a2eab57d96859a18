import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from unchunk.adapters.index.lock import FolderLock
from unchunk.errors import LibraryInUseError

HOLD = """
import os, subprocess, sys
from pathlib import Path
from unchunk.adapters.index.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
left = subprocess.Popen(["sleep", sys.argv[2]], pass_fds=[lock.fd], stdout=subprocess.DEVNULL)
print(left.pid)
"""


def left_behind(path: Path, seconds: float) -> int:
    """A lock whose holder is gone, but not what that one had started, whose number this is."""
    command = [sys.executable, "-c", HOLD, str(path), str(seconds)]
    return int(subprocess.check_output(command, timeout=60))


def test_a_lock_is_held_once_and_can_be_had_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.b.lock"
    lock = FolderLock(path)
    with pytest.raises(LibraryInUseError, match=r"a\.b is already open in this program: close it"):
        FolderLock(path)
    lock.release()
    lock.release()
    FolderLock(path).release(remove=True)
    assert not path.exists()


def test_what_a_killed_holder_left_running_is_waited_for(tmp_path: Path) -> None:
    left_behind(tmp_path / "x.lock", 0.5)
    FolderLock(tmp_path / "x.lock").release()


def test_but_not_for_ever(tmp_path: Path) -> None:
    left = left_behind(tmp_path / "x.lock", 600)
    try:
        with pytest.raises(LibraryInUseError, match=r"is open in process \d+:"):
            FolderLock(tmp_path / "x.lock", patience=0.2)
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_holder_that_left_no_name_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    lock = FolderLock(path)
    path.write_bytes(b"")
    with pytest.raises(LibraryInUseError, match="is open in another process"):
        FolderLock(path, patience=0.1)
    path.write_bytes(b"1")  # the first process of the system, which lives and is not ours
    with pytest.raises(LibraryInUseError, match="is open in process 1:"):
        FolderLock(path)
    lock.release()


def test_a_lock_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.lock"
    real = os.open

    def removed_after_opening(*arguments: object) -> int:
        fd = real(*arguments)  # type: ignore[arg-type]  # passed on as they came
        monkeypatch.setattr(os, "open", real)
        path.unlink()
        return fd

    monkeypatch.setattr(os, "open", removed_after_opening)
    lock = FolderLock(path)
    assert os.path.samestat(os.fstat(lock.fd), path.stat())
    lock.release()
