"""A server under many users at once, for a while.

    python -m bench.users [--users 50] [--seconds 120] [--owners 5] [--embedder hashing]

A real server in a process of its own, with keys, and a scripted model in another. First one user
alone, then all at once: they upload, search, ask, read and delete (`bench.crowd`). Told are the
requests by kind, what was refused as it should be (404 for what was just deleted, 409, 429), what
went wrong, how long things took beside a single user's, and the server's memory at each quarter.
Then the server is stopped and the library examined.

The exit status is 1 if anything went wrong, if the server did not end well, if `unchunk doctor`
finds something, or if the memory at the end is more than a tenth and 24 MB above that of the
first quarter, when everything has been done many times and the libraries are full.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adapters.llm.scripted import own_process
from bench.crowd import MIX, Library, Tally, crowd
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_keyring

GROWTH, SLACK = 1.1, 24_000
_QUARTERS, _ALONE = 4, 150


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--owners", type=int, default=5)
    parser.add_argument("--embedder", default="hashing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, own_process() as model:
        home = Path(folder) / "home"
        environment = {
            "UNCHUNK_EMBEDDER": options.embedder,
            "UNCHUNK_CHAT": "openai:scripted",
            "UNCHUNK_CHAT_URL": f"{model.url}/v1",
            "UNCHUNK_REQUIRE_KEYS": "yes",
            # Ten users of one owner ask for more than one person does.
            "UNCHUNK_RATE_LIMIT": "0",
        }
        libraries = owners(home, options.owners)
        with serving(home, environment) as server:
            url = address(server)
            alone = asyncio.run(_alone(url, owners(home, 1, "alone")))
            together, memory = asyncio.run(
                _watched(url, server.pid, libraries, options.users, options.seconds)
            )
        ended_well = server.returncode == 0
        examined = examine(home, environment)
    _print(alone, together, memory, options.seconds)
    grown = memory[-1] > memory[0] * GROWTH + SLACK
    verdicts = {
        "nothing went wrong": not (alone.wrong or together.wrong),
        "memory is flat": not grown,
        "the server ended well": ended_well,
        "the library is healthy": examined,
    }
    for what, holds in verdicts.items():
        print(f"{'yes' if holds else 'NO ':<5}{what}")
    _keep(alone, together, memory, options)
    return 0 if all(verdicts.values()) else 1


def owners(home: Path, count: int, name: str = "owner") -> list[Library]:
    with SynchronousEngine(partial(open_keyring, load(home, {}))) as keyring:
        made = [(f"{name}{at}", keyring.new("bench", f"{name}{at}")[1]) for at in range(count)]
    return [Library(owner, key) for owner, key in made]


@contextmanager
def serving(home: Path, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Afterwards its return code is known."""
    command = [sys.executable, "-m", "unchunk", "--home", str(home), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--json"], env=os.environ | environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
            process.kill()


def address(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    return str(json.loads(server.stdout.readline())["url"])


def examine(home: Path, environment: dict[str, str]) -> bool:
    command = [sys.executable, "-m", "unchunk", "--home", str(home), "doctor"]
    done = subprocess.run(command, env=os.environ | environment, check=False)
    return done.returncode == 0


async def _alone(url: str, library: list[Library]) -> Tally:
    """The first things load what is loaded once, and are not counted; what is wrong is."""
    first = await crowd(url, library, 1, actions=20)
    then = await crowd(url, library, 1, actions=_ALONE, seed=1)
    then.wrong += first.wrong
    then.told += first.told
    return then


async def _watched(
    url: str, pid: int, libraries: list[Library], users: int, seconds: float
) -> tuple[Tally, list[int]]:
    began, memory = time.monotonic(), []
    work = asyncio.ensure_future(crowd(url, libraries, users, seconds=seconds, seed=1000))
    for quarter in range(1, _QUARTERS + 1):
        left = began + seconds * quarter / _QUARTERS - time.monotonic()
        await asyncio.wait({work}, timeout=max(left, 0))
        memory.append(_memory(pid))
    return await work, memory


def _memory(pid: int) -> int:
    """Kilobytes that the process holds itself."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def _print(alone: Tally, together: Tally, memory: Sequence[int], seconds: float) -> None:
    print(f"\n{'':<14}{'done':>7}{'meant':>7}{'ms alone':>10}{'p50':>8}{'p95':>8}{'p99':>8}")
    for kind in MIX:
        one, many = sorted(alone.seconds[kind]), sorted(together.seconds[kind])
        refused = sum(n for (of, _), n in together.meant.items() if of == kind)
        base = _at(one, 0.5)
        ratios = "".join(
            f"{f'x{_at(many, share) / base:.1f}' if base and many else '-':>8}"
            for share in (0.5, 0.95, 0.99)
        )
        print(f"{kind:<14}{len(many):>7}{refused:>7}{base * 1000:>10.1f}{ratios}")
    every = sum(map(len, together.seconds.values()))
    print(f"\n{every} done, {every / seconds:.0f} a second")
    print("meant:", ", ".join(f"{k} {s}: {n}" for (k, s), n in together.meant.items()) or "none")
    for tally in (alone, together):
        for what, count in tally.wrong.most_common():
            print(f"WRONG {count} x {what}")
        for told in tally.told:
            print(f"  {told}")
    times = [seconds * quarter / _QUARTERS for quarter in range(1, _QUARTERS + 1)]
    at = [f"{moment:.0f} s: {kb // 1000} MB" for moment, kb in zip(times, memory, strict=True)]
    print("memory at", ", ".join(at), "\n")


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def _keep(
    alone: Tally, together: Tally, memory: Sequence[int], options: argparse.Namespace
) -> None:
    kinds = {
        kind: {
            "done": len(together.seconds[kind]),
            "ratio_p50": _ratio(alone, together, kind, 0.5),
            "ratio_p95": _ratio(alone, together, kind, 0.95),
        }
        for kind in MIX
    }
    figures = {
        "users": options.users,
        "seconds": options.seconds,
        "kinds": kinds,
        "meant": {f"{kind} {status}": n for (kind, status), n in together.meant.items()},
        "wrong": dict(together.wrong),
        "memory_kb": [*memory],
    }
    results = Path(__file__).parent / "results" / "users.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def _ratio(alone: Tally, together: Tally, kind: str, share: float) -> float:
    base = _at(sorted(alone.seconds[kind]), 0.5)
    return round(_at(sorted(together.seconds[kind]), share) / base, 1) if base else 0.0


if __name__ == "__main__":
    sys.exit(main())
