"""What was worked out a short while ago and is asked for again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TimedCache(Generic[K, V]):
    """Keeps up to `entries` values for `seconds` each; the longest unused go first.

    The key has to hold everything that changes the value: nothing is ever taken back.
    """

    def __init__(
        self, entries: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._entries, self._seconds, self._clock = entries, seconds, clock
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        until, value = kept
        if self._clock() >= until:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._kept[key] = (self._clock() + self._seconds, value)
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)
