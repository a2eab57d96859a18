"""Servers for a browser: `unchunk serve` in a process of its own, with a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2

from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_keyring

# Nobody's patience: what is limited elsewhere is tested there.
_FREELY = {"rate_limit": "0", "sign_in_limit": "0"}


@dataclass(frozen=True)
class Running:
    """One server, as it is from outside."""

    url: str
    home: Path

    def new_key(self, owner: str, name: str = "test") -> str:
        with SynchronousEngine(partial(open_keyring, load(self.home, {}))) as keyring:
            _, shown = keyring.new(name, owner, "all")
        return str(shown)

    def revoke(self, owner: str) -> None:
        """All keys of an owner."""
        with SynchronousEngine(partial(open_keyring, load(self.home, {}))) as keyring:
            for key in keyring.all():
                if key.owner == owner:
                    keyring.revoke(key.id)

    def client(self, key: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60)


@contextmanager
def started(home: Path, **settings: str) -> Iterator[Running]:
    """Ended by its id, whatever happened."""
    ours = {f"UNCHUNK_{name.upper()}": value for name, value in (_FREELY | settings).items()}
    others = {name: value for name, value in os.environ.items() if not name.startswith("UNCHUNK_")}
    command = [sys.executable, "-m", "unchunk", "--home", str(home), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--json"], env=others | ours, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            assert told, "the server did not start; it says why above"
            yield Running(json.loads(told)["url"], home)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
