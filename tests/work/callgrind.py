"""How many instructions the pure core takes, in loops over the same text."""

import os
import re
import subprocess
import sys
from pathlib import Path

from work import pure

_TESTS = str(Path(__file__).parents[1])
_LINES = re.compile(r"^(part|totals): (\d+)$", re.MULTILINE)


def ratios(folder: Path, worse: str, made_worse: str) -> tuple[dict[str, float], float]:
    """What each of the works takes, where a loop over the characters takes 1; and what the one
    called `made_worse` takes after the statements `worse`.

    All is counted in one process, and not its start.
    """
    out = folder / "counted"
    program = (
        f"import sys; sys.path.insert(0, {_TESTS!r}); from work import pure; pure.main()\n"
        f"{worse}\npure.main({made_worse!r})"
    )
    subprocess.run(
        [
            *("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"),
            # A dump has what was counted since the one before.
            *(f"--dump-before={pure.MARK}", sys.executable, "-P", "-c", program),
        ],
        env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"},
        check=True,
        timeout=300,
    )
    parts: dict[int, int] = {}
    for one in folder.glob("counted.*"):
        said = dict(_LINES.findall(one.read_text("utf-8", "replace")))
        parts[int(said["part"])] = int(said["totals"])
    # What comes before a work, and the work, in turn.
    [floor, *counts, last] = [parts[number] for number in sorted(parts)][1::2]
    [_, *names] = pure.works()
    return {name: it / floor for name, it in zip(names, counts, strict=True)}, last / floor
