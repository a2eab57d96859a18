"""Counts what a library asks of its engine, its catalog and its embedder.

Requests to the process of the index are counted where they leave, statements where SQLite runs
them: nothing that goes past a port goes past here.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from sqlite3 import Connection
from typing import Any

import pytest

from unchunk.adapters.catalog.file import File
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.adapters.index.child import Child
from unchunk.ports import Role, Vectors

_READS, _WRITES = ("SELECT", "WITH"), ("INSERT", "UPDATE", "DELETE")


class Counting:
    """What happened since the last `take`."""

    def __init__(self) -> None:
        # Threads come and go: to append is whole or not at all.
        self._seen: list[tuple[str, int]] = []

    def see(self, what: str, number: int = 1) -> None:
        self._seen.append((what, number))

    def take(self) -> dict[str, int]:
        seen, self._seen = self._seen, []
        counts: Counter[str] = Counter()
        for what, number in seen:
            counts[what] += number
        return dict(sorted(counts.items()))


@contextmanager
def counting() -> Iterator[Counting]:
    """For libraries that are opened inside."""
    counts = Counting()
    call, embed, connect = Child.call, HashingEmbedder.embed, File.connect

    async def seen_call(child: Child, method: str, *arguments: Any) -> Any:  # noqa: ANN401
        counts.see(f"engine: {method}")
        if method == "search":
            counts.see("engine: searches", len(arguments))
        if method == "upsert":
            counts.see("engine: points", len(arguments[0].owners))
        return await call(child, method, *arguments)

    async def seen_embed(embedder: HashingEmbedder, texts: Sequence[str], role: Role) -> Vectors:
        counts.see("embedder: calls")
        counts.see("embedder: texts", len(texts))
        return await embed(embedder, texts, role)

    def seen_statement(statement: str) -> None:
        word = statement.split(maxsplit=1)[0].upper()
        if word in _READS:
            counts.see("catalog: reads")
        elif word in _WRITES:
            counts.see("catalog: writes")
        elif word == "BEGIN":
            counts.see("catalog: transactions")

    def connected(file: File) -> Connection:
        connection = connect(file)
        connection.set_trace_callback(seen_statement)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "call", seen_call)
        patch.setattr(HashingEmbedder, "embed", seen_embed)
        patch.setattr(File, "connect", connected)
        yield counts
