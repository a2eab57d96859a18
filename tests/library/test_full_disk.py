"""A disk that is full: a clear error, nothing lost, and add goes on when there is space again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
set -u
mount -t tmpfs -o size=40m tmpfs "$1" || exit 99
"$2" -m unchunk --home "$1/home" add "$3"; echo "full: $?"
mount -o remount,size=1g "$1"
"$2" -m unchunk --home "$1/home" add "$3"; echo "again: $?"
"$2" -m unchunk --home "$1/home" doctor; echo "doctor: $?"
"""


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    files, disk = tmp_path / "files", tmp_path / "disk"
    files.mkdir()
    disk.mkdir()
    for number in range(40):
        (files / f"{number}.md").write_text(f"# {number}\n\n" + f"Word {number} and more. " * 8000)
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]
    if not shutil.which("unshare"):
        pytest.skip("this system has no unshare to make a small disk with")
    done = subprocess.run(
        [*command, str(disk), sys.executable, str(files)],
        env={**os.environ, "UNCHUNK_EMBEDDER": "hashing"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "full:" not in done.stdout:
        pytest.skip(f"this system lets nobody make a small disk: {done.stderr.strip()}")
    assert "full: 1\n" in done.stdout
    assert "again: 0\n" in done.stdout
    assert "doctor: 0\n" in done.stdout
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr or "full" in done.stderr or "waiting" in done.stdout
