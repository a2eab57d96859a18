"""Calls that are tried again, and lists that may not last for ever."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic
from typing import TypeVar

from unchunk.adapters.sources.bounds import Bounds
from unchunk.errors import ProviderUnavailableError

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 20.0
# A server that asks for a longer wait is not tried again, as OpenAI's clients do it.
_LONGEST_ASKED = 120.0


async def tried(
    attempt: Callable[[float], Awaitable[T]],
    seconds: float,
    where: str,
    attempts: int | None = None,
) -> T:
    """Return what `attempt` gives, tried again while its provider is unavailable.

    It is told how many seconds are left. All attempts together have `seconds`; with `attempts`,
    each of so many has them. Of several errors the last is raised that was not cut short by that.
    """
    end = inf if attempts else monotonic() + seconds
    failures, told = 0, None
    while True:
        left = seconds if attempts else max(0.001, end - monotonic())
        try:
            async with asyncio.timeout(left):
                return await attempt(left)
        except TimeoutError:
            error = ProviderUnavailableError(f"{where} did not answer within {left:.3g} s")
        except ProviderUnavailableError as raised:
            error = raised
        failures += 1
        if told is None or monotonic() < end:
            told = error
        wait = wait_after(failures, error.retry_after)
        if attempts:
            is_last = failures >= attempts or (error.retry_after or 0) > _LONGEST_ASKED
        else:
            is_last = monotonic() + wait >= end
        if is_last:
            spent = "tried once" if failures == 1 else f"tried {failures} times"
            spent += "" if attempts else f", for at most {seconds:.3g} s"
            raise ProviderUnavailableError(f"{told}; {spent}", told.retry_after) from None
        await asyncio.sleep(wait)


class Watch:
    """How long one list or one file may take, from now on, however short its single calls are."""

    def __init__(self, bounds: Bounds, what: str) -> None:
        self._longest, self._what = bounds.longest, what
        self._end = monotonic() + self._longest

    def check(self) -> None:
        if monotonic() > self._end:
            raise ProviderUnavailableError(
                f"{self._what} takes longer than {self._longest:,.3g} s, and is left: more patience"
                " gives it more"
            )


def wait_after(failures: int, asked: float | None) -> float:
    """Seconds to wait after so many failures: at random up to a doubling bound, or as asked.

    Who asks for less than that gets more.
    """
    bound = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 10))
    own = random.uniform(bound / 2, bound)  # noqa: S311 -- spreads load, protects nothing
    return own if asked is None else max(asked, own)
