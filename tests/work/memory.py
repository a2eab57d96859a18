"""How much the pure core allocates, counted in a process of its own, where nothing else does."""

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from work import pure

_TESTS = str(Path(__file__).parents[1])


def peaks(worse: str = "") -> dict[str, float]:
    """For each of the works the most bytes that are there at once, its result too, for each
    character of the text; after the statements `worse`.
    """
    program = (
        f"import sys; sys.path.insert(0, {_TESTS!r}); from work import memory\n{worse}\n"
        "memory.main()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    counted: dict[str, float] = json.loads(done.stdout)
    return counted


def main() -> None:
    [_, *works] = pure.works().items()
    # The least of several: what the interpreter keeps for itself comes on top now and then.
    counted = {name: min(_peak(work) for _ in range(5)) for name, work in works}
    sys.stdout.write(json.dumps({name: it / len(pure.TEXT) for name, it in counted.items()}))


def _peak(work: Callable[[], object]) -> int:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.enable()
    return peak
