"""A large library: what memory it takes, and that it can be stopped and goes on.

    python -m bench.memory [--megabytes 200] [--embedder hashing]

Writes that much text in files of about a megabyte, adds them with the command, interrupts it
half-way, adds them again, and lets the doctor look at all of it. Prints the peak of resident
memory, of the command and all of its children together; shared pages count each time.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--embedder", default="hashing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        _write(files, options.megabytes)
        environment = {**os.environ, "UNCHUNK_EMBEDDER": options.embedder}
        command = [sys.executable, "-m", "unchunk", "--home", f"{folder}/home"]
        first = _run([*command, "add", str(files), "--json"], environment, stop=True, files=files)
        second = _run([*command, "add", str(files), "--json"], environment)
        done = json.loads(second.output)
        results = {one["result"] for one in done["files"]}
        doctor = _run([*command, "doctor", "--json"], environment)
        examined = json.loads(doctor.output)
        peaks = [round(run.peak / MEGABYTE) for run in (first, second, doctor)]
        seconds = [round(run.seconds, 1) for run in (first, second, doctor)]
        figures = {
            "megabytes": options.megabytes,
            "chunks": examined["chunks"],
            "interrupted": first.status,
            "results": sorted(results),
            "healthy": examined["findings"] == [],
            "peak MB: interrupted, resumed, doctor": peaks,
            "seconds": seconds,
        }
    for name, figure in figures.items():
        print(f"{name:<40}{figure}")
    results_path = Path(__file__).parent / "results" / "memory.json"
    results_path.parent.mkdir(exist_ok=True)
    results_path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return 0 if figures["healthy"] and results <= {"added", "unchanged"} else 1


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
    peak: int
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
    began, peak = time.monotonic(), 0
    home = Path(command[command.index("--home") + 1])
    half = len(list(files.iterdir())) // 2 if files else 0
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.DEVNULL
        ) as process,
    ):
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            if stop and sum(1 for one in home.glob("uploads/*/*/*")) >= half:
                process.send_signal(signal.SIGINT)
                stop = False
            time.sleep(0.1)
        output.seek(0)
        return Run(output.read(), peak, time.monotonic() - began, process.returncode)


def _resident(root: int) -> int:
    """Bytes of a process and all below it, as the system has them in memory now."""
    parents: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(status[1]), []).append(int(entry.name))
            sizes[int(entry.name)] = int(status[21]) * os.sysconf("SC_PAGE_SIZE")
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        waiting += parents.get(process, [])
    return total


if __name__ == "__main__":
    sys.exit(main())
