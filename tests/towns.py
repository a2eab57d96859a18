"""The end-to-end suite against the whole: `pytest --stack cluster`.

The tests are the same. What they take for one server is then a balancer before two, which share a
library with three workers in PostgreSQL, a Qdrant cluster and a folder of originals. All tests of
a run share these: each has owners of its own. A test that looks inside one process cannot run so;
`cluster/exempt.py` names them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TypeVar

import pytest
from fastapi import FastAPI

import stacks
from adapters.llm.scripted import ScriptedModel
from balancers import balancing
from clusters import Cluster, cluster
from databases import PostgresServer, postgres_running, schema_in, tables_in
from server.scripted import Served
from unchunk.domain import KeyScope
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine, open_keyring

T = TypeVar("T")
Chosen = Mapping[str, str | float]
# What only servers ask about; all else is the library's, which is another one where it differs.
_SERVERS = ("chat", "rag_", "template", "strict", "rewrite", "top_k", "max_context", "system_")
_SERVICES = 3
# What a test gives a server in its process and a command cannot have, or has of its own.
_OWN = ("upload_folder", "require_keys", "version", "embedder", "run_secret")


_CHOSEN: list[str] = []


def turn_on() -> None:
    """For the whole run."""
    _CHOSEN.append("cluster")


def is_on() -> bool:
    return bool(_CHOSEN)


class Outside(Served):
    """A service of several processes, of which nothing but its address is known."""

    def __init__(self, url: str) -> None:
        super().__init__(url, FastAPI())
        del self.app, self.server, self.loop

    def __getattr__(self, name: str) -> NoReturn:
        pytest.fail(f"this test looks inside one process ({name}): name it in cluster/exempt.py")


@dataclass
class Library:
    """One library of a town, its workers, and its keys."""

    stack: stacks.Stack
    keyring: SynchronousEngine
    services: dict[str, list[int]] = field(default_factory=dict)

    def ports(self, settings: Chosen, options: Mapping[str, Any]) -> list[int]:
        """Two servers with these settings and options, which may have been there before."""
        wanted = repr((sorted(settings.items()), sorted(options.items())))
        if wanted not in self.services:
            while len(self.services) >= _SERVICES:
                self._close(next(iter(self.services)))
            begun = [self.stack.add_server(dict(settings), options) for _ in range(2)]
            for one in begun:
                one.wait()
            self.services[wanted] = self.stack.ports[-2:]
        self.services[wanted] = self.services.pop(wanted)
        return self.services[wanted]

    def _close(self, service: str) -> None:
        for port in self.services.pop(service):
            self.stack.servers[self.stack.ports.index(port)].end()


class Town:
    """What the tests of one run share."""

    def __init__(self, folder: Path, database: PostgresServer, nodes: Cluster) -> None:
        self._folder, self._database, self._nodes = folder, database, nodes
        self._tables = tables_in(database.url)
        self._libraries: dict[str, Library] = {}
        self._numbers = count()
        self._suffixes: dict[Path, str] = {}
        self._models: list[ScriptedModel] = []
        self.ends = ExitStack()

    def suffix(self, folder: Path) -> str:
        """What tells the owners of this folder from all others."""
        return self._suffixes.setdefault(folder, f".{len(self._suffixes)}")

    def place(self, shards: int = 0) -> dict[str, str | float]:
        """The settings of a new library."""
        originals = self._folder / f"originals{next(self._numbers)}"
        originals.mkdir()
        url = self.ends.enter_context(schema_in(self._database.url, self._tables))
        return {
            "catalog": url,
            "index": self._nodes.spec,
            "blobs": f"folder:{originals}",
            "qdrant_shards": shards,
        }

    def model(self) -> ScriptedModel:
        if not self._models:
            self._models.append(self.ends.enter_context(ScriptedModel()))
        return self._models[0]

    def library(self, settings: Chosen) -> Library:
        """One with these settings, which may have been there before."""
        wanted = repr(sorted(settings.items()))
        if wanted not in self._libraries:
            place = self.place(3)
            folder = self._folder / f"stack{len(self._libraries)}"
            whole = self.ends.enter_context(
                stacks.over(folder, self._database, self._nodes, {**place, **settings}, servers=0)
            )
            opening = partial(open_keyring, load(folder / "keys", {}, **whole.settings))
            keyring = self.ends.enter_context(SynchronousEngine(opening))
            self._libraries[wanted] = Library(whole, keyring)
        return self._libraries[wanted]


@cache
def town() -> Town:
    """Made when it is first asked for, gone with `leave`."""
    parts = ExitStack()
    folder = Path(parts.enter_context(TemporaryDirectory(prefix="unchunk-town-")))
    database = parts.enter_context(postgres_running(*stacks.DURABLE))
    nodes = parts.enter_context(cluster(folder / "qdrant"))
    made = Town(folder, database, nodes)
    # Libraries go before what they are made of.
    parts.push(made.ends)
    _PARTS.append(parts)
    return made


_PARTS: list[ExitStack] = []


def leave() -> None:
    while _PARTS:
        _PARTS.pop().close()
    town.cache_clear()


@contextmanager
def model() -> Iterator[ScriptedModel]:
    """A model that says what a test wants. In a town there is one for all, so that they can have
    the same servers, and it has forgotten what it said before.
    """
    if not is_on():
        with ScriptedModel() as alone:
            yield alone
        return
    shared = town().model()
    shared.script.clear()
    shared.requests.clear()
    shared.started = shared.finished = shared.aborted = 0
    yield shared


@contextmanager
def housed(
    folder: Path, owners: Sequence[str], options: Options | None, settings: Chosen
) -> Iterator[tuple[Served, dict[str, str]]]:
    """A service of the town as tests know it, and the key of each owner."""
    ours = _shared(settings)
    library = town().library(ours)
    theirs = {key: it for key, it in settings.items() if key not in ours}
    ports = library.ports(theirs, told(options))
    keys = {owner: key_of(folder, owner, settings) for owner in owners or ["local"]}
    lent = "" if owners else keys["local"]
    with balancing(ports, lent) as balancer:
        yield Outside(balancer.url), {} if lent else keys


def key_of(folder: Path, owner: str, settings: Chosen, scope: KeyScope = "all") -> str:
    keyring = town().library(_shared(settings)).keyring
    return str(keyring.new("a key", owner + town().suffix(folder), scope)[1])


def _shared(settings: Chosen) -> dict[str, str | float]:
    """Those that are the library's."""
    return {key: it for key, it in settings.items() if not key.startswith(_SERVERS)}


