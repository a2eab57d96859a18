"""What a question of ours asks of the engine, written down, and asked again without us."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import qdrant_edge as engine

from unchunk.adapters.index.child import Child
from unchunk.adapters.index.wire import Query, unpack_ids


class Calls(NamedTuple):
    """Of one question: each query with how many it wants, and the points that are fetched."""

    searches: list[tuple[Any, int]]
    fetches: list[list[Any]]


@contextmanager
def recording() -> Iterator[Calls]:
    """What goes to the process of the index meanwhile."""
    calls, call = Calls([], []), Child.call

    async def noted(child: Child, name: str, *arguments: Any) -> Any:  # noqa: ANN401
        for one in arguments:
            if isinstance(one, Query):
                calls.searches.append((_nearest(one), one.limit))
            elif name == "fetch":
                calls.fetches.append(list(unpack_ids(one)))
        return await call(child, name, *arguments)

    setattr(Child, "call", noted)  # noqa: B010 -- for this while
    try:
        yield calls
    finally:
        setattr(Child, "call", call)  # noqa: B010
    assert calls.searches, "a question asks the index"


def _nearest(query: Query) -> Any:  # noqa: ANN401
    if query.vector is None:
        return by_terms(query.term_ids, query.weights)
    return by_vector(query.vector)


def by_terms(ids: Any, weights: Any) -> Any:  # noqa: ANN401
    return engine.Query.Nearest(engine.SparseVector(list(ids), list(weights)), using="terms")


def by_vector(vector: Any) -> Any:  # noqa: ANN401
    return engine.Query.Nearest(list(vector), using="dense")
