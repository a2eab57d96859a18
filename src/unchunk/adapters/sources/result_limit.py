"""How many results a server returns at once, which it tells only by refusing more."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from unchunk.adapters.sources.asking import NotUnderstoodError
from unchunk.adapters.sources.bounds import TooLongError

T = TypeVar("T")

MOST_RESULTS = 10_000
_STEPS = (MOST_RESULTS, 1_000, 200, 100, 50, 20, 5)


class ResultLimit:
    """The most results that one server returns at once, as far as it is known."""

    def __init__(self) -> None:
        self._most = MOST_RESULTS

    async def search(self, wanted: int, ask: Callable[[int], Awaitable[T]]) -> T:
        """Ask for `wanted` results, and for fewer each time that the server refuses.

        If it refuses however few are asked for, the first refusal is raised.
        """
        first = min(wanted, self._most)
        refusal: Exception | None = None
        for top_k in (first, *(step for step in _STEPS if step < first)):
            try:
                found = await ask(top_k)
            except (NotUnderstoodError, TooLongError) as error:
                refusal = refusal or error
            else:
                if refusal is not None:
                    self._most = top_k
                return found
        assert refusal is not None, "it was asked at least once"
        raise refusal
