"""A large library: what memory it takes, and that it can be stopped and goes on.

    python -m bench.memory [--megabytes 200] [--embedder hashing]

Writes that much text in files of about a megabyte, adds them with the command, interrupts it
half-way, adds them again, and lets the doctor look at all of it. Prints the peaks of memory of
the command and all of its children together: what they hold themselves, which has to stay
bounded, and what is resident with the pages of files, which the system takes back at need.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpus

MEGABYTE = 1_000_000


class Figures(NamedTuple):
    """Peaks are of the interrupted run, the resumed one and the doctor, in megabytes."""

    megabytes: int
    chunks: int
    interrupted: int
    results: list[str]
    healthy: bool
    own: list[int]
    resident: list[int]
    seconds: list[float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--embedder", default="hashing")
    options = parser.parse_args()
    figures = measure(options.megabytes, options.embedder)
    for name, figure in figures._asdict().items():
        print(f"{name:<12}{figure}")
    results = Path(__file__).parent / "results" / "memory.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(figures._asdict(), indent=1) + "\n", "utf-8")
    return 0 if figures.healthy and set(figures.results) <= {"added", "unchanged"} else 1


def measure(megabytes: int, embedder: str = "hashing") -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        _write(files, megabytes)
        environment = {**os.environ, "UNCHUNK_EMBEDDER": embedder}
        command = [sys.executable, "-m", "unchunk", "--home", f"{folder}/home"]
        first = _run([*command, "add", str(files), "--json"], environment, stop=True, files=files)
        second = _run([*command, "add", str(files), "--json"], environment)
        doctor = _run([*command, "doctor", "--json"], environment)
    examined = json.loads(doctor.output)
    runs = (first, second, doctor)
    return Figures(
        megabytes,
        examined["chunks"],
        first.status,
        sorted({one["result"] for one in json.loads(second.output)["files"]}),
        examined["findings"] == [],
        [round(run.own / MEGABYTE) for run in runs],
        [round(run.resident / MEGABYTE) for run in runs],
        [round(run.seconds, 1) for run in runs],
    )


def _write(folder: Path, megabytes: int) -> None:
    """Prose whose sentences come in another order in each file: none can be left out."""
    rng = random.Random(1)
    texts = [text for _, text in (*corpus.natural()[:60], *corpus.generated())]
    lines = [line for text in texts for line in text.splitlines() if 40 < len(line) < 2000]
    for number in range(megabytes):
        size, chosen = 0, [f"# Volume {number}\n"]
        while size < MEGABYTE:
            chosen.append(rng.choice(lines))
            size += len(chosen[-1].encode())
        (folder / f"{number:04}.md").write_text("\n".join(chosen), "utf-8")


class Run(NamedTuple):
    output: str
    own: int
    resident: int
    seconds: float
    status: int


def _run(
    command: list[str],
    environment: dict[str, str],
    *,
    stop: bool = False,
    files: Path | None = None,
) -> Run:
    """Run a command; with `stop`, interrupt it when half of the files are in its hands."""
    began, own, resident = time.monotonic(), 0, 0
    home = Path(command[command.index("--home") + 1])
    half = len(list(files.iterdir())) // 2 if files else 0
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.DEVNULL
        ) as process,
    ):
        while process.poll() is None:
            now = _memory(process.pid)
            own, resident = max(own, now[0]), max(resident, now[1])
            if stop and sum(1 for one in home.glob("uploads/*/*/*")) >= half:
                process.send_signal(signal.SIGINT)
                stop = False
            time.sleep(0.1)
        output.seek(0)
        return Run(output.read(), own, resident, time.monotonic() - began, process.returncode)


def _memory(root: int) -> tuple[int, int]:
    """Bytes of a process and all below it: their own, and all that is resident."""
    parents: dict[int, list[int]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines = (entry / "status").read_text().splitlines()
            except OSError:
                continue
            values = dict(line.split(":", 1) for line in lines if ":" in line)
            parents.setdefault(int(values["PPid"]), []).append(int(entry.name))
            own, resident = (
                int(values.get(key, "0").split()[0]) * 1024 for key in ("RssAnon", "VmRSS")
            )
            sizes[int(entry.name)] = (own, resident)
    own = resident = 0
    waiting = [root]
    while waiting:
        process = waiting.pop()
        size = sizes.get(process, (0, 0))
        own, resident = own + size[0], resident + size[1]
        waiting += parents.get(process, [])
    return own, resident


if __name__ == "__main__":
    sys.exit(main())
