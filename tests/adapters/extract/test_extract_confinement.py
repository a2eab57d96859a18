"""What a worker can no longer do. Tried in processes of their own: it cannot be undone."""

import platform
import subprocess
import sys

import pytest

LINUX = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
CONFINED = (
    "import os, sys\n"
    "from unchunk.adapters.extract.confinement import allow_seconds, confine\n"
    "confine(memory=300_000_000, owner=os.getppid())\n"
)


def outcome(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-c", CONFINED + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(not LINUX, reason="the kernel filter is for Linux on x86_64 and aarch64")
@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.kill(os.getppid(), 0)",
    ],
)
def test_no_connection_no_program_no_signal(code: str) -> None:
    found = outcome(code)
    assert found.returncode == 1
    assert "PermissionError" in found.stderr


def test_memory_is_limited() -> None:
    assert "MemoryError" in outcome("x = bytearray(400_000_000)").stderr
    assert outcome("x = bytearray(100_000_000)").returncode == 0


def test_nothing_can_be_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("written") / "file"
    found = outcome(f"import os; os.write(os.open({str(path)!r}, os.O_CREAT | os.O_WRONLY), b'x')")
    assert "File too large" in found.stderr
    assert not path.read_bytes()


def test_files_can_still_be_read() -> None:
    assert outcome(f"open({__file__!r}).read(); print('read')").stdout == "read\n"


def test_computing_ends_when_its_time_is_over() -> None:
    found = outcome("allow_seconds(0.1)\nwhile True: pass")
    assert found.returncode == -24  # SIGXCPU


def test_an_orphan_ends_at_once() -> None:
    code = "from unchunk.adapters.extract.confinement import confine\nconfine(10**9, owner=1 << 22)\nprint(1)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=True
    )
    assert not found.stdout
