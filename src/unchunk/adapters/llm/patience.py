"""How long to wait for an answer, and when to try again. Does no I/O."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """`begin` is for one attempt to begin an answer, `idle` for the silence between two pieces.

    `deadline` is for all attempts and the waits between them, until an answer begins. A provider
    that asks for more than `longest_wait` is not waited for: the caller is told, and may come
    back then. All in seconds.
    """

    begin: float = 60.0
    idle: float = 60.0
    retries: int = 2
    deadline: float = 120.0
    first_wait: float = 0.5
    longest_wait: float = 20.0

    def wait(self, failures: int, asked: float | None) -> float:
        """How long to wait after so many failures: as asked, or at random up to a doubling bound."""
        if asked is not None:
            return asked
        bound = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return random.uniform(bound / 2, bound)  # noqa: S311 -- spreads load, protects nothing