def told(options: Options | None) -> dict[str, Any]:
    """What a test wants otherwise than it is."""
    if options is None:
        return {}
    usual = asdict(Options())
    chosen = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: it for name, it in chosen.items() if it != usual[name] and name not in _OWN}


def done(folder: Path, settings: Chosen, work: Callable[[Engine], Awaitable[T]]) -> T:
    """What an engine in this process does to the library of `housed`, as its owner."""
    whole = town().library(_shared(settings)).stack
    owner = f"local{town().suffix(folder)}"
    chosen = load(folder / "home", {}, **{**settings, **whole.settings, "owner": owner})

    async def working() -> T:
        engine = await open_engine(chosen)
        try:
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(working())


def settle(home: Path, shards: int = 1) -> Path:
    """A home whose library is a new one of the town, for commands."""
    if is_on():
        home.mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {it!r}" for name, it in town().place(shards).items()]
        (home / "unchunk.toml").write_text("\n".join(lines).replace("'", '"') + "\n")
    return home


def logs() -> str:
    """The last of what the services said that run."""
    if not _PARTS:
        return ""
    stacks_ = [one.stack for one in town()._libraries.values()]
    return "\n".join(
        f"--- {one.log.parent}\n{one.said[-1200:]}"
        for whole in stacks_
        for one in (*whole.servers[-4:], *whole.workers)
        if one.is_running
    )
