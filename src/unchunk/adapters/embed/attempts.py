"""When to try again, and how long to wait before. Does no I/O."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """`timeout` is for one attempt, `deadline` for all of them and the waits between, in seconds.

    A provider that asks for more than `longest_wait` is not waited for: the caller is told, and
    may come back then.
    """

    attempts: int = 6
    timeout: float = 60.0
    deadline: float = 180.0
    first_wait: float = 0.5
    longest_wait: float = 30.0

    def wait(self, failures: int, asked: float | None) -> float:
        """How long to wait after so many failures: as asked, or at random up to a doubling bound."""
        if asked is not None:
            return asked
        bound = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return random.uniform(0, bound)  # noqa: S311 -- spreads load, protects nothing
