"""Parts of a service are killed and paused, one after the other, while its users go on.

    python -m bench.chaos [--minutes 10] [--seed 1]

Three Qdrant nodes, PostgreSQL, two servers, three workers and a balancer, all of them processes
here. Told is what was broken, what the users saw meanwhile, and all that was wrong; the exit
status is 1 if anything was: something acknowledged that is lost, something deleted that is shown,
a half, a mixture, an answer that does not come, a queue that does not drain, or a library that
`unchunk doctor` does not find healthy.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench.ledger import NONE, Place, now
from bench.storm import Owner, Refused, Seen
from stacks import Stack, kill_database, stack

Mend = Callable[[], None]
# What waits for a part that is away is given up sooner than in earnest, so that a pause may be short.
SETTINGS = {"lease_seconds": "4", "index_timeout": "3"}
OWNERS, PLACES = ("ann", "bob", "cid"), 8
_DRAINED = 120.0
_CLEARED = 180.0
QUERIES = ("search", "retrieve", "chat", "read", "original", "list")


@dataclass(frozen=True)
class Trouble:
    """`begin` breaks a part and says how to mend it, which is done after so many seconds."""

    name: str
    seconds: float
    begin: Callable[[Stack, random.Random], Mend]


def _node_killed(stack: Stack, rng: random.Random) -> Mend:
    node = rng.choice(stack.cluster.nodes)
    node.kill()
    return node.start


def _node_paused(stack: Stack, rng: random.Random) -> Mend:
    node = rng.choice(stack.cluster.nodes)
    node.pause()
    return node.resume


def _worker_killed(stack: Stack, rng: random.Random) -> Mend:
    worker = rng.choice(stack.workers)
    worker.kill()
    return worker.start


def _worker_paused(stack: Stack, rng: random.Random) -> Mend:
    worker = rng.choice(stack.workers)
    worker.pause()
    return worker.resume


def _server_killed(stack: Stack, rng: random.Random) -> Mend:
    server = rng.choice(stack.servers)
    server.kill()
    return server.start


def _database_restarted(stack: Stack, _: random.Random) -> Mend:
    stack.database.stop()
    return stack.database.start


def _database_killed(stack: Stack, _: random.Random) -> Mend:
    kill_database(stack.database)
    return stack.database.start


TROUBLES = (
    Trouble("a worker is killed", 2, _worker_killed),
    Trouble("a Qdrant node is killed", 6, _node_killed),
    Trouble("a server is killed", 3, _server_killed),
    Trouble("PostgreSQL restarts", 0, _database_restarted),
    Trouble("a worker is paused", 8, _worker_paused),
    Trouble("a Qdrant node is paused", 8, _node_paused),
    Trouble("PostgreSQL is killed", 1, _database_killed),
)


def once(_: random.Random) -> Iterator[Trouble]:
    yield from TROUBLES


def for_a_while(seconds: float) -> Callable[[random.Random], Iterator[Trouble]]:
    """Each once, and as often again as there is time for."""

    def drawn(rng: random.Random) -> Iterator[Trouble]:
        deadline = time.monotonic() + seconds
        yield from TROUBLES
        while time.monotonic() < deadline:
            yield rng.choice(TROUBLES)

    return drawn


async def chaos(
    stack: Stack,
    troubles: Callable[[random.Random], Iterator[Trouble]] = once,
    *,
    seed: int = 1,
    calm: float = 3.0,
) -> Seen:
    """Users go on while one part after the other is in trouble; then everything is examined."""
    rng, seen, over = random.Random(seed), Seen(), asyncio.Event()
    keys = {name: await asyncio.to_thread(stack.new_key, name) for name in OWNERS}
    owners = [
        Owner(stack.url, name, keys[name], seen, places=PLACES, seed=seed + at)
        for at, name in enumerate(OWNERS)
    ]
    users = [asyncio.ensure_future(one) for owner in owners for one in _users(owner, over, seed)]
    try:
        await asyncio.sleep(calm)
        for trouble in troubles(rng):
            seen.label = trouble.name
            mend = await asyncio.to_thread(trouble.begin, stack, rng)
            await asyncio.sleep(trouble.seconds)
            await asyncio.to_thread(mend)
            await asyncio.sleep(calm)
            seen.label = "calm"
            await asyncio.sleep(calm)
        over.set()
        await asyncio.gather(*users)
        seen.label = "at the end"
        await asyncio.to_thread(stack.cluster.wait)
        for owner in owners:
            await _examined(owner, seen)
    finally:
        over.set()
        await asyncio.gather(*users, return_exceptions=True)
        for owner in owners:
            await owner.close()
    await _healthy(stack, seen)
    return seen


def _users(owner: Owner, over: asyncio.Event, seed: int) -> Iterator[asyncio.Future[None]]:
    places = [*owner.places.values()]
    # The first two places belong to both writers: they race.
    shared = places[:2]
    for at, own in enumerate((places[2:5], places[5:])):
        rng = random.Random(seed * 31 + at)
        yield asyncio.ensure_future(_going_on(over, rng, _writing(owner, shared + own, rng)))
    for at in range(2):
        rng = random.Random(seed * 37 + at)
        yield asyncio.ensure_future(_going_on(over, rng, owner.look))
    yield asyncio.ensure_future(_going_on(over, random.Random(seed), owner.follow))


def _writing(owner: Owner, places: list[Place], rng: random.Random) -> Callable[[], object]:
    return lambda: owner.write(rng.choice(places))


async def _going_on(over: asyncio.Event, rng: random.Random, act: Callable[[], object]) -> None:
    while not over.is_set():
        with suppress(Refused):
            await act()  # type: ignore[misc]  # a coroutine of any kind
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), rng.uniform(0.05, 0.5))


async def _examined(owner: Owner, seen: Seen) -> None:
    """The queue drains, and all that was acknowledged is there, whole."""
    deadline = time.monotonic() + _DRAINED
    while owner.jobs:
        with suppress(Refused):
            await owner.follow()
        if time.monotonic() > deadline:
            seen.fault(f"{len(owner.jobs)} jobs are not done after {_DRAINED:.0f} s")
            break
        await asyncio.sleep(0.2)
    for place in owner.places.values():
        since = now()
        try:
            document = await owner.find(place)
            if document:
                await owner.read_whole(place)
            elif NONE not in place.allowed(since):
                seen.fault(f"{place.name} is lost: one of {place.allowed(since)} should be there")
        except Refused:
            seen.fault(f"{place.name} cannot be examined: {[*seen.refusals][-1]}")


async def _healthy(stack: Stack, seen: Seen) -> None:
    """What nobody sees any more is cleared away every half minute; what a node that slept wrote when
    it woke, a minute after it was purged.
    """
    deadline = time.monotonic() + _CLEARED
    while True:
        found = await asyncio.to_thread(stack.doctor)
        if found["status"] == 0:
            return
        if time.monotonic() > deadline:
            seen.fault(f"doctor: {found}")
            return
        await asyncio.sleep(2)


def table(seen: Seen) -> str:
    rows = [
        f"{'':<26}{'good':>7}{'degr.':>7}{'refused':>9}{'broken':>8}{'gone':>6}{'slowest s':>11}"
    ]
    labels = ["calm", *(one.name for one in TROUBLES)]
    for label in labels:
        for kinds, title in ((QUERIES, label), (("send", "delete", "job"), "   writing")):
            sums = [
                sum(seen.counts[label, kind, outcome] for kind in kinds)
                for outcome in ("good", "degraded", "refused", "broken", "gone")
            ]
            slow = f"{seen.slowest.get(label, 0):>11.2f}" if kinds is QUERIES else ""
            cells = "".join(f"{n:>{w}}" for n, w in zip(sums, (7, 7, 9, 8, 6), strict=True))
            rows.append(f"{title:<26}{cells}{slow}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        stack(Path(folder), settings=SETTINGS) as whole,
    ):
        troubles = for_a_while(options.minutes * 60)
        seen = asyncio.run(chaos(whole, troubles, seed=options.seed))
        for (label, what), count in seen.refusals.most_common(20):
            print(f"{count:>6}  [{label}] {what}")
        if seen.wrong:
            print(whole.logs())
    print(table(seen))
    for what in seen.wrong:
        print(f"WRONG {what}")
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
