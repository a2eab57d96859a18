"""How many results a server returns at once, which it tells only by refusing more."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from unchunk.adapters.sources.asking import NotUnderstoodError
from unchunk.adapters.sources.bounds import TooLongError

T = TypeVar("T")

MOST_RESULTS = 10_000
_STEPS = (MOST_RESULTS, 1_000, 200, 100, 50, 20)
_FEWEST = 5
# How long a refusal counts: the server may be set up differently after that.
_SECONDS = 300.0


class ResultLimit:
    """The most results that one server returns at once, as far as it is known."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._most, self._until = MOST_RESULTS, 0.0

    async def search(self, wanted: int, ask: Callable[[int], Awaitable[T]]) -> tuple[T, int]:
        """Ask for `wanted` results, or for fewer if the server refuses; and for how many.

        A request for a few results shows whether the number is the reason. If that is refused as
        well, the first refusal is raised.
        """
        known = self._most if self._clock() < self._until else MOST_RESULTS
        first = min(wanted, known)
        try:
            return await ask(first), first
        except (NotUnderstoodError, TooLongError) as refusal:
            if first <= _FEWEST:
                raise
            try:
                found, most = await ask(_FEWEST), _FEWEST
            except (NotUnderstoodError, TooLongError):
                raise refusal from None
        for top_k in (step for step in _STEPS if step < first):
            try:
                found, most = await ask(top_k), top_k
            except (NotUnderstoodError, TooLongError):
                continue
            break
        self._most, self._until = most, self._clock() + _SECONDS
        return found, most
