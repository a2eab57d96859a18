"""Points on their way to the process of the index."""

import subprocess
import sys

FORGOTTEN = """
import gc
import numpy as np
from unchunk.adapters.index import frames
from unchunk.adapters.index.packing import pack
from unchunk.domain import ChunkKey, Space, Terms
from unchunk.ports import Point
point = Point(ChunkKey("me", "a", 1, 0), "", np.ones(4, np.float32), Terms((1, 2), (0.5, 0.5)))
batch = pack([point], Space("s", 4))
held = [batch, frames.pack(batch)]
held.append(held)
del held, batch
gc.collect()
"""


def test_a_batch_that_an_error_left_behind_can_be_collected() -> None:
    """In a process of its own: what is collected in the wrong order takes its process along."""
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
