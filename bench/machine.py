"""What a run says of itself: the machine in general words, the versions, the day.

Nothing that names a host, a person or a folder.
"""

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench import environments

ROOT = Path(__file__).parents[1]
_WRITTEN = (":!docs/benchmarks*", ":!docs/recovery.md")
OWN = ("unchunk", "numpy", "qdrant-edge-py", "onnxruntime", "pypdfium2")


@dataclass(frozen=True, slots=True)
class About:
    """`measured` has for each measure when it was, of which commit, and how long it took; `failed`
    why one gave nothing.
    """

    machine: str
    python: str
    commit: str
    versions: Mapping[str, Mapping[str, str]]
    absent: Mapping[str, str]
    is_quick: bool = False
    measured: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def about(made: environments.Environments, *, is_quick: bool) -> About:
    versions = {"unchunk": {name: version(name) for name in OWN}}
    for name, python in made.pythons.items():
        wanted = environments.pins((environments.FILES / f"{name}.txt").read_text("utf-8"))
        versions[name] = environments.installed(python, wanted)
    return About(
        machine(), platform.python_version(), _commit(), versions, dict(made.absent), is_quick
    )


def machine() -> str:
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    release = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return f"{os.cpu_count()} cores ({_processor()}), {gibibytes:.0f} GiB of memory, {release}"


def now(seconds: float, commit: str) -> str:
    return f"{datetime.now(UTC):%Y-%m-%d} at {commit or 'no commit'}, {seconds:.0f} s"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _commit() -> str:
    """Nothing where there is no repository; `-dirty` where files are not as committed, but for
    the pages that are written here.
    """
    try:
        changed = _git("status", "--porcelain", "-uno", "--", ".", *_WRITTEN)
        return _git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*command: str) -> str:
    done = ["git", "-C", str(ROOT), *command]
    return subprocess.run(done, capture_output=True, text=True, check=True).stdout.strip()
