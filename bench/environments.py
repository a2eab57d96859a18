"""Each peer's own interpreter, made once from its requirement file and kept.

A requirement file is `bench/peers/NAME.txt`, with exact versions. Its paragraphs are installed one
after the other: what a paragraph has put in, the next one keeps if it fits. A paragraph that
begins with `# without what it asks for` is installed without its dependencies.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FILES = Path(__file__).parent / "peers"
ALONE = "# without what it asks for"
SECONDS = 1200
_AT_ONCE = 3
_REASON = re.compile(r"^(?:ERROR|error): *(.+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Environments:
    """Interpreters by name; and for each that could not be made, why."""

    pythons: Mapping[str, str]
    absent: Mapping[str, str]


def names() -> list[str]:
    return sorted(path.stem for path in FILES.glob("*.txt"))


def make(cache: Path, wanted: Iterable[str], say: Callable[[str], None]) -> Environments:
    """A failed one is tried again at the next call: the reason may have been the network."""
    pythons: dict[str, str] = {}
    absent: dict[str, str] = {}

    def take(name: str) -> None:
        try:
            pythons[name] = str(_made(cache / name, FILES / f"{name}.txt", say))
        except (OSError, subprocess.SubprocessError) as error:
            absent[name] = _reason(error)
            say(f"{name}: no environment: {absent[name]}")

    # One fetches while another unpacks.
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(take, wanted))
    return Environments(dict(sorted(pythons.items())), absent)


def _made(folder: Path, file: Path, say: Callable[[str], None]) -> Path:
    wanted = file.read_text("utf-8")
    mark = hashlib.sha256(f"{sys.version}\n{wanted}".encode()).hexdigest()
    stamp, python = folder / "made", folder / "bin" / "python"
    if stamp.exists() and stamp.read_text("utf-8") == mark:
        return python
    say(f"{file.stem}: installing {len(pins(wanted))} packages and what they need ...")
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(folder))
    for number, paragraph in enumerate(paragraphs(wanted)):
        part = folder / f"requirements-{number}.txt"
        part.write_text(paragraph, "utf-8")
        alone = ["--no-deps"] if paragraph.startswith(ALONE) else []
        _run(str(python), "-m", "pip", "install", "--quiet", *alone, "-r", str(part))
    stamp.write_text(mark, "utf-8")
    return python


def paragraphs(text: str) -> list[str]:
    return [part + "\n" for part in re.split(r"\n\s*\n", text.strip()) if pins(part)]


def pins(text: str) -> dict[str, str]:
    """The versions that a requirement file asks for, by package."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return dict(line.partition("==")[::2] for line in lines if line)


def installed(python: str, packages: Iterable[str]) -> dict[str, str]:
    """The versions that are there, for the page; nothing for a package that is not."""
    script = (
        "import importlib.metadata as m, json, sys\n"
        "have = {d.name.lower().replace('_', '-'): d.version for d in m.distributions()}\n"
        "print(json.dumps({n: have.get(n.lower().replace('_', '-'), '') for n in sys.argv[1:]}))"
    )
    found: dict[str, str] = json.loads(_run(python, "-c", script, *packages))
    return found


def _run(*command: str) -> str:
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=True, env=quiet
    )
    return done.stdout


def _reason(error: Exception) -> str:
    """In one line, as pip says it, without addresses and paths."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"the installation took longer than {SECONDS} s"
    told = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    found = _REASON.findall(told or "") or [str(told or error).strip().splitlines()[-1]]
    return re.sub(r"\S*/\S+", "...", found[-1])[:300].strip()
